"""What context engines hear of live sessions, and the calls of their tools.

In: turns that begin and end, entries that the cache lets go, calls of tools. Of one engine one thing happens after the
other; only what must come before a turn is waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from functools import partial
from types import TracebackType
from typing import Self
from weakref import WeakValueDictionary

from gateway.contracts.context import ContextEngine
from gateway.contracts.resource import Resource
from gateway.contracts.tool import Tools, ToolSpec
from gateway.errors import ToolError
from gateway.messages import Message, ToolCall
from gateway.supervise import Background
from gateway.toolkit.admitted import admitted
from gateway.toolkit.arguments import parse_arguments
from gateway.toolkit.function import Tool
from gateway.toolkit.toolset import FunctionTools
from gateway.turns.live import Entry
from gateway.types import Turn

LAST_SECONDS = 5.0
"""How long a process that ends waits for what engines still do."""


class Engines(Resource):
    """The engines of the live sessions of a process, as `Guarded` has them: their hooks end and raise nothing."""

    def __init__(self) -> None:
        self._background = Background()
        self._speaking: WeakValueDictionary[str, ContextEngine] = WeakValueDictionary()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._background.settle(LAST_SECONDS)
        await self._background.end(1)

    async def begin(self, entry: Entry, turn: Turn, *, fresh: bool) -> None:
        """Tell an engine before its turn which conversation it is, or that it was read anew; `fresh`: it begins."""
        session, engine = entry.session, entry.engine
        self._speaking[turn.id] = engine
        if entry.told is not None:
            await asyncio.wait({entry.told})
        seen, entry.seen = entry.seen, session.reads
        if not seen:
            await engine.on_session_start(session.id, reason="new" if fresh else "resume")
        elif seen != session.reads:
            await engine.on_session_reset()

    def ended(self, entry: Entry, said: Sequence[Message]) -> None:
        """Tell an engine of what was said in a turn that is stored; nobody waits for it."""
        if _hears(entry.engine, ContextEngine.on_turn_complete):
            self._behind(entry, partial(entry.engine.on_turn_complete, tuple(said)))

    def left(self, entry: Entry) -> None:
        """Tell an engine that its live session is let go; nobody waits for it."""
        if entry.seen and _hears(entry.engine, ContextEngine.on_session_end):
            self._behind(entry, partial(entry.engine.on_session_end, entry.session.id, tuple(entry.session.history)))

    def _behind(self, entry: Entry, hook: Callable[[], Coroutine[object, object, None]]) -> None:
        before = entry.told

        async def work() -> None:
            if before is not None:
                await asyncio.wait({before})
            await hook()

        entry.told = self._background.start(work())

    def tools(self, engine: ContextEngine, taken: Collection[str]) -> Tools:
        """Return the tools that engines like this one offer; a warning names those that cannot be, as in `admitted`."""
        specs = admitted(engine.name, engine.specs(), taken, of="context engine")
        return FunctionTools(Tool(spec, partial(self._answer, spec, engine.name)) for spec in specs)

    async def _answer(self, spec: ToolSpec, owner: str, call: ToolCall, turn: Turn) -> str:
        arguments, engine = parse_arguments(call, spec), self._speaking.get(turn.id)
        if engine is None or engine.name != owner:  # where the plugin failed, the compressor stands in
            raise ToolError(f"{spec.name} cannot be used in this conversation: go on without it")
        return await engine.call(spec.name, arguments)


def _hears(engine: ContextEngine, hook: Callable[..., object]) -> bool:
    """Say whether an engine has a hook of its own: most turns are of one that has none."""
    return getattr(type(engine), hook.__name__) is not hook
