"""The adapter of all routes: each call that proves itself becomes an `Event`; answers to it are kept, not sent."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from adapters.webhook import request, template
from adapters.webhook.deliver import addresses
from adapters.webhook.rate import Allowance
from adapters.webhook.request import Delivery, Receive, Scope
from adapters.webhook.settings import Open, Route, Settings
from adapters.webhook.signature import Forged, verify
from gateway.contracts.adapter import Adapter, AsgiApp, Emit, Limits
from gateway.errors import GatewayError
from gateway.types import Address, ChatType, Event, Part, Receipt, Sender

log = logging.getLogger(__name__)

Send = Callable[[Any], Awaitable[None]]

PATH: Final = "/hooks/{route}"
SESSION_CHARS: Final = 200
RETRY_SECONDS: Final = 5

LIMITS: Final = Limits(
    text=65_536,
    edits=False,
    per_chat=10_000.0,
    per_account=10_000.0,
    threads=True,
    idempotent=True,
    hint=(
        "This was started by a webhook: no person is present, so ask nothing back. What you say at the end is "
        "delivered as it stands, and a program may read it. Use plain Markdown and no greeting."
    ),
)


class Answer(Exception):
    """What the caller hears; raised as soon as it is certain."""

    def __init__(self, status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status)
        self.status, self.body, self.headers = status, body, headers or {}


def refused(status: int, sentence: str, **headers: str) -> Answer:
    return Answer(status, {"error": sentence}, {name.replace("_", "-"): value for name, value in headers.items()})


class WebhookAdapter(Adapter):
    """Holds the routes. Calls are taken only in the process that listens."""

    limits = LIMITS

    lone = False

    def __init__(self, name: str, account: str, settings: Settings) -> None:
        self.name = name
        self._platform = name.partition("@")[0]
        self._account = account
        self._settings = settings
        self._emit: Emit | None = None
        self._allowances = {
            route: Allowance(*allowance)
            for route, each in settings.routes.items()
            if (allowance := each.allowance) is not None
        }

    async def listen(self, emit: Emit) -> None:
        """Take calls until cancelled; they come in through `hooks`."""
        self._emit = emit
        try:
            await asyncio.Event().wait()
        finally:
            self._emit = None

    async def send(self, target: Address, part: Part) -> Receipt:
        """Say that it is delivered: the row it comes from is where the caller reads it."""
        return Receipt(target, part.key or "kept")

    def hooks(self) -> Mapping[str, AsgiApp]:
        return {PATH: self._serve}

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call (ASGI)."""
        try:
            answer = await self._taken(scope, receive)
        except Answer as refusal:
            answer = refusal
        except request.Gone:
            return
        body = json.dumps(answer.body).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body)), **answer.headers}
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": encoded})
        await send({"type": "http.response.body", "body": body})

    async def _taken(self, scope: Scope, receive: Receive) -> Answer:
        """Take a call and return what to say, or raise it."""
        name, route = self._route(scope)
        if scope["method"] != "POST":
            raise refused(405, "Call this address with POST.", allow="POST")
        if self._emit is None:
            raise refused(503, "This gateway is not taking calls right now.", retry_after=str(RETRY_SECONDS))
        headers = request.headers_of(scope)
        body = await self._body(receive, headers)
        proof = self._proof(route, scope, headers, body)
        try:
            payload = request.payload_of(body, headers.get("content-type", ""))
        except request.NotData as error:
            raise refused(400, str(error)) from None
        if _is_handshake(route, payload):
            return Answer(200, {"challenge": payload["challenge"]})
        event = request.event_of(headers, payload)
        if not request.is_wanted(event, route.events):
            return Answer(200, {"ignored": event})
        self._allow(name)
        delivery = request.delivery_of(route.auth.scheme, headers, body, payload, proof)
        await self._give(self._event(name, route, payload, event, delivery))
        return Answer(202, {"run": delivery.id})

    def _route(self, scope: Scope) -> tuple[str, Route]:
        name = scope.get("path_params", {}).get("route") or scope["path"].rpartition("/")[2]
        route = self._settings.routes.get(name)
        if route is None:
            raise refused(404, "There is no such route.")
        return name, route

    async def _body(self, receive: Receive, headers: Mapping[str, str]) -> bytes:
        limit = self._settings.max_body_bytes
        try:
            return await request.read_body(receive, headers, limit)
        except request.TooLarge:
            raise refused(413, f"The body is larger than {limit} bytes.", connection="close") from None

    def _proof(self, route: Route, scope: Scope, headers: Mapping[str, str], body: bytes) -> Any:
        if isinstance(route.auth, Open) and not request.is_from_here(scope, headers):
            raise refused(403, "This route has no secret, so it only takes calls of programs on this machine.")
        try:
            return verify(route.auth, headers, body, time.time())
        except Forged as error:
            raise refused(401, str(error)) from None

    def _allow(self, name: str) -> None:
        allowance = self._allowances.get(name)
        wait = allowance.take(time.monotonic()) if allowance else 0.0
        if wait > 0:
            raise refused(429, "This route takes no more calls for now.", retry_after=str(math.ceil(wait)))

    def _event(self, name: str, route: Route, payload: Any, event: str, delivery: Delivery) -> Event:
        origin = Address(
            platform=self._platform, account=self._account, chat=name, thread=_session(route, payload, event, delivery)
        )
        return Event(
            id=f"{name}:{delivery.id}",
            origin=origin,
            sender=Sender(name, name),
            text=template.fill(route.prompt, payload, event, route.value_chars),
            chat_type=ChatType.WEBHOOK,
            deliver=tuple(place or origin for place in addresses(route.deliver)),
        )

    async def _give(self, event: Event) -> None:
        """Return once the event is safe; if it is not, the caller is to call again."""
        emit = self._emit
        if emit is None:
            raise refused(503, "This gateway is not taking calls right now.", retry_after=str(RETRY_SECONDS))
        try:
            await emit(event)
        except GatewayError as error:
            log.error("a call of route %s could not be kept: %s", event.origin.chat, error)
            raise refused(503, "The call could not be kept; call again.", retry_after=str(RETRY_SECONDS)) from None


def _session(route: Route, payload: Any, event: str, delivery: Delivery) -> str:
    """Return the thread, which is what tells conversations of a route apart."""
    if route.session in {"delivery", "route"}:
        return delivery.label if route.session == "delivery" else ""
    return template.plain(route.session, payload, event, SESSION_CHARS)[:SESSION_CHARS] or delivery.label


def _is_handshake(route: Route, payload: Any) -> bool:
    """Say whether Slack asks if we are there."""
    return (
        route.auth.scheme == "slack"
        and isinstance(payload, dict)
        and payload.get("type") == "url_verification"
        and isinstance(payload.get("challenge"), str)
    )
