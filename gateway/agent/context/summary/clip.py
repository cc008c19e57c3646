"""Cutting texts to a length, in characters or in tokens, with both ends kept. Pure."""

from __future__ import annotations

from collections.abc import Callable

Count = Callable[[str], int]
"""Counts the tokens of a text."""

CUT = "\n...[truncated]...\n"
"""Stands where something was cut out; the reference's, to the letter."""
HEAD = 0.45
"""The share of what is kept that comes from the beginning; the rest comes from the end, where the newest is."""


def clip(text: str, most: int, head: int | None = None) -> str:
    """Return at most `most` characters: `head` of the beginning (two thirds if not given), and of the end the rest."""
    if len(text) <= most:
        return text
    room = max(0, most - len(CUT))
    first = min(room, room * 2 // 3 if head is None else head)
    return f"{text[:first]}{CUT}{text[len(text) - (room - first) :]}"[:most]


def line(text: str, most: int) -> str:
    """Return a text on one line of at most `most` characters."""
    flat = " ".join(text[: most * 4].split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"


def fit(text: str, budget: int, count: Count) -> str:
    """Return a text of at most `budget` tokens: what is too long loses its middle; "" where not even the mark fits."""
    total = count(text)
    keep = len(text)
    shown = text
    while total > budget:
        keep = min(int(keep * budget / total * 0.97), keep - 1)
        if keep < 1:
            return ""
        head = int(keep * HEAD)
        shown = f"{text[:head]}{CUT}{text[len(text) - (keep - head) :]}"
        total = count(shown)
    return shown


def spread(lengths: list[int], most: int) -> int:
    """Return the length that each may have at most, so that all together, those that are shorter whole, have `most`."""
    left = max(0, most)
    for place, length in enumerate(ordered := sorted(lengths)):
        share = left // (len(ordered) - place)
        if length > share:
            return share
        left -= length
    return max(lengths, default=0)
