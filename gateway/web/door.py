"""The two ways to become somebody: the password, and the link with a token that makes a browser the owner's."""

from __future__ import annotations

import asyncio
import hmac
import math
from typing import Annotated

from fastapi import APIRouter, Body, HTTPException, Query, Request, Response
from fastapi.responses import RedirectResponse

from gateway.access import people
from gateway.access.people import Visitor
from gateway.errors import StorageError
from gateway.web.chat.assets import Asset
from gateway.web.login import TOO_MANY, WRONG, Guesses, Password, peer_of
from gateway.web.security import new_token, token_hash
from gateway.web.site import Here, Site

STALE_LINK = "This link has been used or is not of this gateway; it is printed anew at each start."


class OwnerLink:
    """The token that works once."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    def take(self, given: str) -> bool:
        """Say whether this is the token; it is spent then."""
        right = bool(self._token) and hmac.compare_digest(self._token, given.encode("utf-8", "replace"))
        if right:
            self._token = b""
        return right

    def give_back(self, token: str) -> None:
        """Let a token be used after all that could not be honoured."""
        self._token = token.encode()


def owner_router(link: OwnerLink) -> APIRouter:
    """Make the route of the owner's link."""
    router = APIRouter(include_in_schema=False)

    @router.get("/owner")
    async def become_owner(request: Request, site: Here, token: Annotated[str, Query(max_length=256)] = "") -> Response:
        if not link.take(token):
            raise HTTPException(403, STALE_LINK)
        response = RedirectResponse("/", 303)
        try:
            visitor = await _met(request, response, site)
            before = await site.database.write(lambda connection: people.make_owner(connection, visitor.id))
        except StorageError:
            link.give_back(token)
            raise
        if before and site.joined is not None:
            await site.joined(before)
        return response

    return router


def login_router(password: Password, guesses: Guesses) -> APIRouter:
    """Make the routes of the password."""
    router, page = APIRouter(include_in_schema=False), Asset("login.html")
    one_at_a_time = asyncio.Lock()

    @router.get("/login")
    async def show_login() -> Response:
        return page.response()

    @router.post("/login", max_body_size=8192)
    async def log_in(
        request: Request, site: Here, given: Annotated[str, Body(embed=True, max_length=1024)]
    ) -> Response:
        peer = peer_of(request)
        if wait := math.ceil(guesses.wait(peer)):
            headers = {"retry-after": str(wait)}
            raise HTTPException(429, TOO_MANY.format(wait=wait), headers)
        async with one_at_a_time:
            right = await asyncio.to_thread(password.matches, given)
        if not right:
            guesses.failed(peer)
            raise HTTPException(403, WRONG)
        guesses.succeeded(peer)
        response = Response(status_code=204)
        token = await _token(request, response, site)
        site.login_cookie.write(request, response, password.prove(token))
        return response

    return router


async def _token(request: Request, response: Response, site: Site) -> str:
    """Return the secret of the browser, a new one where it has none that we know."""
    if await site.visitor(request) is not None:
        return site.browser_cookie.read(request)
    token = new_token()
    await site.database.write(lambda connection: people.welcome(connection, token_hash(token)))
    site.browser_cookie.write(request, response, token)
    return token


async def _met(request: Request, response: Response, site: Site) -> Visitor:
    """Return the browser a request is from; one we do not know is made known."""
    token = await _token(request, response, site)
    visitor = await site.database.read(lambda connection: people.visitor(connection, token_hash(token)))
    assert visitor is not None
    return visitor
