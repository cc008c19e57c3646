"""
Honcho around a turn: what it is told, what it recalls, and how an owner is erased.

With each message come the summary of the conversation, what Honcho thinks of the person in view of this message, and
its card of facts, within three seconds; what its own model said after the last turn comes with the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from cachetools import LRUCache

from gateway.agent.memory.providers.honcho_client import REMEMBERED, HonchoClient
from gateway.agent.memory.providers.honcho_tools import LONGEST_SEARCH, SPECS, HonchoTools
from gateway.agent.memory.providers.service import Missing
from gateway.contracts.memory import MemoryProvider, Scope
from gateway.contracts.tool import ToolSpec
from gateway.types import clean

WAIT = 3.0
"""Seconds a turn waits for what is recalled."""
LONGEST_MESSAGE = 25_000
LONGEST_THOUGHT = 600
LONGEST_RECALL = 8000
"""Characters."""
BATCH = 100
CONTINUED = "[continued] "
QUESTION = (
    "Given what was said in this conversation, what about this person matters most for the answer to their next"
    " message? Prefer what bears on the present subject over biography."
)


class Honcho(MemoryProvider):
    """`cadence` is the turns between two questions to Honcho's model, 0 for none; `save` lets it read along."""

    name = "honcho"

    def __init__(
        self, client: HonchoClient, *, mode: str = "hybrid", save: bool = True, cadence: int = 1, level: str = "low"
    ) -> None:
        self._client, self._mode, self._save, self._cadence, self._level = client, mode, save, cadence, level
        self._tools = HonchoTools(client, level)
        self._turns: LRUCache[tuple[str, str], int] = LRUCache(REMEMBERED)
        self._thoughts: LRUCache[tuple[str, str], str] = LRUCache(REMEMBERED)

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, error, trace)

    def specs(self) -> Sequence[ToolSpec]:
        return () if self._mode == "context" else SPECS

    def system_prompt_block(self) -> str:
        said = ["Honcho remembers the user beyond this conversation."]
        if self._mode != "tools":
            said.append("What bears on a message comes with it.")
        if self._mode != "context":
            said.append("honcho_profile and honcho_context are quick, honcho_search finds what was said,")
            said.append("honcho_reasoning thinks (slow), honcho_conclude keeps a fact.")
        return " ".join(said)

    # --- around a turn

    async def on_turn_start(self, number: int, message: str, scope: Scope) -> None:
        self._turns[scope.owner, scope.session_id] = number

    async def prefetch(self, query: str, scope: Scope) -> str:
        if self._mode == "tools":
            return ""
        async with asyncio.timeout(WAIT):
            talk = await self._client.talk(scope)
            parts = await self._tools.known(talk, "user", clean(query).strip()[:LONGEST_SEARCH])
        thought = self._thoughts.pop((scope.owner, scope.session_id), "")
        return "\n\n".join(part for part in (*parts, thought) if part)[:LONGEST_RECALL]

    async def queue_prefetch(self, query: str, scope: Scope) -> None:
        where = scope.owner, scope.session_id
        if self._mode == "tools" or not self._cadence or (self._turns.get(where, 1) - 1) % self._cadence:
            return
        talk = await self._client.talk(scope)
        told = await self._client.ask(
            talk.ai.aio.chat(QUESTION, target=talk.user, session=talk.session, reasoning_level=self._level)
        )
        self._thoughts[where] = clean(told or "").strip()[:LONGEST_THOUGHT]

    async def sync_turn(self, user: str, assistant: str, scope: Scope) -> None:
        if not self._save or scope.context != "primary":
            return
        talk = await self._client.talk(scope)
        messages = [
            *(talk.user.message(part) for part in _parts(user)),
            *(talk.ai.message(part) for part in _parts(assistant)),
        ]
        for first in range(0, len(messages), BATCH):
            await self._client.ask(talk.session.aio.add_messages(messages[first : first + BATCH]))

    async def on_memory_write(
        self, action: str, target: str, content: str, scope: Scope, metadata: Mapping[str, str]
    ) -> None:
        if self._save and scope.context == "primary" and (action, target) == ("add", "user"):
            await self._tools.conclude(await self._client.talk(scope), "user", content)

    async def forget(self, scope: Scope) -> int:
        """Erase what was concluded of an owner, its cards and its sessions; count conclusions and messages."""
        user, ai = self._client.peers(scope.owner)
        self._client.forget(scope.owner)
        for where in [where for where in self._thoughts if where[0] == scope.owner]:
            del self._thoughts[where]
        count = sum([await self._erase(observer, observed) for observer in (user, ai) for observed in (user, ai)])
        with suppress(Missing):
            while sessions := (await self._client.ask(user.aio.sessions(size=BATCH))).items:
                for session in sessions:
                    count += (await self._client.ask(session.aio.messages(size=1))).total or 0
                    await self._client.ask(session.aio.delete())
        return count

    async def _erase(self, observer: Any, observed: Any) -> int:
        view, count = observer.conclusions_of(observed), 0
        with suppress(Missing):
            while conclusions := (await self._client.ask(view.aio.list(size=BATCH))).items:
                for conclusion in conclusions:
                    await self._client.ask(view.aio.delete(conclusion.id))
                count += len(conclusions)
            if await self._client.ask(observer.aio.get_card(target=observed)):
                await self._client.ask(observer.aio.set_card([], target=observed))
        return count

    async def call(self, name: str, arguments: Mapping[str, Any], scope: Scope) -> str:
        return await self._tools.call(name, arguments, scope)


def _parts(text: str) -> list[str]:
    """Cut a text into messages as long as Honcho takes them; blanks alone are none."""
    text = clean(text)
    if not text.strip():
        return []
    room = LONGEST_MESSAGE - len(CONTINUED)
    rest = [CONTINUED + text[first : first + room] for first in range(LONGEST_MESSAGE, len(text), room)]
    return [text[:LONGEST_MESSAGE], *rest]
