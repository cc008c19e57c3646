"""The provider of the facts: recall by words before a turn, two tools, and a mirror of the notes."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gateway.agent.memory.providers.given import Given
from gateway.agent.memory.providers.holographic import facts, recall, tools
from gateway.agent.memory.providers.holographic.file import FactsFile
from gateway.agent.memory.providers.holographic.recall import Asked
from gateway.agent.memory.settings import HolographicSettings
from gateway.contracts.memory import MemoryProvider, Scope
from gateway.contracts.tool import ToolSpec
from gateway.errors import ToolError
from gateway.types import clean

RECALLED = 5
"""Facts before a turn; those that score less than a quarter of the best are left out."""

PROMPT = """# Holographic memory
Facts about the person or group you talk with are kept by fact_store and recalled before each message. Add what one \
would expect you to remember (people, projects, preferences, decisions), probe or search before you answer questions \
about them, and rate a fact with fact_feedback once you have used it."""


class Holographic(MemoryProvider):
    """
    Remembers what the model adds by its tools and what is written to the notes; nothing is read out of conversations.

    The reference can pick facts out of what was said by English patterns, off by default; that is left out.
    """

    name = "holographic"

    def __init__(self, settings: HolographicSettings, home: Path) -> None:
        self._settings = settings
        self._file = FactsFile(home)

    async def __aenter__(self) -> Self:
        await self._file.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._file.__aexit__(kind, error, trace)

    def specs(self) -> Sequence[ToolSpec]:
        return (tools.FEEDBACK, tools.STORE)

    def system_prompt_block(self) -> str:
        return PROMPT

    async def call(self, name: str, arguments: Mapping[str, Any], scope: Scope) -> str:
        job, write = tools.job(name, arguments, self._asked(scope))
        if write and scope.context != "primary":
            raise ToolError("facts are changed only in a conversation with a person: leave it for the next one")
        return await self._file.run(job, write=write)

    async def prefetch(self, query: str, scope: Scope) -> str:
        asked = self._asked(scope)
        found = await self._file.run(lambda connection: recall.search(connection, asked, clean(query)))
        lines = [f"- [{fact.trust:.1f}] {fact.content}" for score, fact in found if score >= found[0][0] / 4]
        return "\n".join(("## Facts, with how far each is trusted", *lines)) if lines else ""

    async def sync_turn(self, user: str, assistant: str, scope: Scope) -> None:
        return

    async def on_memory_write(
        self, action: str, target: str, content: str, scope: Scope, metadata: Mapping[str, str]
    ) -> None:
        text, old = clean(content).strip(), clean(metadata.get("old_text", "")).strip()
        category = "user_pref" if target == "user" else "general"

        def mirror(connection: sqlite3.Connection) -> None:
            if action in {"replace", "remove"} and old:
                for id in facts.noted(connection, scope.owner, old)[:1]:
                    facts.remove(connection, scope.owner, id)
            if action in {"add", "replace"} and text:
                facts.add(connection, scope.owner, text, now=time.time(), category=category, noted=True)

        await self._file.run(mirror, write=True)

    async def forget(self, scope: Scope) -> int:
        erased = await self._file.run(lambda connection: facts.erase(connection, scope.owner), write=True)
        await self._file.settle()
        return erased

    def _asked(self, scope: Scope) -> Asked:
        settings = self._settings
        return Asked(scope.owner, time.time(), settings.half_life_days, None, settings.min_trust, RECALLED)


def create(given: Given) -> MemoryProvider:
    return Holographic(given.settings.holographic, given.home)
