"""Strangers' text made fit for one line of ours. Pure."""

from __future__ import annotations

import re

from gateway.types import clean

_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_UNSEEN = re.compile(
    "[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Characters nobody sees, those that turn the direction of a line among them; the joiners of some scripts stay."""


def is_one_line(text: str) -> bool:
    """Say whether a text ends no line and holds nothing that nobody sees."""
    return (text.isascii() and text.isprintable()) or not (_BREAKS.search(text) or _UNSEEN.search(text))


def unbroken(text: str) -> str:
    """Return a text on one line, without what nobody sees; its spaces stay."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSEEN.sub("", _BREAKS.sub(" ", clean(text)))


def one_line(text: str, most: int) -> str:
    """Return at most so many characters on one line, of which all can be seen; the last is … where some are missing."""
    text = " ".join(unbroken(text).split())
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def as_name(text: str, most: int) -> str:
    """Return what can stand for a name in paths of skills and before a colon."""
    return one_line(text, most).replace(": ", "-").translate(_NO_NAME).strip(":- ")


_NO_NAME = str.maketrans({"/": "-", "\\": "-", "<": "", ">": "", '"': "'", "`": "'"})
