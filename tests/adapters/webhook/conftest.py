"""A caller that speaks ASGI to the adapter's hook, and bodies as the services send them."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from adapters.webhook import Settings, create
from gateway.contracts.adapter import Adapter, Run
from gateway.errors import GatewayError
from gateway.types import Event
from tests.adapters.conformance import Heard, listening

SECRET = "It's a Secret to Everybody"
HOME: Mapping[str, str] = {"host": "127.0.0.1:8642"}
PEER = ("127.0.0.1", 50_000)


@dataclass(frozen=True)
class Answer:
    status: int
    body: dict[str, Any]
    headers: dict[str, str]
    chunks_read: int


@dataclass
class Caller:
    """Calls the hook of an adapter."""

    adapter: Adapter
    heard: Heard = field(default_factory=Heard)
    runs: dict[str, Run | GatewayError] = field(default_factory=dict)
    """What became of the events, by id."""

    async def call(
        self,
        route: str,
        body: bytes | list[bytes] = b"{}",
        headers: Mapping[str, str] | list[tuple[str, str]] = HOME,
        *,
        method: str = "POST",
        run: str = "",
        peer: tuple[str, int] | None = PEER,
    ) -> Answer:
        app = self.adapter.hooks(self._follow)["/hooks/{route}/{run}" if run else "/hooks/{route}"]
        given = headers.items() if isinstance(headers, Mapping) else headers
        chunks = [body] if isinstance(body, bytes) else list(body)
        read = 0
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            nonlocal read
            if read == len(chunks):
                return {"type": "http.disconnect"}
            read += 1
            return {"type": "http.request", "body": chunks[read - 1], "more_body": read < len(chunks)}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": method,
            "path": f"/hooks/{route}/{run}" if run else f"/hooks/{route}",
            "path_params": {"route": route} | ({"run": run} if run else {}),
            "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in given],
            "client": peer,
        }
        await app(scope, receive, send)
        start, content = sent
        answered = {name.decode(): value.decode() for name, value in start["headers"]}
        assert int(answered["content-length"]) == len(content["body"])
        return Answer(start["status"], json.loads(content["body"]), answered, read)

    async def ask(self, route: str, run: str, headers: Mapping[str, str], **more: Any) -> Answer:
        """Ask what became of a call."""
        return await self.call(route, b"", headers, method="GET", run=run, **more)

    async def _follow(self, id: str) -> Run | None:
        found = self.runs.get(id)
        if isinstance(found, GatewayError):
            raise found
        return found

    async def heard_one(self) -> Event:
        assert self.heard.events.qsize() == 1
        return await self.heard.next()


def settings(**routes: dict[str, Any]) -> Settings:
    return Settings.model_validate({"routes": {name.replace("_", "-"): route for name, route in routes.items()}})


@asynccontextmanager
async def serving(made: Settings) -> AsyncIterator[Caller]:
    """Serve these routes while the block runs."""
    async with create("webhook", "", made) as adapter, listening(adapter) as heard:
        await asyncio.sleep(0)
        yield Caller(adapter, heard)


def github(body: bytes, secret: str = SECRET, **more: str) -> dict[str, str]:
    signature = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {"X-Hub-Signature-256": signature, "X-GitHub-Event": "issues"} | more
