"""
Mem0 over HTTP: the hosted service (version 3) and a server of one's own, over one store, each under its own paths.

Requests and answers are those of mem0ai 2.2.1: ``mem0/client/main.py`` and ``mem0/client/types.py`` for the service
(``Authorization: Token``; entities only inside ``filters``; an add is answered by an event), and of ``server/main.py``
of the repository mem0ai/mem0 with ``mem0/memory/main.py`` behind it for the server (``X-API-Key``; what is not there is
``null``; ids of users without blanks). A user ``*`` is everybody, as it says. Where facts would be inferred, what the
user said is kept to the letter.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from tests.fakes.memory_service import BODY, KEY, MemoryService, Refused, likeness

ENTITIES = {"user_id", "agent_id", "app_id", "run_id"}
SEARCH = {"query", "filters", "metadata", "top_k", "rerank", "threshold", "fields", "categories"}
ADD = {"messages", "user_id", "agent_id", "app_id", "run_id", "metadata", "infer"}


class Mem0Server(MemoryService):
    """`memories` is what it holds, by id; a `careless` one answers a search with everybody's."""

    def __init__(self, *, key: str = KEY) -> None:
        super().__init__(key=key)
        self.careless = False
        self.memories: dict[str, dict[str, Any]] = {}
        route = self.router.add_route
        route("POST", "/v3/memories/add/", self._add_later)
        route("POST", "/v3/memories/search/", self._search)
        route("POST", "/v3/memories/", self._page)
        route("GET", "/v1/memories/{id}/", self._get_or_404)
        route("POST", "/search", self._search)
        route("POST", "/memories", self._add)
        route("GET", "/memories", self._list)
        route("GET", "/memories/{id}", self._get_or_null)
        for path in ("/v1/memories/{id}/", "/memories/{id}"):
            route("PUT", path, self._update)
            route("DELETE", path, self._delete)
        for path in ("/v1/memories/", "/memories"):
            route("DELETE", path, self._delete_all)

    def allowed(self, request: web.Request) -> bool:
        if request.path.startswith("/v"):
            return request.headers.get("Authorization") == f"Token {self.key}"
        return request.headers.get("X-API-Key", "") == self.key

    def texts(self, user: str) -> list[str]:
        """Return what is remembered of a user."""
        return [one["memory"] for one in self.memories.values() if one["user_id"] == user]

    # --- the service

    async def _add_later(self, request: web.Request) -> web.Response:
        self._store(request[BODY])
        told = "Memory processing has been queued for background execution"
        return web.json_response({"message": told, "status": "PENDING", "event_id": str(uuid.uuid4())})

    async def _page(self, request: web.Request) -> web.Response:
        found = self._of(self._user(request[BODY]))
        page, size = int(request.query.get("page", "1")), int(request.query.get("page_size", "100"))
        shown = found[(page - 1) * size : page * size]
        return web.json_response({"count": len(found), "next": None, "previous": None, "results": shown})

    async def _get_or_404(self, request: web.Request) -> web.Response:
        memory = self.memories.get(request.match_info["id"])
        if memory is None:
            return web.json_response({"error": "Memory not found"}, status=404)
        return web.json_response(memory)

    # --- the server

    async def _add(self, request: web.Request) -> web.Response:
        added = self._store(request[BODY])
        results = [{"id": one["id"], "memory": one["memory"], "event": "ADD"} for one in added]
        return web.json_response({"results": results})

    async def _list(self, request: web.Request) -> web.Response:
        return web.json_response({"results": self._of(_checked(request.query.get("user_id")))})

    async def _get_or_null(self, request: web.Request) -> web.Response:
        return web.json_response(self.memories.get(request.match_info["id"]))

    # --- both

    async def _search(self, request: web.Request) -> web.Response:
        body = request[BODY]
        if unknown := body.keys() - SEARCH:
            raise Refused(400, f"unknown or misplaced: {sorted(unknown)}")
        if not body["query"].strip():
            raise Refused(400, "Invalid query: cannot be empty or whitespace-only.")
        found = [
            one | {"score": likeness(body["query"], one["memory"])}
            for one in self._of("*" if self.careless else self._user(body))
        ]
        best = sorted(found, key=lambda one: -one["score"])
        return web.json_response({"results": [one for one in best if one["score"] > 0.1][: body.get("top_k", 10)]})

    async def _update(self, request: web.Request) -> web.Response:
        memory = self.memories.get(request.match_info["id"])
        if memory is None:
            raise Refused(500, "no such memory")
        memory["memory"] = request[BODY]["text"]
        memory["updated_at"] = _now()
        return web.json_response({"message": "Memory updated successfully!"})

    async def _delete(self, request: web.Request) -> web.Response:
        if self.memories.pop(request.match_info["id"], None) is None:
            raise Refused(500, "no such memory")
        return web.json_response({"message": "Memory deleted successfully!"})

    async def _delete_all(self, request: web.Request) -> web.Response:
        for one in self._of(_checked(request.query.get("user_id"))):
            del self.memories[one["id"]]
        return web.json_response({"message": "Memories deleted successfully!"})

    def _user(self, body: Mapping[str, Any]) -> str:
        if body.keys() & ENTITIES:
            raise Refused(400, "entities belong into filters")
        return _checked((body.get("filters") or {}).get("user_id"))

    def _of(self, user: str) -> list[dict[str, Any]]:
        return [one for one in self.memories.values() if user in {"*", one["user_id"]}]

    def _store(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        if unknown := body.keys() - ADD:
            raise Refused(400, f"unknown: {sorted(unknown)}")
        user = _checked(body.get("user_id"))
        told = [one["content"] for one in body["messages"] if one["role"] == "user" or not body.get("infer", True)]
        added = [
            {
                "id": str(uuid.uuid4()),
                "memory": text,
                "user_id": user,
                "metadata": body.get("metadata"),
                "created_at": _now(),
                "updated_at": _now(),
            }
            for text in told
        ]
        self.memories |= {one["id"]: one for one in added}
        return added


def _checked(user: object) -> str:
    if not isinstance(user, str) or not user or any(letter.isspace() for letter in user):
        raise Refused(400, f"not the id of a user: {user!r}")
    return user


def _now() -> str:
    return datetime.now(UTC).isoformat()
