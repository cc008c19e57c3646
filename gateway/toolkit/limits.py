"""How much of a tool's answer the model gets to see.

In: text of any length and content. Out: text of at most so many characters and lines that keeps its head and its
tail, with a note where something was left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateway.contracts.tool import Tools, ToolSpec
from gateway.errors import ToolError
from gateway.messages import ToolCall
from gateway.types import Turn

ROOM_FOR_NOTE = 60


def brief(text: str, width: int = 80) -> str:
    """Quote text of unknown origin inside a sentence: on one line, invisible characters escaped."""
    return repr(text if len(text) <= width else text[: width - 1] + "…")


def shorten(text: str, *, chars: int, lines: int) -> str:
    """Return at most `chars` characters in `lines` lines (each at least 100), note included."""
    rows = text.split("\n")
    if len(text) <= chars and len(rows) <= lines:
        return text
    chars, lines = (chars - ROOM_FOR_NOTE) // 2, (lines - 1) // 2
    head, tail = "\n".join(rows[:lines])[:chars], "\n".join(rows[-lines:])[-chars:]
    return f"{head}\n[cut: {len(text) - len(head) - len(tail):,} characters]\n{tail}"


def narrow(text: str, *, width: int) -> str:
    """Cut every line to `width` characters and a note."""
    rows = text.split("\n")
    return "\n".join(
        row if len(row) <= width else f"{row[:width]} [cut: {len(row) - width:,} characters]" for row in rows
    )


def chars_for(window: int) -> int:
    """Say how many characters one answer may have in a model's window of so many tokens: 15 % of it, at 4 a token."""
    return min(100_000, max(8_000, window * 4 * 15 // 100))


class Limited(Tools):
    """Bounds what every tool says, its errors included."""

    def __init__(self, tools: Tools, *, chars: int = 100_000, lines: int = 5_000) -> None:
        self._tools, self._chars, self._lines = tools, chars, lines

    def specs(self) -> Sequence[ToolSpec]:
        return self._tools.specs()

    async def call(self, call: ToolCall, turn: Turn) -> str:
        try:
            return shorten(await self._tools.call(call, turn), chars=self._chars, lines=self._lines)
        except ToolError as error:
            error.args = (shorten(str(error), chars=self._chars, lines=self._lines),)
            raise
