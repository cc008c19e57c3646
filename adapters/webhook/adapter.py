"""The adapter of all routes: each call that proves itself becomes an `Event`; answers to it are kept, not sent."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final

from adapters.webhook import request, template
from adapters.webhook.deliver import addresses
from adapters.webhook.rate import Allowance
from adapters.webhook.request import Delivery, Receive, Scope
from adapters.webhook.settings import Open, Route, Settings
from adapters.webhook.signature import Forged, Proof, verify
from gateway.contracts.adapter import Adapter, AsgiApp, Emit, Follow, Limits
from gateway.errors import GatewayError
from gateway.types import Address, ChatType, Event, Part, Receipt, Sender

log = logging.getLogger(__name__)

Send = Callable[[Any], Awaitable[None]]
Say = Callable[[Scope, Receive], Awaitable["Answer"]]

PATH: Final = "/hooks/{route}"
RUN_PATH: Final = "/hooks/{route}/{run}"
SESSION_CHARS: Final = 200
RETRY_SECONDS: Final = 5
EMPTY: Final = "With this payload the route's prompt is empty, so there is nothing to do: see what the prompt names."
NO_RUN: Final = "There is no such run of this route: ask for the one that the answer to your call named."

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

    def hooks(self, follow: Follow) -> Mapping[str, AsgiApp]:
        return {
            PATH: partial(self._serve, self._taken),
            RUN_PATH: partial(self._serve, partial(self._told, follow)),
        }

    async def _serve(self, say: Say, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call (ASGI)."""
        try:
            answer = await say(scope, receive)
        except Answer as refusal:
            answer = refusal
        except request.Gone:
            return
        body = json.dumps(answer.body).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body)), "cache-control": "no-store"}
        headers |= answer.headers
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
        is_new = await self._give(self._event(name, route, payload, event, delivery))
        return Answer(202, {"run": delivery.id} if is_new else {"run": delivery.id, "duplicate": True})

    async def _told(self, follow: Follow, scope: Scope, _: Receive) -> Answer:
        """Say what became of a call that was taken, to whoever could have made it; or raise it."""
        name, route = self._route(scope)
        if scope["method"] != "GET":
            raise refused(405, "Ask for a run with GET.", allow="GET")
        id = scope["path_params"]["run"]
        # Over the name of the run: a signature of an empty body would be the same for every run, for ever.
        self._proof(route, scope, request.headers_of(scope), f"{name}/{id}".encode(errors="replace"))
        try:
            run = await follow(f"{name}:{id}")
        except GatewayError as error:
            log.error("a run of route %s could not be read: %s", name, error)
            raise refused(503, "The run could not be read; ask again.", retry_after=str(RETRY_SECONDS)) from None
        if run is None:
            raise refused(404, NO_RUN)
        problem = {"problem": run.problem} if run.problem else {}
        return Answer(200, {"run": id, "state": run.state, "answer": run.answer, **problem})

    def _route(self, scope: Scope) -> tuple[str, Route]:
        name = scope["path_params"]["route"]
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

    def _proof(self, route: Route, scope: Scope, headers: Mapping[str, str], body: bytes) -> Proof:
        """Check that a call's maker has proven who it is."""
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
        text = template.fill(route.prompt, payload, event, route.value_chars)
        if empty := template.missing(route.prompt, payload):
            log.info("a call of the route %s has nothing for {%s}", name, "}, {".join(empty))
        if not text.strip():
            raise refused(422, EMPTY)
        origin = Address(
            platform=self._platform, account=self._account, chat=name, thread=_session(route, payload, event, delivery)
        )
        return Event(
            id=f"{name}:{delivery.id}",
            origin=origin,
            sender=Sender(name, name),
            text=text,
            chat_type=ChatType.WEBHOOK,
            deliver=tuple(place or origin for place in addresses(route.deliver)),
        )

    async def _give(self, event: Event) -> bool:
        """Return once the event is safe, and whether it is new; if it is not safe, the caller is to call again."""
        emit = self._emit
        if emit is None:
            raise refused(503, "This gateway is not taking calls right now.", retry_after=str(RETRY_SECONDS))
        try:
            return await emit(event)
        except GatewayError as error:
            log.error("a call of route %s could not be kept: %s", event.origin.chat, error)
            raise refused(503, "The call could not be kept; call again.", retry_after=str(RETRY_SECONDS)) from None


def _session(route: Route, payload: Any, event: str, delivery: Delivery) -> str:
    """Return the thread, which is what tells conversations of a route apart."""
    if route.session in {"delivery", "route"}:
        return delivery.label if route.session == "delivery" else ""
    return template.name(route.session, payload, event, SESSION_CHARS) or delivery.label


def _is_handshake(route: Route, payload: Any) -> bool:
    """Say whether Slack asks if we are there."""
    return (
        route.auth.scheme == "slack"
        and isinstance(payload, dict)
        and payload.get("type") == "url_verification"
        and isinstance(payload.get("challenge"), str)
    )
