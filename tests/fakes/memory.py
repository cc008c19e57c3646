"""A memory provider that remembers in this process, and fails or takes its time where a test says so."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from gateway.contracts.memory import MemoryProvider, Scope
from gateway.contracts.tool import ToolSpec
from gateway.errors import ToolError
from gateway.messages import Message

LOOK_UP = ToolSpec("look_up", "Look something up.", {"type": "object", "properties": {"word": {"type": "string"}}})


class FakeMemory(MemoryProvider):
    """
    Recalls every turn of an owner that shares a word with the message.

    `heard` holds the hooks in the order of their calls, each with what it was about. `fails` names hooks and what they
    raise, `waits` hooks and what they wait for before they end.
    """

    def __init__(self, name: str = "fake", specs: Sequence[Any] = (LOOK_UP,)) -> None:
        self.name = name
        self.heard: list[tuple[str, ...]] = []
        self.fails: dict[str, Exception] = {}
        self.waits: dict[str, asyncio.Event] = {}
        self.stubborn = False
        self.remembered: dict[str, list[str]] = defaultdict(list)
        self.scopes: list[Scope] = []
        self._specs = specs

    def hooks(self) -> list[str]:
        return [hook for hook, *_ in self.heard]

    async def _hear(self, hook: str, scope: Scope | None, *about: str) -> None:
        self.heard.append((hook, *about))
        if scope:
            self.scopes.append(scope)
        if hook in self.waits:
            await self._wait(self.waits[hook])
        if hook in self.fails:
            raise self.fails[hook]

    async def _wait(self, event: asyncio.Event) -> None:
        while not event.is_set():
            try:
                await event.wait()
            except asyncio.CancelledError:
                if not self.stubborn:
                    raise

    async def __aenter__(self) -> Self:
        await self._hear("open", None)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._hear("close", None)

    def specs(self) -> Sequence[ToolSpec]:
        if "specs" in self.fails:
            raise self.fails["specs"]
        return self._specs

    async def call(self, name: str, arguments: Mapping[str, Any], scope: Scope) -> str:
        await self._hear("call", scope, name)
        if not arguments:
            raise ToolError("name a word")
        return await self.prefetch(str(arguments["word"]), scope)

    def system_prompt_block(self) -> str:
        if "system_prompt_block" in self.fails:
            raise self.fails["system_prompt_block"]
        return "I remember."

    async def on_turn_start(self, number: int, message: str, scope: Scope) -> None:
        await self._hear("on_turn_start", scope, str(number), message)

    async def prefetch(self, query: str, scope: Scope) -> str:
        await self._hear("prefetch", scope, query)
        words = set(query.split())
        return "\n".join(text for text in self.remembered[scope.owner] if words & set(text.split()))

    async def queue_prefetch(self, query: str, scope: Scope) -> None:
        await self._hear("queue_prefetch", scope, query)

    async def sync_turn(self, user: str, assistant: str, scope: Scope) -> None:
        await self._hear("sync_turn", scope, user)
        self.remembered[scope.owner].append(user)

    async def on_pre_compress(self, messages: Sequence[Message], scope: Scope) -> str:
        await self._hear("on_pre_compress", scope)
        return "\n".join(message.text for message in messages)

    async def on_memory_write(
        self, action: str, target: str, content: str, scope: Scope, metadata: Mapping[str, str]
    ) -> None:
        await self._hear("on_memory_write", scope, action, target, content, *metadata.values())

    async def on_session_end(self, messages: Sequence[Message], scope: Scope) -> None:
        await self._hear("on_session_end", scope)

    async def on_session_switch(self, new_session_id: str, scope: Scope, *, reason: str) -> None:
        await self._hear("on_session_switch", scope, new_session_id, reason)

    async def on_session_reset(self, scope: Scope) -> None:
        await self._hear("on_session_reset", scope)

    async def on_delegation(self, task: str, result: str, scope: Scope, *, child_session_id: str) -> None:
        await self._hear("on_delegation", scope, task, result, child_session_id)

    async def forget(self, scope: Scope) -> int:
        await self._hear("forget", scope)
        return len(self.remembered.pop(scope.owner, []))
