"""How much of the context files the prompt has room for. Pure. The shares of head and tail are the reference's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LEAST, MOST = 20_000, 500_000
"""Characters of all files together, whatever the window is."""
WINDOW_PERCENT, TOKEN = 6, 4
HEAD, TAIL = 70, 20
"""Percent of the room; the rest is for the words between them."""
LEAST_SHARE = 1_000
"""Characters: less of a file says nothing, and has no room for what must be said of it."""


def limit_for(window: int, chosen: int | None = None) -> int:
    """Return how many characters all context files may have together: as chosen, or by the window in tokens."""
    return chosen or min(MOST, max(LEAST, window * TOKEN * WINDOW_PERCENT // 100))


def shares(sizes: Sequence[int], limit: int) -> list[int]:
    """Return the room of each file: small ones have what they need, the others as much as each other."""
    rooms, left = [0] * len(sizes), limit
    for waiting, index in zip(range(len(sizes), 0, -1), sorted(range(len(sizes)), key=sizes.__getitem__), strict=True):
        rooms[index] = min(sizes[index], left // waiting)
        left -= rooms[index]
    return rooms


@dataclass(frozen=True, slots=True)
class Cut:
    """
    A text that fits, and how many characters were left out of it.

    The lines after line `at` of it are `gap` lines further down in the whole text.
    """

    text: str
    left_out: int = 0
    at: int = 0
    gap: int = 0

    def line(self, number: int) -> int:
        """Return which line of the whole text a line of this one is; both count from 1."""
        return number + self.gap if self.at and number > self.at else number


def cut(text: str, room: int, *, name: str, first: int, path: str = "", more: bool = False) -> Cut:
    """
    Leave out the middle of a text that has more characters than there is room.

    `first` is the number of its first line in the file `name`; `path` is what read_file takes, "" where it does not
    reach the file. Of a file that goes on after the text (`more`) the end is left out.
    """
    if len(text) <= room and not more:
        return Cut(text)
    longest = _note(name, len(text), first + text.count("\n"), path, more=more)
    usable = max(0, room - len(longest))
    head = _head(text, min(room * HEAD // 100, usable * HEAD // (HEAD + TAIL)))
    tail = "" if more else _tail(text, min(room * TAIL // 100, usable * TAIL // (HEAD + TAIL)))
    before = head.count("\n")
    onward = first + before + text.startswith("\n", len(head))
    left_out = len(text) - len(head) - len(tail)
    note = _note(name, left_out, onward, path, more=more)
    last = before + note.count("\n")
    return Cut(f"{head}{note}{tail}", left_out, last, text.count("\n") - tail.count("\n") - last)


def _note(name: str, left_out: int, line: int, path: str, *, more: bool) -> str:
    count = f"{'more than ' if more else ''}{left_out:,} characters"
    how = f'; read_file with path="{path}" and offset={line} reads on' if path else ""
    return f"\n[{count} of {name} are left out here, from line {line} on{how}]\n"


def _head(text: str, room: int) -> str:
    """Return the beginning, to the end of a line where one ends in its second half."""
    end = text.rfind("\n", room // 2, room)
    return text[: room if end < 0 else end]


def _tail(text: str, room: int) -> str:
    start = text.find("\n", len(text) - room, len(text) - room // 2)
    return text[len(text) - room if start < 0 else start + 1 :]
