"""The memory provider as the agent uses it: every hook of the contract, and whatever fails in one stays here.

In: what happens in turns, each with the `Scope` it is about. Out: what is recalled, tools, and what a compression must
keep. Without a provider every method does nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Self

from gateway.agent.memory.backlog import SIZE, Backlog, Drained, Kind
from gateway.agent.memory.breaker import Breaker
from gateway.agent.memory.calls import Call, Calls, name_of, said
from gateway.agent.memory.fence import sanitize
from gateway.agent.memory.trivial import is_trivial
from gateway.contracts.memory import MemoryProvider, Scope
from gateway.contracts.resource import Resource
from gateway.contracts.tool import Tools, ToolSpec
from gateway.errors import GatewayError, ToolError
from gateway.messages import Message, ToolCall
from gateway.supervise import Background
from gateway.toolkit.admitted import admitted
from gateway.toolkit.arguments import parse_arguments
from gateway.toolkit.function import Tool
from gateway.toolkit.toolset import FunctionTools
from gateway.types import Turn, clean

log = logging.getLogger(__name__)

LONGEST = 20_000
"""Characters of recalled text that a turn takes."""

ScopeOf = Callable[[Turn], Scope | None]


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds that are waited for a provider, and how many jobs may wait for it behind the turns."""

    recall: float = 8
    compress: float = 8
    tool: float = 60
    job: float = 120
    forget: float = 60
    open: float = 30
    drain: float = 5
    waiting: int = SIZE


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How many things were erased, and why not all of them, in a sentence."""

    count: int = 0
    problem: str = ""


class MemoryManager(Resource):
    """Enters and leaves its provider; one that cannot be entered is done without."""

    def __init__(
        self, provider: MemoryProvider | None, *, limits: Limits | None = None, breaker: Breaker | None = None
    ) -> None:
        self._limits = limits or Limits()
        self._background = Background()
        self._backlog = Backlog(self._background, self._limits.waiting)
        self._calls = Calls(provider, self._background, breaker or Breaker())

    @classmethod
    def of(cls, providers: Sequence[MemoryProvider]) -> Self:
        """Use the first provider; there is room for one."""
        for other in providers[1:]:
            kept, refused = name_of(providers[0]), name_of(other)
            log.warning("memory: only one provider is used: %s stays, %s is left out", kept, refused)
        return cls(providers[0] if providers else None)

    @property
    def name(self) -> str:
        """The provider's name, "" for none."""
        return self._calls.name

    async def __aenter__(self) -> Self:
        await self._calls.open(self._limits.open)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.drain()
        await self._calls.close(self._limits.drain)

    async def drain(self) -> Drained:
        """Finish what was to be written, or give it up after a while; return and log what was not done."""
        drained = await self._backlog.drain(self._limits.drain)
        await self._background.end(1)
        if not drained.complete:
            log.warning(
                "memory: %s was not told everything: writes abandoned: %d, prefetches: %d, broken off: %d",
                self.name,
                drained.abandoned_writes,
                drained.abandoned_prefetches,
                drained.active,
            )
        return drained

    # --- what the model is told

    def system_prompt_block(self) -> str:
        return self._calls.told("system_prompt_block", lambda provider: provider.system_prompt_block(), "")

    def tools(self, taken: Collection[str], scope_of: ScopeOf) -> Tools:
        """
        Return the provider's tools, to be asked for once it is entered.

        `taken` are the names of the gateway's own tools. `scope_of` says whom a turn is about, None where it is nobody.
        """
        nothing: list[ToolSpec] = []
        specs = self._calls.told("specs", lambda it: admitted(self.name, it.specs(), taken), nothing)
        return FunctionTools(Tool(spec, partial(self._answer, spec, scope_of)) for spec in specs)

    async def _answer(self, spec: ToolSpec, scope_of: ScopeOf, call: ToolCall, turn: Turn) -> str:
        arguments = parse_arguments(call, spec)
        if (scope := scope_of(turn)) is None:
            raise ToolError("memory is off in this conversation: go on without it")
        told = await self._calls.ask(
            spec.name, lambda provider: provider.call(spec.name, arguments, scope), self._limits.tool
        )
        if told is None:
            raise ToolError(f"{spec.name} cannot be used at the moment: go on without it, and say so if it matters")
        return clean(str(told))

    # --- around a turn

    async def start_turn(self, number: int, message: str, scope: Scope) -> str:
        """Tell that a turn begins; return what is remembered that bears on it, fit for the fence. Once per turn."""
        if self._calls.is_stuck(scope.owner):
            return ""
        clock = asyncio.get_running_loop().time
        until = clock() + self._limits.recall
        await self._calls.ask(
            "on_turn_start",
            lambda provider: provider.on_turn_start(number, message, scope),
            self._limits.recall,
            owner=scope.owner,
        )
        if is_trivial(message) or self._calls.is_stuck(scope.owner):
            return ""
        recalled = await self._calls.ask(
            "prefetch", lambda provider: provider.prefetch(message, scope), max(0, until - clock()), owner=scope.owner
        )
        return _safe(recalled)

    def after_turn(self, user: str, assistant: str, scope: Scope) -> None:
        """Tell of a completed turn, and have the next one prepared; never of one that was stopped."""
        self._queue(scope, ("sync_turn", lambda provider: provider.sync_turn(user, assistant, scope)))
        if not is_trivial(user):
            self._queue(
                scope, ("queue_prefetch", lambda provider: provider.queue_prefetch(user, scope)), kind="prefetch"
            )

    async def pre_compress(self, messages: Sequence[Message], scope: Scope) -> str:
        """Return what the summary of these messages must keep."""
        kept = await self._calls.ask(
            "on_pre_compress", lambda provider: provider.on_pre_compress(messages, scope), self._limits.compress
        )
        return _safe(kept)

    # --- what else happens

    def memory_write(
        self, action: str, target: str, content: str, scope: Scope, metadata: Mapping[str, str] | None = None
    ) -> None:
        """Tell of a write of the notes that took effect, neither refused nor waiting for approval."""
        about = dict(metadata or {})
        self._queue(
            scope,
            ("on_memory_write", lambda provider: provider.on_memory_write(action, target, content, scope, about)),
        )

    def session_ended(
        self, messages: Sequence[Message], scope: Scope, *, reason: str, new_session_id: str = ""
    ) -> None:
        """Tell that a conversation is over, and under which id it goes on; `reason` as in `on_session_switch`."""

        steps: list[tuple[str, Call[None]]] = [
            ("on_session_end", lambda provider: provider.on_session_end(messages, scope))
        ]
        if new_session_id:
            steps.append(_switch(new_session_id, scope, reason))
        if reason == "reset":
            steps.append(("on_session_reset", lambda provider: provider.on_session_reset(scope)))
        self._queue(scope, *steps)

    def session_switched(self, new_session_id: str, scope: Scope, *, reason: str) -> None:
        """Tell that a conversation goes on under another id, without having ended."""
        self._queue(scope, _switch(new_session_id, scope, reason))

    def delegated(self, task: str, result: str, scope: Scope, *, child_session_id: str) -> None:
        """Tell what a sub-agent was asked and what it brought."""
        self._queue(
            scope,
            (
                "on_delegation",
                lambda provider: provider.on_delegation(task, result, scope, child_session_id=child_session_id),
            ),
        )

    def _queue(self, scope: Scope, *steps: tuple[str, Call[None]], kind: Kind = "write") -> None:
        """Have hooks called behind the turns, as one job in the owner's order; only people's own turns leave traces."""
        if self._calls.provider is None or scope.context != "primary":
            return

        async def job() -> None:
            for hook, call in steps:
                await self._calls.ask(hook, call, self._limits.job)

        self._backlog.put(scope.owner, kind, steps[0][0], job)

    async def forget(self, scope: Scope) -> Forgotten:
        """Erase all that is remembered of the owner, and what was about to be."""
        if self._calls.provider is None:
            return Forgotten()
        self._backlog.discard(scope.owner)
        done: asyncio.Future[Forgotten] = asyncio.get_running_loop().create_future()

        async def erase() -> None:
            erased = await self._erase(scope)
            if not done.done():
                done.set_result(erased)

        # Behind what is being written of the owner at this moment, which would be remembered after all.
        if not self._backlog.put(scope.owner, "erase", "forget", erase):
            return Forgotten(problem=f"{self.name} takes nothing more at the moment: try again later")
        try:
            async with asyncio.timeout(self._limits.forget):
                return await done
        except TimeoutError:
            return Forgotten(problem=f"{self.name} is not done with it yet: look again later")

    async def _erase(self, scope: Scope) -> Forgotten:
        try:
            return Forgotten(await self._calls.within(lambda provider: provider.forget(scope), self._limits.forget))
        except NotImplementedError:
            return Forgotten(problem=f"{self.name} cannot erase what it remembers of one owner: erase it there")
        except Exception as error:
            log.warning("memory: forget of %s failed", self.name, exc_info=not isinstance(error, GatewayError))
            return Forgotten(problem=f"{self.name} did not erase it: {said(error)}")


def _switch(new_session_id: str, scope: Scope, reason: str) -> tuple[str, Call[None]]:
    return "on_session_switch", lambda provider: provider.on_session_switch(new_session_id, scope, reason=reason)


def _safe(recalled: object) -> str:
    return sanitize(clean(recalled[:LONGEST])) if isinstance(recalled, str) else ""
