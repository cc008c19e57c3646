"""
Mem0 over HTTP: the hosted service, and a server of one's own, which speak alike and not the same.

Paths, bodies and answers are those of mem0ai 2.2.1 (`mem0/client/main.py` for the service) and of ``server/main.py`` of
the repository mem0ai/mem0. The SDK is not used: it brings 94 MB, tells a third party of every call, and cannot speak to
a server of one's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from gateway.agent.memory.providers.service import Missing, Service
from gateway.contracts.resource import Resource

Memory = Mapping[str, Any]
"""``id``, ``memory`` (the text), ``user_id`` and more."""


class Mem0Api(Resource, ABC):
    """What Mem0 does in each of its three forms; whose a memory is, `user` says. Failures are a `ToolError`."""

    @abstractmethod
    async def search(self, query: str, user: str, *, top_k: int, rerank: bool) -> Sequence[Memory]:
        """Return what bears on the query, best first."""

    @abstractmethod
    async def add(self, messages: Sequence[Mapping[str, str]], user: str, *, about: Memory, infer: bool) -> None:
        """Learn from messages (``role``, ``content``), or keep them to the letter where nothing is to be inferred."""

    @abstractmethod
    async def get(self, id: str) -> Memory | None:
        """Return one memory, whoever's it is."""

    @abstractmethod
    async def update(self, id: str, text: str) -> None:
        """Put another text in place of a memory's."""

    @abstractmethod
    async def delete(self, id: str) -> None:
        """Take a memory away."""

    @abstractmethod
    async def erase(self, user: str) -> int:
        """Take all of a user's memories away; return how many there were."""


class HttpApi(Mem0Api):
    """What the two forms over HTTP have in common: the paths differ, and how a search is answered does not."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __aenter__(self) -> Self:
        await self._service.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._service.__aexit__(kind, error, trace)

    @abstractmethod
    def _path(self, id: str = "") -> str:
        """Return the path of a memory, or of all."""

    async def get(self, id: str) -> Memory | None:
        try:
            found = await self._service.ask("GET", self._path(id))
        except Missing:
            return None
        if found is not None and not isinstance(found, dict):
            raise self._service.place.garbled()
        return found

    async def update(self, id: str, text: str) -> None:
        await self._service.ask("PUT", self._path(id), {"text": text})

    async def delete(self, id: str) -> None:
        await self._service.ask("DELETE", self._path(id))

    def _results(self, answer: Any) -> list[Memory]:
        """Read ``{"results": […]}``, or the bare list of older servers."""
        found = answer.get("results") if isinstance(answer, dict) else answer
        if not isinstance(found, list):
            raise self._service.place.garbled()
        return [one for one in found if isinstance(one, dict)]


class PlatformApi(HttpApi):
    """The hosted service, version 3: a user is named inside filters, and what is added is worked on later."""

    def _path(self, id: str = "") -> str:
        return f"/v1/memories/{id}/" if id else "/v1/memories/"

    async def search(self, query: str, user: str, *, top_k: int, rerank: bool) -> Sequence[Memory]:
        body = {"query": query, "filters": {"user_id": user}, "top_k": top_k, "rerank": rerank}
        return self._results(await self._service.ask("POST", "/v3/memories/search/", body))

    async def add(self, messages: Sequence[Mapping[str, str]], user: str, *, about: Memory, infer: bool) -> None:
        body = {"messages": messages, "user_id": user, "metadata": about, "infer": infer}
        await self._service.ask("POST", "/v3/memories/add/", body)

    async def erase(self, user: str) -> int:
        page = await self._service.ask(
            "POST", "/v3/memories/", {"filters": {"user_id": user}}, {"page": 1, "page_size": 1}
        )
        count = page.get("count") if isinstance(page, dict) else None
        if not isinstance(count, int):
            raise self._service.place.garbled()
        if count:
            await self._service.ask("DELETE", self._path(), query={"user_id": user})
        return count


class ServerApi(HttpApi):
    """A server of one's own: no reranking, and an add is answered once it is done."""

    def _path(self, id: str = "") -> str:
        return f"/memories/{id}" if id else "/memories"

    async def search(self, query: str, user: str, *, top_k: int, rerank: bool) -> Sequence[Memory]:
        body = {"query": query, "filters": {"user_id": user}, "top_k": top_k}
        return self._results(await self._service.ask("POST", "/search", body))

    async def add(self, messages: Sequence[Mapping[str, str]], user: str, *, about: Memory, infer: bool) -> None:
        body = {"messages": messages, "user_id": user, "metadata": about, "infer": infer}
        await self._service.ask("POST", self._path(), body)

    async def erase(self, user: str) -> int:
        found = self._results(await self._service.ask("GET", self._path(), query={"user_id": user}))
        if found:
            await self._service.ask("DELETE", self._path(), query={"user_id": user})
        return len(found)
