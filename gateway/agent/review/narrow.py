"""What a review may do: write notes and skills. It is offered what its conversation was: the endpoint's cache holds.

In: the conversation's tools and the review's own. Out: tools of which all but its own refuse.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from gateway.agent.review.outcome import said
from gateway.agent.threats import scan
from gateway.agent.tools.skills import MANAGE
from gateway.contracts.tool import Tools, ToolSpec
from gateway.errors import ToolError
from gateway.messages import Message, ToolCall
from gateway.toolkit.function import Tool
from gateway.types import Turn

ONLY = "Only {tools} can be used in this review. If there is nothing to keep, answer: Nothing to save."
GONE = "This conversation was erased, and nothing of it may be kept. Answer: Nothing to save."
FLAGGED = (
    "The scan finds in this text what tries to command a model: {found}. Nobody looks at what a review writes, so it is"
    " not kept: write what describes the task, without that, or nothing."
)
WRITTEN = ("name", "category", "content", "file_content", "new_string")
"""What of a call of skill_manage comes to stand in a skill."""


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
        if call.name == MANAGE and (found := await asyncio.to_thread(_flagged, call)):
            raise ToolError(FLAGGED.format(found=", ".join(found)))
        return await tool.run(call, turn)


def _flagged(call: ToolCall) -> Sequence[str]:
    """Return what the scan finds in what a call would write."""
    wanted = said(call.arguments)
    return scan("\n".join(str(wanted.get(key) or "") for key in WRITTEN), "strict")


class Nowhere:
    """The journal of a review: nothing of it belongs to the conversation, and a crash ends it."""

    async def write(self, said: Sequence[Message], *, starting: Sequence[str] = ()) -> None:
        return
