"""What a review may do: write notes. It is offered what its conversation was, so that the endpoint's cache holds.

In: the conversation's tools and the review's own memory tool. Out: tools of which all but that one refuse.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from gateway.agent.tools.notes import NAME
from gateway.contracts.tool import Tools, ToolSpec
from gateway.errors import ToolError
from gateway.messages import Message, ToolCall
from gateway.toolkit.function import Tool
from gateway.types import Turn

ONLY = "Only memory can be used in this review. If there is nothing to keep, answer: Nothing to save."
GONE = "This conversation was erased, and nothing of it may be kept. Answer: Nothing to save."


class OnlyMemory(Tools):
    """`there` says, before each call, whether the conversation still exists: nobody is remembered who was erased."""

    def __init__(self, memory: Tool, offered: Sequence[ToolSpec], there: Callable[[], Awaitable[bool]]) -> None:
        self._memory = memory
        self._specs = offered if memory.spec in offered else (memory.spec,)
        self._there = there

    def specs(self) -> Sequence[ToolSpec]:
        return self._specs

    async def call(self, call: ToolCall, turn: Turn) -> str:
        if call.name != NAME:
            raise ToolError(ONLY)
        if not await self._there():
            raise ToolError(GONE)
        return await self._memory.run(call, turn)


class Nowhere:
    """The journal of a review: nothing of it belongs to the conversation, and a crash ends it."""

    async def write(self, said: Sequence[Message], *, starting: Sequence[str] = ()) -> None:
        return
