"""What the server is made of: everything it serves is here, and nothing is looked up elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, HTTPException, Request

from gateway.access import people
from gateway.access.people import Visitor
from gateway.contracts.adapter import AsgiApp
from gateway.contracts.bus import Hints
from gateway.metrics import Metrics
from gateway.sessions.keys import private_key
from gateway.storage.database import Database
from gateway.types import SessionKey
from gateway.web.chat.adapter import WebChat, address_of
from gateway.web.security import Cookie, token_hash
from gateway.web.settings import WebSettings

Check = Callable[[], Awaitable[None]]
"""Raises a `GatewayError` that says what is not ready."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """
    The parts of the server.

    `password` is empty where there is none (`gateway.web.settings.read_password`). `lane` returns the key of a
    browser's conversation, `model` the name of the model that speaks with it and whether it is the small offline one.
    `hooks` are the adapters' applications by path; a path may hold ``{parameters}``. `checks` decide whether we are
    ready. `draining` says that nothing new is taken; `stopping` ends the streams. `owner_token` is the secret of the
    link that makes a browser the owner's; empty: there is none. `joined` hears which person the owner was there before.
    """

    settings: WebSettings
    database: Database
    hints: Hints
    metrics: Metrics
    stopping: asyncio.Event
    version: str
    commit: str = ""
    password: str = ""
    owner_token: str = ""
    joined: Callable[[str], Awaitable[None]] | None = None
    lane: Callable[[str], SessionKey] = lambda visitor: private_key(address_of(visitor))
    model: Callable[[str], tuple[str, bool]]
    chat: WebChat | None = None
    hooks: Mapping[str, AsgiApp] = field(default_factory=dict)
    checks: Mapping[str, Check] = field(default_factory=dict)
    check_seconds: float = 2.0
    started: Callable[[], bool] = lambda: True
    draining: Callable[[], bool] = lambda: False

    @property
    def browser_cookie(self) -> Cookie:
        """Hold the secret by which we know a browser."""
        return Cookie(f"hermes_{self.settings.port}", days=400)

    @property
    def login_cookie(self) -> Cookie:
        """Hold the proof that a browser has given the password."""
        return Cookie(f"hermes_login_{self.settings.port}", days=30)

    async def visitor(self, request: Request) -> Visitor | None:
        """Return the browser a request is from, if we know it."""
        token = self.browser_cookie.read(request)
        if not token:
            return None
        return await self.database.read(lambda connection: people.visitor(connection, token_hash(token)))


def _site(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


Here = Annotated[Site, Depends(_site)]


async def _known(request: Request, site: Here) -> Visitor:
    visitor = await site.visitor(request)
    if visitor is None:
        raise HTTPException(401, "The gateway does not know this browser yet; reload the page.")
    return visitor


Known = Annotated[Visitor, Depends(_known)]
"""The browser that asks; one without our cookie is sent back to the page."""
