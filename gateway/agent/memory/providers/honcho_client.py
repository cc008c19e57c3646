"""
Honcho by its SDK (honcho-ai 2.7, which has no types): whose peers and sessions are whose, and what its errors mean.

A person, a group or the home has two peers of its own, one that is remembered and one that speaks for the agent; no
peer is in sessions of two owners. Sessions are those of the gateway, one for each owner that took part in it. Names at
Honcho are letters, digits, ``-`` and ``_``: a readable beginning and a digest of what they stand for.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Awaitable
from dataclasses import dataclass
from json import JSONDecodeError
from types import TracebackType
from typing import Any, Self, TypeVar

from cachetools import LRUCache
from pydantic import ValidationError

from gateway.agent.memory.providers.service import Missing, Place
from gateway.agent.memory.scopes import is_home
from gateway.contracts.memory import Scope
from gateway.contracts.resource import Resource
from gateway.errors import ToolError
from gateway.types import clean

T = TypeVar("T")
REMEMBERED = 1024
"""Sessions that are known to be there, and need not be asked for again."""
SUCCESSORS = 3
"""Names a session may have: one that was erased may not be written to again before Honcho has done so."""
DIGEST = re.compile(r"-[0-9a-f]{24}$")


@dataclass(frozen=True, slots=True)
class Talk:
    """One session of one owner, by objects of the SDK: `user` is the peer remembered, `ai` the one that observes it."""

    session: Any
    user: Any
    ai: Any

    def observed(self, peer: str) -> Any:
        """Return the peer that a tool means by "user" or "ai"."""
        return self.ai if peer == "ai" else self.user


@dataclass(frozen=True, slots=True)
class Names:
    """What things are called at Honcho; `peer` is the home's own if it has one, `ai_peer` that of the agent there."""

    workspace: str = "hermes"
    peer: str = ""
    ai_peer: str = "hermes"

    def user(self, owner: str) -> str:
        return self.peer if self.peer and is_home(owner) else resource(owner.replace(":", "-", 1), owner)

    def ai(self, owner: str) -> str:
        return self.ai_peer if self.peer and is_home(owner) else resource(self.ai_peer, "ai", owner)

    def session(self, scope: Scope, successor: int) -> str:
        turn = (str(successor),) if successor else ()
        return resource(scope.session_id, "session", scope.owner, scope.session_id, *turn)


def resource(readable: str, *parts: str) -> str:
    """Name a thing by all its parts, so that two never share a name; the beginning is for people."""
    told = "\0".join(part.replace("\\", "\\\\").replace("\0", "\\0") for part in parts)
    digest = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return f"{re.sub('[^A-Za-z0-9_-]', '_', readable)[:40]}-{digest}"


class HonchoClient(Resource):
    """Loads the SDK on entering, in a thread. `patience` is the seconds a call may take, `retries` and all."""

    def __init__(self, place: Place, key: str, names: Names, *, patience: float = 30.0, retries: int = 2) -> None:
        self.place, self.names = place, names
        self._key, self._patience, self._retries = key, patience, retries
        self._talks: LRUCache[tuple[str, str], Talk] = LRUCache(REMEMBERED)
        self._honcho: Any = None
        self._http: Any = None
        self._error: type[Exception] = Exception

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._load)
        return self

    def _load(self) -> None:
        from honcho import Honcho
        from honcho.http import AsyncHonchoHTTPClient
        from honcho.http.exceptions import HonchoError

        self._error = HonchoError
        self._honcho = Honcho(api_key=self._key, base_url=self.place.url, workspace_id=self.names.workspace)
        # Made by us, the SDK's client can be closed, and reads its certificates in this thread.
        self._http = self._honcho._async_http = AsyncHonchoHTTPClient(
            base_url=self.place.url, api_key=self._key, timeout=self._patience, max_retries=self._retries
        )

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._http is not None:
            await self._http.close()
            self._http = self._honcho = None

    async def ask(self, call: Awaitable[T]) -> T:
        """Await a call of the SDK; raise `ToolError` with a sentence where it fails."""
        try:
            async with asyncio.timeout(self._patience):
                return await call
        except TimeoutError:
            raise self.place.silent() from None
        except (ValidationError, AttributeError, KeyError, TypeError):  # the SDK takes any JSON for its own
            raise self.place.garbled() from None
        except self._error as error:
            raise self._told(error) from None

    def _told(self, error: Exception) -> ToolError:
        if status := getattr(error, "status", 0):
            return self.place.refusal(status, str(error), getattr(error, "retry_after", None))
        if isinstance(error.__cause__, JSONDecodeError):
            return self.place.garbled()
        return self.place.silent() if type(error).__name__ == "TimeoutError" else self.place.unreachable()

    def peers(self, owner: str) -> tuple[Any, Any]:
        """Return the peer of an owner and the one that observes it, which need not be there yet."""
        from honcho.peer import Peer

        return Peer(self.names.user(owner), self._honcho), Peer(self.names.ai(owner), self._honcho)

    async def talk(self, scope: Scope) -> Talk:
        """Return the session of a conversation, made with its peers where it is not there."""
        where = scope.owner, scope.session_id
        if where not in self._talks:
            user, ai = self.peers(scope.owner)
            self._talks[where] = Talk(await self._session(scope, user, ai), user, ai)
        return self._talks[where]

    async def _session(self, scope: Scope, user: Any, ai: Any) -> Any:
        from honcho.api_types import SessionPeerConfig

        both = SessionPeerConfig(observe_me=True, observe_others=True)
        about = {"platform": clean(scope.platform), "chat": clean(scope.chat_id)}
        for successor in range(SUCCESSORS):
            name = self.names.session(scope, successor)
            try:
                return await self.ask(
                    self._honcho.aio.session(name, metadata=about, peers=[(user.id, both), (ai.id, both)])
                )
            except Missing:
                continue
        raise ToolError(f"{self.place.host} is still erasing this conversation: try again later")

    def forget(self, owner: str) -> None:
        """Know nothing of the sessions of an owner any more, since they are erased."""
        for where in [where for where in self._talks if where[0] == owner]:
            del self._talks[where]
