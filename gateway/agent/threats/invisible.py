"""Characters nobody sees, where they have no business."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gateway.agent.threats.scripts import (
    EMOJI,
    HAN,
    INVISIBLE,
    JOINED,
    MONGOLIAN,
    RIGHT_TO_LEFT,
    WITHOUT_SPACES,
)

_FINE = (
    r"\A\ufeff",  # a byte order mark
    rf"(?<=[{EMOJI}\ufe0f])\u200d(?=[{EMOJI}])",  # families, professions
    rf"(?<=[{EMOJI}0-9#*])[\ufe0e\ufe0f]",  # in colour or not; keycaps
    "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,6}\U000e007f",  # the flag of a region
    rf"(?<=[{JOINED}])[\u200c\u200d](?![\u200c\u200d])",  # which form of a letter, at the end of a word too
    rf"(?<=[{WITHOUT_SPACES}])\u200b(?=[{WITHOUT_SPACES}])",
    rf"(?<=[{HAN}])[\ufe00-\ufe02\U000e0100-\U000e01ef]",  # which form of a character
    rf"(?<=[{MONGOLIAN}])[\u180b-\u180f]",
    r"(?<=[^\W\d])\u00ad(?=[^\W\d])",  # where a word may be broken
    rf"(?<=[{RIGHT_TO_LEFT}])[\u200e\u200f\u061c]|[\u200e\u200f\u061c](?=[{RIGHT_TO_LEFT}])",
    rf"(?<=[{RIGHT_TO_LEFT}]\W)[\u200e\u200f\u061c]|[\u200e\u200f\u061c](?=\W[{RIGHT_TO_LEFT}])",
)
_SEEK = re.compile(rf"(?=[{INVISIBLE}\U0001f3f4])(?:{'|'.join(_FINE)}|([{INVISIBLE}]))")


def invisible(text: str) -> tuple[str, ...]:
    """`invisible_unicode_U+XXXX` for each kind that is not fine where it stands, by code point."""
    if text.isascii():
        return ()
    found = {match[1] for match in _SEEK.finditer(text) if match[1]}
    return tuple(map(named, sorted(found)))


def hidden(text: str) -> Iterator[int]:
    """The places of those that `invisible` names."""
    return (match.start() for match in _SEEK.finditer(text) if match[1])


def named(character: str) -> str:
    """The id of a character that is not fine."""
    return f"invisible_unicode_U+{ord(character):04X}"
