"""
What the fakes of memory services have in common: a server on loopback that keeps all requests, and fails on demand.

In a test::

    async with Mem0Server() as server:
        server.fault("busy", retry_after=2, times=2)   # the next two requests
        ...                                            # server.url, server.key
        assert server.requests[-1].body["filters"] == {"user_id": "person:ann"}
        assert server.violations == []                 # what a strict service would have refused

Faults: ``unauthorized`` (401), ``busy`` (429), ``error`` (500), ``down`` (503), ``status`` with ``status=`` and
``detail=``, ``garbage`` (a page of HTML), ``other`` (JSON of something else), ``cut`` (the connection), ``stall`` (no
answer before the end of the test).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import orjson
from aiohttp import web

KEY = "fake-memory-key-0123456789"
BODY: web.RequestKey[Mapping[str, Any]] = web.RequestKey("body", Mapping)
"""The JSON of a request, for the handlers."""
STATUSES = {"unauthorized": 401, "busy": 429, "error": 500, "down": 503, "status": 400}


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came; `body` is empty where there was none."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Refused(Exception):
    """The service answers with this status instead."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


def likeness(query: str, text: str) -> float:
    """Say how much of the query stands in the text, by pairs of characters: for any script, and good enough."""
    asked, told = _pairs(query), _pairs(text)
    return len(asked & told) / len(asked) if asked else 0.0


def _pairs(text: str) -> set[str]:
    letters = "".join(text.lower().split())
    return {letters[place : place + 2] for place in range(len(letters) - 1)}


class MemoryService:
    """Started by ``async with``. A subclass adds its routes to `router` and says whether a request has the key."""

    def __init__(self, *, key: str = KEY) -> None:
        self.key = key
        self.url = ""
        self.requests: list[Asked] = []
        self.violations: list[str] = []
        self._faults: deque[dict[str, Any]] = deque()
        self._over = asyncio.Event()
        self._app = web.Application(middlewares=[self._serve], client_max_size=16 * 1024 * 1024)
        self.router = self._app.router
        self._runner = web.AppRunner(self._app, access_log=None, shutdown_timeout=0.2, handler_cancellation=True)

    def allowed(self, request: web.Request) -> bool:
        raise NotImplementedError

    def fault(self, kind: str, *, times: int = 1, **details: Any) -> None:
        """Let the next requests fail."""
        self._faults.extend({"kind": kind} | details for _ in range(times))

    @web.middleware
    async def _serve(self, request: web.Request, handler: Any) -> web.StreamResponse:
        raw = await request.read()
        body: Mapping[str, Any] = orjson.loads(raw) if raw else {}
        self.requests.append(Asked(request.method, request.path, dict(request.query), dict(request.headers), body))
        if self._faults:
            return await self._fail(request, self._faults.popleft())
        if not self.allowed(request):
            return web.json_response({"detail": "Invalid API key"}, status=401)
        if b"\\u0000" in raw or b"\0" in raw:
            self.violations.append(f"{request.method} {request.path}: NUL")
            return web.json_response({"detail": "the database takes no NUL"}, status=500)
        request[BODY] = body
        try:
            response: web.StreamResponse = await handler(request)
        except Refused as refused:
            self.violations.append(f"{request.method} {request.path}: {refused.detail}")
            return web.json_response({"detail": refused.detail}, status=refused.status)
        return response

    async def _fail(self, request: web.Request, fault: Mapping[str, Any]) -> web.StreamResponse:
        match fault["kind"]:
            case "garbage":
                return web.Response(text="<!doctype html><title>Welcome</title>", content_type="text/html")
            case "other":
                return web.json_response("pong")
            case "cut":
                assert request.transport is not None
                request.transport.abort()
                return web.Response()
            case "stall":
                await self._over.wait()
                return web.Response()
        headers = {"Retry-After": str(fault["retry_after"])} if "retry_after" in fault else {}
        detail = {"detail": fault.get("detail", "no")}
        return web.json_response(detail, status=fault.get("status", STATUSES[fault["kind"]]), headers=headers)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        await self._runner.cleanup()
