"""What a review may do: write notes and skills. It is offered what its conversation was: the endpoint's cache holds.

In: the conversation's tools and the review's own. Out: tools of which all but its own refuse.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from gateway.contracts.tool import Tools, ToolSpec
from gateway.errors import ToolError
from gateway.messages import Message, ToolCall
from gateway.toolkit.function import Tool
from gateway.types import Turn

ONLY = "Only {tools} can be used in this review. If there is nothing to keep, answer: Nothing to save."
GONE = "This conversation was erased, and nothing of it may be kept. Answer: Nothing to save."


class Only(Tools):
    """`there` says, before each call, whether the conversation still exists: nobody is remembered who was erased."""

    def __init__(
        self, tools: Sequence[Tool], offered: Sequence[ToolSpec], there: Callable[[], Awaitable[bool]]
    ) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        own = [tool.spec for tool in tools]
        self._specs = offered if all(spec in offered for spec in own) else own
        self._there = there

    def specs(self) -> Sequence[ToolSpec]:
        return self._specs

    async def call(self, call: ToolCall, turn: Turn) -> str:
        tool = self._tools.get(call.name)
        if tool is None:
            raise ToolError(ONLY.format(tools=", ".join(self._tools)))
        if not await self._there():
            raise ToolError(GONE)
        return await tool.run(call, turn)


class Nowhere:
    """The journal of a review: nothing of it belongs to the conversation, and a crash ends it."""

    async def write(self, said: Sequence[Message], *, starting: Sequence[str] = ()) -> None:
        return
