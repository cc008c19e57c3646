"""The application: a `Site` in, everything it serves out, behind the guard."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from gateway.contracts.adapter import AsgiApp
from gateway.errors import AdapterError, GatewayError, StorageError
from gateway.web.chat.assets import Asset
from gateway.web.chat.routes import chat_router
from gateway.web.door import OwnerLink, login_router, owner_router
from gateway.web.health import health_router
from gateway.web.login import Guesses, Password, Programs
from gateway.web.security import ASSETS, Guard, Login, refusal
from gateway.web.site import Site

FILES = ("chat.css", "chat.js", "login.js", "icon.svg")
NOT_SAVED = "This could not be saved, so nothing was sent: "


def create_app(site: Site) -> FastAPI:
    """Make the ASGI application of a gateway."""
    app = FastAPI(
        title="hermes-gateway", version=site.version, docs_url=None, redoc_url=None, exception_handlers=_HANDLERS
    )
    app.state.site = site
    hooks = [Route(path, Hook(hook), include_in_schema=False) for path, hook in site.hooks.items()]
    app.router.routes.extend(hooks)
    for name in FILES:
        app.add_api_route(ASSETS + name, Asset(name).cached, include_in_schema=False)
    app.include_router(health_router())
    if site.chat is not None:
        app.include_router(chat_router())
        app.include_router(owner_router(OwnerLink(site.owner_token)))
    login: Login | None = None
    if site.password:
        password, guesses = Password(site.password), Guesses()
        app.include_router(login_router(password, guesses))
        login = Login(_login_check(site, password), Programs(site.password, guesses).refuse)
    app.add_middleware(Guard, exempt=_is_hook(hooks), login=login)
    return app


class Hook:
    """An adapter's application at its path; a plain function would be taken for a view."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def _is_hook(hooks: list[Route]) -> Callable[[Scope], bool]:
    return lambda scope: any(route.matches(scope)[0] is Match.FULL for route in hooks)


def _login_check(site: Site, password: Password) -> Callable[[Request], bool]:
    def logged_in(request: Request) -> bool:
        return password.proven(site.browser_cookie.read(request), site.login_cookie.read(request))

    return logged_in


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = refusal(request.scope, error.status_code, str(error.detail))
    response.headers.update(error.headers or {})
    return response


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    places = sorted({".".join(str(part) for part in each["loc"]) for each in error.errors()})
    return refusal(request.scope, 422, f"This request is not as expected: {', '.join(places)}.")


async def _failed(_: Request, error: Exception) -> Response:
    sentence = f"{NOT_SAVED}{error}" if isinstance(error, StorageError) else str(error)
    known = isinstance(error, StorageError | AdapterError)
    return JSONResponse({"error": sentence}, 503 if known else 500)


_HANDLERS: dict[int | type[Exception], Callable[[Request, Any], Coroutine[Any, Any, Response]]] = {
    HTTPException: _http,
    RequestValidationError: _invalid,
    GatewayError: _failed,
}
