"""The scripts that are told apart beyond ASCII, by the upper byte of a UTF-16 unit, and what they weigh in tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


def table(rest: bytes, sorts: Mapping[bytes, Iterable[int]]) -> bytes:
    """Make a table for `bytes.translate`: one letter for each group of bytes, `rest` for all others."""
    made = bytearray(rest * 256)
    for letter, members in sorts.items():
        for member in members:
            made[member] = letter[0]
    return bytes(made)


@dataclass(frozen=True, slots=True)
class Script:
    """Characters of one sort: the tokens each of them adds (`each`), and each unbroken run of them (`run`)."""

    name: str
    sort: bytes
    each: float
    run: float = 0.0
    runs: str = field(init=False)
    """What the runs are called."""
    only: bytes = field(init=False, repr=False)
    """For `bytes.translate`: this sort becomes ``x``, every other ``.``."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "runs", f"{self.name}_runs")
        object.__setattr__(self, "only", table(b".", {b"x": self.sort}))


BLOCKS = table(
    b".",
    {
        b"l": [*range(0x01, 0x03), 0x1E],
        b"x": [0x03, 0x1F],
        b"c": [0x04],
        b"r": range(0x05, 0x09),
        b"i": range(0x09, 0x0E),
        b"t": [0x0E],
        b"o": [
            0x0F,
            *range(0x10, 0x1E),
            *range(0x2C, 0x30),
            *range(0x31, 0x4E),
            *range(0xA0, 0xAC),
            *range(0xE0, 0xFE),
        ],
        b"s": [0x20],
        b"y": [*range(0x21, 0x26), *range(0x28, 0x2C)],
        b"d": [0x26, 0x27],
        b"k": [0x30],
        b"h": range(0x4E, 0xA0),
        b"g": range(0xAC, 0xD8),
        b"e": range(0xD8, 0xDC),
        b"-": range(0xDC, 0xE0),
        b"v": [0xFE],
        b"f": [0xFF],
    },
)
SCRIPTS = (
    Script("latin_more", b"l", 0.45),  # Polish, Turkish, Vietnamese
    Script("greek", b"x", 0.5),
    Script("cyrillic", b"c", 0.204, run=0.71),
    Script("semitic", b"r", 0.42),  # Hebrew, Arabic; also Armenian, Syriac
    Script("indic", b"i", 0.7),
    Script("thai", b"t", 0.45),
    Script("other", b"o", 1.0),
    Script("quotes", b"s", 0.75),  # general punctuation
    Script("symbols", b"y", 0.8),  # arrows, mathematics, boxes
    Script("dingbats", b"d", 0.73),
    Script("kana", b"k", 0.46),  # with the punctuation of Chinese and Japanese
    Script("han", b"h", 0.545, run=1.16),
    Script("hangul", b"g", 0.5, run=0.83),
    Script("emoji", b"e", 1.97),  # everything beyond U+FFFF
    Script("selectors", b"v", 1.0),
    Script("fullwidth", b"f", 1.2),
)
