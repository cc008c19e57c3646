"""
Honcho over HTTP, version 3: workspaces, peers, sessions, messages, conclusions, cards, and a model that only repeats.

What it takes and answers are the types of honcho-ai 2.7.0 (``honcho/api_types.py``, paths in
``honcho/http/routes.py``), each body checked by them; the letters of names, the length of a message and that an erased
session is not there are of ``src/schemas/api.py`` and ``src/crud/session.py`` of the repository plastic-labs/honcho.
What a peer says is at once a conclusion of every peer that observes it, to the letter.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import count
from typing import Any, TypeVar

from aiohttp import web
from honcho import api_types as types
from pydantic import BaseModel, ValidationError

from tests.fakes.memory_service import BODY, KEY, MemoryService, Refused, likeness

NAME = re.compile(r"[a-zA-Z0-9_-]{1,512}")
LONGEST_MESSAGE = 25_000
M = TypeVar("M", bound=BaseModel)


class HonchoServer(MemoryService):
    """What it holds: `peers`, `sessions`, `messages`, `conclusions` by id, `cards` by observer and observed."""

    def __init__(self, *, key: str = KEY) -> None:
        super().__init__(key=key)
        self.peers: set[str] = set()
        self.sessions: dict[str, dict[str, Any]] = {}
        self.erased: set[str] = set()
        self.messages: list[types.MessageResponse] = []
        self.conclusions: dict[str, types.ConclusionResponse] = {}
        self.cards: dict[tuple[str, str], list[str]] = {}
        self.summary = ""
        self._numbers = count(1)
        for method, path, handler in (
            ("POST", "/peers", self._peer),
            ("POST", "/peers/{peer}/chat", self._chat),
            ("POST", "/peers/{peer}/search", self._search),
            ("GET", "/peers/{peer}/card", self._card),
            ("PUT", "/peers/{peer}/card", self._card),
            ("POST", "/peers/{peer}/sessions", self._sessions_of),
            ("POST", "/sessions", self._session),
            ("DELETE", "/sessions/{session}", self._erase),
            ("GET", "/sessions/{session}/context", self._context),
            ("POST", "/sessions/{session}/messages", self._say),
            ("POST", "/sessions/{session}/messages/list", self._said_in),
            ("POST", "/conclusions", self._conclude),
            ("POST", "/conclusions/list", self._list),
            ("POST", "/conclusions/query", self._query),
            ("GET", "/conclusions/{id}", self._conclusion),
            ("DELETE", "/conclusions/{id}", self._delete),
        ):
            self.router.add_route(method, "/v3/workspaces/{workspace}" + path, handler)
        self.router.add_route("POST", "/v3/workspaces", self._workspace)

    def allowed(self, request: web.Request) -> bool:
        return not self.key or request.headers.get("Authorization") == f"Bearer {self.key}"

    # --- workspaces, peers and sessions

    async def _workspace(self, request: web.Request) -> web.Response:
        asked = _checked(types.WorkspaceCreateParams, request)
        return _json(types.WorkspaceResponse(id=_name(asked.id), created_at=_now()))

    async def _peer(self, request: web.Request) -> web.Response:
        asked = _checked(types.PeerCreateParams, request)
        self.peers.add(_name(asked.id))
        workspace = request.match_info["workspace"]
        return _json(types.PeerResponse(id=asked.id, workspace_id=workspace, created_at=_now()))

    async def _session(self, request: web.Request) -> web.Response:
        asked = _checked(types.SessionCreateParams, request)
        if asked.id in self.erased:
            return _missing(f"Session {asked.id}")
        session = self.sessions.setdefault(_name(asked.id), {"peers": {}})
        session["metadata"] = asked.metadata or {}
        for peer, config in (asked.peers or {}).items():
            self.peers.add(_name(peer))
            session["peers"][peer] = config
        return _json(self._shown(request, asked.id))

    async def _sessions_of(self, request: web.Request) -> web.Response:
        if request.match_info["peer"] not in self.peers:
            return _missing("Peer")
        names = [name for name, one in self.sessions.items() if request.match_info["peer"] in one["peers"]]
        return _page(request, [self._shown(request, name) for name in names])

    async def _erase(self, request: web.Request) -> web.Response:
        name = request.match_info["session"]
        if self.sessions.pop(name, None) is None:
            return _missing(f"Session {name}")
        self.erased.add(name)
        self.messages = [one for one in self.messages if one.session_id != name]
        self.conclusions = {id: one for id, one in self.conclusions.items() if one.session_id != name}
        return web.json_response({"message": "Session deletion queued"}, status=202)

    def _shown(self, request: web.Request, name: str) -> types.SessionResponse:
        workspace, metadata = request.match_info["workspace"], self.sessions[name]["metadata"]
        return types.SessionResponse(
            id=name, is_active=True, workspace_id=workspace, metadata=metadata, created_at=_now()
        )

    # --- what is said

    async def _say(self, request: web.Request) -> web.Response:
        asked, name = _checked(types.MessageBatchCreateParams, request), request.match_info["session"]
        if name not in self.sessions:
            return _missing(f"Session {name}")
        if any(len(one.content) > LONGEST_MESSAGE for one in asked.messages):
            raise Refused(422, "a message is too long")
        said = [self._said(request, name, one) for one in asked.messages]
        return web.json_response([one.model_dump(mode="json") for one in said], status=201)

    def _said(self, request: web.Request, name: str, told: types.MessageCreateParams) -> types.MessageResponse:
        members = self.sessions[name]["peers"]
        if told.peer_id not in members:
            raise Refused(422, f"{told.peer_id} is not in {name}")
        message = types.MessageResponse(
            id=f"m{next(self._numbers)}",
            content=told.content,
            peer_id=told.peer_id,
            session_id=name,
            metadata=told.metadata or {},
            created_at=_now(),
            workspace_id=request.match_info["workspace"],
            token_count=len(told.content) // 4,
        )
        self.messages.append(message)
        for observer, config in members.items():
            if config.observe_me if observer == told.peer_id else config.observe_others:
                self._keep(observer, told.peer_id, told.content, name)
        return message

    async def _said_in(self, request: web.Request) -> web.Response:
        return _page(request, [one for one in self.messages if one.session_id == request.match_info["session"]])

    async def _search(self, request: web.Request) -> web.Response:
        asked, peer = _checked(types.MessageSearchParams, request), request.match_info["peer"]
        found = [(likeness(asked.query, one.content), one) for one in self.messages if one.peer_id == peer]
        best = [one for score, one in sorted(found, key=lambda pair: -pair[0]) if score > 0.1]
        return web.json_response([one.model_dump(mode="json") for one in best[: asked.limit]])

    async def _context(self, request: web.Request) -> web.Response:
        name, query = request.match_info["session"], request.query
        if name not in self.sessions:
            return _missing(f"Session {name}")
        observer, observed = query["peer_perspective"], query["peer_target"]
        found = self._best(observer, observed, query.get("search_query", ""), 25)
        summary = types.Summary(
            content=self.summary, message_id="m0", summary_type="short", created_at=_now().isoformat(), token_count=1
        )
        answer = types.SessionContextResponse(
            id=name,
            messages=[one for one in self.messages if one.session_id == name][-5:],
            summary=summary if self.summary else None,
            peer_representation="\n".join(one.content for one in found),
            peer_card=self.cards.get((observer, observed)),
        )
        return _json(answer)

    async def _chat(self, request: web.Request) -> web.Response:
        asked, peer = _checked(types.DialecticParams, request), request.match_info["peer"]
        found = self._best(peer, asked.target or peer, asked.query, 3)
        said = " ".join(one.content for one in found)
        return _json(types.DialecticResponse(content=f"({asked.reasoning_level}) {said}" if said else None))

    async def _card(self, request: web.Request) -> web.Response:
        peer = request.match_info["peer"]
        pair = peer, request.query.get("target", peer)
        if peer not in self.peers:
            return _missing(f"Peer {peer}")
        if request.method == "PUT":
            self.cards[pair] = request[BODY]["peer_card"]
        return _json(types.PeerCardResponse(peer_card=self.cards.get(pair)))

    # --- conclusions

    async def _conclude(self, request: web.Request) -> web.Response:
        asked = _checked(types.ConclusionBatchCreateParams, request)
        made = [self._keep(one.observer_id, one.observed_id, one.content, one.session_id) for one in asked.conclusions]
        return web.json_response([one.model_dump(mode="json") for one in made], status=201)

    async def _list(self, request: web.Request) -> web.Response:
        filters = _checked(types.ConclusionListParams, request).filters or {}
        found = self._of(filters["observer_id"], filters["observed_id"])
        return _page(request, found[::-1] if request.query.get("reverse") else found)

    async def _query(self, request: web.Request) -> web.Response:
        asked = _checked(types.ConclusionQueryParams, request)
        filters = asked.filters or {}
        found = self._best(filters["observer_id"], filters["observed_id"], asked.query, asked.top_k)
        return web.json_response([one.model_dump(mode="json") for one in found])

    async def _conclusion(self, request: web.Request) -> web.Response:
        found = self.conclusions.get(request.match_info["id"])
        return _json(found) if found else _missing("Conclusion")

    async def _delete(self, request: web.Request) -> web.Response:
        if self.conclusions.pop(request.match_info["id"], None) is None:
            return _missing("Conclusion")
        return web.Response(status=204)

    def _keep(self, observer: str, observed: str, content: str, session: str | None) -> types.ConclusionResponse:
        made = types.ConclusionResponse(
            id=f"c{next(self._numbers)}",
            content=content,
            observer_id=observer,
            observed_id=observed,
            session_id=session,
            created_at=_now(),
        )
        self.conclusions[made.id] = made
        return made

    def _of(self, observer: str, observed: str) -> list[types.ConclusionResponse]:
        pair = observer, observed
        return [one for one in self.conclusions.values() if (one.observer_id, one.observed_id) == pair]

    def _best(self, observer: str, observed: str, query: str, most: int) -> list[types.ConclusionResponse]:
        found = self._of(observer, observed)
        if not query:
            return found[-most:]
        scored = [(likeness(query, one.content), one) for one in found]
        return [one for score, one in sorted(scored, key=lambda pair: -pair[0]) if score > 0.1][:most]


def _checked(kind: type[M], request: web.Request) -> M:
    try:
        return kind.model_validate(request[BODY])
    except ValidationError as error:
        raise Refused(422, str(error)) from None


def _name(text: str) -> str:
    if not NAME.fullmatch(text):
        raise Refused(422, f"not a name: {text!r}")
    return text


def _json(answer: BaseModel) -> web.Response:
    return web.json_response(answer.model_dump(mode="json"))


def _missing(what: str) -> web.Response:
    return web.json_response({"detail": f"{what} not found"}, status=404)


def _page(request: web.Request, items: list[Any]) -> web.Response:
    page, size = int(request.query.get("page", "1")), int(request.query.get("size", "50"))
    shown = [one.model_dump(mode="json") for one in items[(page - 1) * size : page * size]]
    pages = -(-len(items) // size)
    return web.json_response({"items": shown, "page": page, "size": size, "total": len(items), "pages": pages})


def _now() -> datetime:
    return datetime.now(UTC)
