"""A server over a real database, asked in the process: who is asking, and from where, is up to the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx2
import pytest

from gateway.bus import lanes
from gateway.bus.memory import MemoryHints
from gateway.delivery import outbox
from gateway.delivery.outbox import Outgoing
from gateway.metrics import Metrics
from gateway.sessions.keys import private_key
from gateway.storage import open_database
from gateway.storage.database import Database
from gateway.types import Event, Part, Rendered, Role
from gateway.web.app import create_app
from gateway.web.chat.adapter import WebChat, address_of
from gateway.web.settings import WebSettings
from gateway.web.site import Site

HERE = "127.0.0.1"
ORIGIN = f"http://{HERE}:8642"
OURS = {"sec-fetch-site": "same-origin"}


@dataclass
class Office:
    """The rooms behind the page, as small as they can be: what comes in is kept, and nobody answers by himself."""

    database: Database
    hints: MemoryHints
    chat: WebChat
    site: Site
    events: list[Event] = field(default_factory=list)

    async def accept(self, event: Event) -> bool:
        key = private_key(event.origin)
        put = await self.database.write(
            lambda connection: lanes.put(connection, key, event.id, event, Role.MEMBER, command=False, limit=1000)
        )
        self.events.append(event)
        return put.id is not None

    async def answer(self, visitor: str, markdown: str) -> None:
        """Store an answer and deliver it."""
        address, part = address_of(visitor), Part(Rendered(markdown, len(markdown)), markdown)
        await self.database.write(lambda connection: outbox.add(connection, [Outgoing(address, part)]))
        await self.chat.send(address, replace(part, key="hg-1"))

    def with_site(self, **changes: object) -> Site:
        return replace(self.site, **changes)  # type: ignore[arg-type]

    def browser(self, site: Site | None = None, **options: object) -> httpx2.AsyncClient:
        return client(site or self.site, **options)  # type: ignore[arg-type]


def client(
    site: Site, *, origin: str = ORIGIN, peer: str = HERE, headers: Mapping[str, str] = OURS
) -> httpx2.AsyncClient:
    """Return a browser with cookies of its own."""
    transport = httpx2.ASGITransport(create_app(site), client=(peer, 50_000))
    return httpx2.AsyncClient(transport=transport, base_url=origin, headers=dict(headers))


@asynccontextmanager
async def open_office(home: Path) -> AsyncIterator[Office]:
    hints = MemoryHints()
    chat = WebChat(lambda: hints)
    async with open_database("sqlite:///state.db", home) as database, asyncio.TaskGroup() as group:
        site = Site(
            settings=WebSettings(),
            database=database,
            hints=hints,
            metrics=Metrics(),
            stopping=asyncio.Event(),
            version="1.2.3",
            commit="abc",
            owner_token="once-only",
            model=lambda _: ("tiny", True),
            chat=chat,
        )
        office = Office(database, hints, chat, site)
        listening = group.create_task(chat.listen(office.accept))
        await asyncio.sleep(0)
        yield office
        listening.cancel()


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with open_office(tmp_path) as office:
        yield office


@pytest.fixture
async def browser(office: Office) -> AsyncIterator[httpx2.AsyncClient]:
    """A browser that has opened the page."""
    async with office.browser() as browser:
        assert (await browser.get("/")).status_code == 200
        yield browser


Message = Callable[[str], dict[str, str]]


@pytest.fixture
def message() -> Message:
    """Make the body of a message, with a new id each time."""
    count = iter(range(10_000))
    return lambda text: {"id": f"message-{next(count):04}", "text": text}
