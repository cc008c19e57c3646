"""Who may talk to the server at all. In: a request as it came off the wire. Out: the same request, or a sentence.

Loopback is not a login: any page the person has open can make their browser send requests to 127.0.0.1, a rebound name
leads there, and a proxy or tunnel brings the whole world to it. Hence, without a password, peer and Host must both be
this machine and nothing may have been forwarded; and whatever changes or streams something must come from our own page.
"""

from __future__ import annotations

import hashlib
import html
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.web.local import loopback

PAGE_HEADER = "x-hermes-page"
"""Our page sends it with every request; another origin cannot, without asking first, and is never allowed."""
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
PROXIED = frozenset({"forwarded", "via", "x-real-ip"})
PAGES = frozenset({"/", "/owner"})
OPEN_PATHS = frozenset({"/login", "/healthz", "/startupz", "/readyz"})
"""Answered without a login: they say nothing beyond a status."""
FOR_PROGRAMS = frozenset({"/metrics", "/readyz", "/version", "/openapi.json"})
"""What a program may read that sends the password along."""
PRIVATE, ASSETS = "/chat/", "/assets/"

SET_PASSWORD = (
    "This gateway has no password, so it serves only this machine, under 127.0.0.1, ::1 or localhost and without a "
    "proxy. To use it from elsewhere, write a password into a file, name it in web.admin_password_file and start again."
)
OTHER_ORIGIN = "This request does not come from the gateway's own page, so it was not carried out."
LOG_IN = "Log in first, on the page /login."

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}

_HOST = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9.-]+))(?::\d{1,5})?")


def new_token() -> str:
    """Make the secret a browser keeps: 256 random bits."""
    return secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    """Return what we keep of a browser's secret."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def from_here(scope: Scope, headers: Headers) -> bool:
    """Say whether a request was made on this machine, for this machine, and by nobody in between."""
    peer, hosts = scope.get("client"), headers.getlist("host")
    match = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
    if not peer or not match:
        return False
    return loopback(peer[0]) and loopback(match["six"] or match["name"]) and not forwarded(headers)


def forwarded(headers: Headers) -> bool:
    return any(name in PROXIED or name.startswith("x-forwarded") for name in headers)


def from_our_page(headers: Headers) -> bool:
    """Say whether a request was made by a page of this very server."""
    if (site := headers.get("sec-fetch-site")) is not None:
        return site == "same-origin"
    if (origin := headers.get("origin")) is not None:
        return origin.partition("://")[2].lower() == headers.get("host", "none").lower()
    # A browser on plain HTTP from another machine sends neither with a GET.
    return PAGE_HEADER in headers


def encrypted(scope: Scope, headers: Headers) -> bool:
    """Say whether the browser speaks TLS, with us or with the proxy in front of us."""
    return scope["scheme"] == "https" or headers.get("x-forwarded-proto", "").lower() == "https"


@dataclass(frozen=True, slots=True)
class Cookie:
    """A cookie of this server. Browsers share cookies between all ports of a host, so its name holds ours."""

    name: str
    days: int

    def read(self, request: Request) -> str:
        return request.cookies.get(self.name, "")

    def write(self, request: Request, response: Response, value: str) -> None:
        response.set_cookie(
            self.name,
            value,
            max_age=self.days * 86_400,
            httponly=True,
            samesite="strict",
            secure=encrypted(request.scope, request.headers),
        )


def refusal(scope: Scope, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    """Say no, in the form the asker can show."""
    if "text/html" in Headers(scope=scope).get("accept", ""):
        return PlainTextResponse(sentence, status, headers)
    return JSONResponse({"error": sentence}, status, headers)


@dataclass(frozen=True, slots=True)
class Login:
    """How the password is asked for: has a browser given it, and what does a program hear that sends a wrong one."""

    known: Callable[[Request], bool]
    refuse_program: Callable[[Request], Response | None]


class Guard:
    """
    Lets through what may be served, and puts the security headers on every answer.

    `exempt` says of a scope that it goes to an adapter's hook, which proves its caller by a signature of its own.
    `login` is None where there is no password. Whether the asker is trusted is left in ``request.state.trusted``.
    """

    def __init__(self, app: ASGIApp, *, exempt: Callable[[Scope], bool], login: Login | None) -> None:
        self._app, self._exempt, self._login = app, exempt, login

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._exempt(scope):
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        answer = self._refuse(scope)
        await (answer or self._app)(scope, receive, with_headers)

    def _refuse(self, scope: Scope) -> Response | None:
        headers, path = Headers(scope=scope), scope["path"]
        if self._login is None and not from_here(scope, headers):
            return refusal(scope, 403, SET_PASSWORD)
        if path in PAGES and headers.get("sec-fetch-site") in {"cross-site", "same-site"}:
            return _ask_again(scope)
        Request(scope).state.trusted = self._login is None
        if self._login is not None and (answer := self._ask(self._login, scope, headers)) is not None:
            return answer
        if (scope["method"] not in SAFE or path.startswith(PRIVATE)) and not from_our_page(headers):
            return refusal(scope, 403, OTHER_ORIGIN)
        return None

    def _ask(self, login: Login, scope: Scope, headers: Headers) -> Response | None:
        """Return what is said to somebody who has not given the password; on an open path nobody need."""
        request, path = Request(scope), scope["path"]
        trusted = login.known(request)
        if not trusted and path in FOR_PROGRAMS and "authorization" in headers:
            if (answer := login.refuse_program(request)) is not None:
                return answer
            trusted = True
        request.state.trusted = trusted
        return None if trusted or _open(path) else _to_login(scope)


def _open(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith(ASSETS)


def _query(scope: Scope) -> str:
    return str(scope["query_string"].decode("latin-1"))


def _ask_again(scope: Scope) -> Response:
    """
    Answer a link on another site: the browser kept our cookies back, and a new one would replace them.

    Once our own page asks they are sent. It asks by itself, unless it has before; then the person may.
    """
    query = _query(scope)
    again = "" if query.endswith("&again") else '<meta http-equiv="refresh" content="0;url={url}">'
    page = f'<!doctype html><meta charset="utf-8"><title>Hermes</title>{again}<p><a href="{{url}}">Open the chat</a>'
    return HTMLResponse(page.format(url=html.escape(f"{scope['path']}?{query.removesuffix('&again')}&again")))


def _to_login(scope: Scope) -> Response:
    if scope["path"] == "/owner":  # the login page goes on with the link; what stands behind # stays in the browser
        return RedirectResponse(f"/login#{_query(scope)}", 303)
    return RedirectResponse("/login", 303) if scope["path"] == "/" else refusal(scope, 401, LOG_IN)
