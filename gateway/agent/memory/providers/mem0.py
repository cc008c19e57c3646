"""
The provider Mem0: a hosted service, a server of one's own, or the library on this machine.

What is remembered belongs to the user id that our owner has there, and every read and every change is about that one
alone: a search names it and its results are checked again, and a memory that is to be changed is looked at first. No
``agent_id`` is sent as the reference does: what Mem0 files under an agent is everybody's, and cannot be erased for one.

Recall is by the message of this very turn, within three seconds; nothing is fetched ahead. Left out of the reference:
the default user ``hermes-user`` (`memory.mem0.user_id` names it) and dropping a collection of another vector size.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Self

from pydantic import Field

from gateway.agent.memory.providers.given import Given
from gateway.agent.memory.providers.mem0_api import Mem0Api, Memory, PlatformApi, ServerApi
from gateway.agent.memory.providers.mem0_local import LocalApi, local_config
from gateway.agent.memory.providers.offered import Arguments, offer, read
from gateway.agent.memory.providers.service import Place, Service
from gateway.agent.memory.scopes import is_home
from gateway.contracts.memory import MemoryProvider, Scope
from gateway.contracts.tool import ToolSpec
from gateway.errors import ConfigError, ToolError
from gateway.types import clean

PUBLIC = "https://api.mem0.ai"
WAIT = 3.0
"""Seconds a turn waits for what is recalled."""
RECALLED = 5
LONGEST_QUERY = 2000
LONGEST_MESSAGE = 25_000
LONGEST_MEMORY = 1000
"""Characters."""
ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
USER = re.compile(r"(person|chat):[\x21-\x29\x2b-\x7e]+")
MODES = {"platform", "selfhosted", "oss"}


class Search(Arguments):
    """Search what is remembered of the user in earlier conversations, by meaning. Returns memories with their ids."""

    query: str = Field(min_length=1, description="What to look for.")
    top_k: int = Field(10, ge=1, le=50, description="The most memories to return.")
    rerank: bool | None = Field(None, description="Order the memories once more, which is better and slower.")


class Add(Arguments):
    """Remember a fact about the user, to the letter. For lasting facts; what is said is learnt from by itself."""

    content: str = Field(min_length=1, max_length=10_000, description="The fact, as a whole sentence.")


class Update(Arguments):
    """Correct a memory: put another text in its place."""

    memory_id: str = Field(description="Its id, from mem0_search.")
    text: str = Field(min_length=1, max_length=10_000, description="The new text, as a whole sentence.")


class Delete(Arguments):
    """Forget one memory for good."""

    memory_id: str = Field(description="Its id, from mem0_search.")


SEARCH = offer("mem0_search", Search, repeatable=True)
ADD = offer("mem0_add", Add)
UPDATE = offer("mem0_update", Update)
DELETE = offer("mem0_delete", Delete)


class Mem0(MemoryProvider):
    """`home_user` is the user id of the home's own memories; every other owner is a user of its own name."""

    name = "mem0"

    def __init__(self, api: Mem0Api, *, home_user: str = "", rerank: bool = False) -> None:
        self._api, self._home_user, self._rerank = api, home_user, rerank

    async def __aenter__(self) -> Self:
        await self._api.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._api.__aexit__(kind, error, trace)

    def specs(self) -> Sequence[ToolSpec]:
        return (SEARCH, ADD, UPDATE, DELETE)

    def system_prompt_block(self) -> str:
        return (
            "Mem0 remembers the user beyond this conversation. What bears on a message comes with it;"
            " mem0_search finds more, mem0_add keeps a fact, mem0_update and mem0_delete correct one."
        )

    async def prefetch(self, query: str, scope: Scope) -> str:
        async with asyncio.timeout(WAIT):
            found = await self._found(query, scope, top_k=RECALLED, rerank=self._rerank)
        return "\n".join(f"- {_line(memory)}" for memory in found)

    async def sync_turn(self, user: str, assistant: str, scope: Scope) -> None:
        said = (("user", clean(user)[:LONGEST_MESSAGE]), ("assistant", clean(assistant)[:LONGEST_MESSAGE]))
        messages = [{"role": role, "content": text} for role, text in said if text.strip()]
        if messages and scope.context == "primary":
            await self._api.add(messages, self._user(scope), about=_about(scope), infer=True)

    async def forget(self, scope: Scope) -> int:
        return await self._api.erase(self._user(scope))

    async def call(self, name: str, arguments: Mapping[str, Any], scope: Scope) -> str:
        match name:
            case SEARCH.name:
                asked = read(SEARCH, Search, arguments)
                rerank = self._rerank if asked.rerank is None else asked.rerank
                found = await self._found(asked.query, scope, top_k=asked.top_k, rerank=rerank)
                return _json(results=[{"id": one["id"], "memory": _line(one)} | _score(one) for one in found])
            case ADD.name:
                added = read(ADD, Add, arguments)
                _writing(scope)
                said = [{"role": "user", "content": clean(added.content)}]
                await self._api.add(said, self._user(scope), about=_about(scope), infer=False)
                return _json(result="remembered; it can be found in a moment")
            case UPDATE.name:
                change = read(UPDATE, Update, arguments)
                await self._api.update(await self._own(change.memory_id, scope), clean(change.text))
                return _json(result="corrected", memory_id=change.memory_id)
            case DELETE.name:
                gone = read(DELETE, Delete, arguments)
                await self._api.delete(await self._own(gone.memory_id, scope))
                return _json(result="forgotten", memory_id=gone.memory_id)
        raise ToolError(f"Mem0 has no tool {name}")

    async def _found(self, query: str, scope: Scope, *, top_k: int, rerank: bool) -> list[Memory]:
        """Search; whatever a server returns of others is left out."""
        query, user = clean(query).strip()[:LONGEST_QUERY], self._user(scope)
        if not query:
            return []
        found = await self._api.search(query, user, top_k=top_k, rerank=rerank)
        own = [one for one in found if one.get("user_id") == user and isinstance(one.get("id"), str)]
        return [one for one in own if isinstance(one.get("memory"), str)][:top_k]

    async def _own(self, id: str, scope: Scope) -> str:
        """Return the id of a memory that may be changed here, which is told nobody of somebody else's."""
        _writing(scope)
        memory = await self._api.get(id) if ID.fullmatch(id) else None
        if memory is None or memory.get("user_id") != self._user(scope):
            raise ToolError("there is no memory with this id: take one from mem0_search")
        return id

    def _user(self, scope: Scope) -> str:
        """Name an owner at Mem0, which takes no whitespace and reads ``*`` as everybody."""
        if self._home_user and is_home(scope.owner):
            return self._home_user
        if USER.fullmatch(scope.owner):
            return scope.owner
        return "sha256:" + hashlib.sha256(scope.owner.encode("utf-8", "surrogatepass")).hexdigest()


def create(given: Given) -> Mem0:
    """Make the provider as the settings, mem0.json and the variables ``MEM0_…`` say."""
    settings = given.settings.mem0
    user = given.find(settings.user_id, "user_id", "MEM0_USER_ID")
    if re.match(r"home$|person:|chat:|profile:|sha256:", user) or not re.fullmatch(r"[\x21-\x29\x2b-\x7e]*", user):
        raise ConfigError("memory.mem0.user_id: may not hold blanks or *, nor be the name of one of our owners")
    return Mem0(_api(given), home_user=user, rerank=settings.rerank or given.file.get("rerank") is True)


def _api(given: Given) -> Mem0Api:
    settings = given.settings.mem0
    key = given.find(settings.api_key, "api_key", "MEM0_API_KEY").strip()
    url = given.find(settings.endpoint, "host", "MEM0_HOST").strip()
    mode = given.find(settings.mode, "mode", "MEM0_MODE") or "platform"
    if mode not in MODES:
        raise ConfigError(f"memory.mem0.mode: there is no mode {mode!r}", hint="write platform, selfhosted or oss")
    if mode == "oss":
        return _local(given)
    # An address alone means a server of one's own, as in the reference.
    own = mode == "selfhosted" or (bool(url) and not settings.mode)
    place = Place("Mem0", url or PUBLIC, "memory.mem0.api_key (MEM0_API_KEY)", "memory.mem0.endpoint (MEM0_HOST)")
    if own and not url:
        raise ConfigError("memory.mem0.endpoint: is missing", hint="set it to the address of your server, or MEM0_HOST")
    if not own and not key:
        raise ConfigError("memory.mem0.api_key: is missing", hint="set it, or MEM0_API_KEY, to a key of app.mem0.ai")
    place.check(key)
    if own:
        return ServerApi(Service(place, {"X-API-Key": key} if key else {}))
    return PlatformApi(Service(place, {"Authorization": f"Token {key}"}))


def _local(given: Given) -> LocalApi:
    if find_spec("mem0") is None:
        raise ConfigError(
            "memory.mem0.mode: oss needs a library that is not installed", hint="pip install 'hermes-gateway[mem0]'"
        )
    oss = given.file.get("oss") or {}
    if not isinstance(oss, dict):
        raise ConfigError("oss must be an object", file="mem0.json")
    return LocalApi(local_config(oss, given.home), given.home, given.variables)


def _writing(scope: Scope) -> None:
    if scope.context != "primary":
        raise ToolError("nothing is written to Mem0 in a run without a person: leave it to a conversation")


def _about(scope: Scope) -> dict[str, str]:
    return {"platform": clean(scope.platform), "chat": clean(scope.chat_id)}


def _line(memory: Memory) -> str:
    text = " ".join(clean(memory["memory"][: LONGEST_MEMORY + 1]).split())
    return text if len(text) <= LONGEST_MEMORY else text[: LONGEST_MEMORY - 1] + "…"


def _score(memory: Memory) -> dict[str, float]:
    score = memory.get("score")
    return {"score": round(score, 3)} if isinstance(score, float | int) else {}


def _json(**answer: Any) -> str:
    return json.dumps(answer, ensure_ascii=False)
