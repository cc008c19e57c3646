"""The port, the life of the server in our loop, and the stream of a page over a real connection."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from gateway.delivery import outbox
from gateway.errors import ConfigError, StorageError
from gateway.storage.database import Database, Job, T
from gateway.types import Part, Rendered
from gateway.web.app import create_app
from gateway.web.chat.adapter import News, address_of
from gateway.web.chat.stream import Mailbox
from gateway.web.serve import listen, serve, url_of
from gateway.web.site import Site
from tests.unit.web.conftest import OURS, Message, Office


@asynccontextmanager
async def running(site: Site) -> AsyncIterator[str]:
    """Serve at a free port; the address comes out."""
    listener = listen("127.0.0.1", 0)
    url = url_of(listener)
    async with asyncio.TaskGroup() as group:
        group.create_task(serve(create_app(site), "127.0.0.1", 0, site.stopping, listener=listener))
        yield url
        site.stopping.set()


@asynccontextmanager
async def browsing(url: str) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=url, headers=OURS, trust_env=False) as browser:
        await browser.get("/")
        yield browser


class Following:
    """A page that reads its stream."""

    def __init__(self, response: httpx2.Response) -> None:
        self._lines = response.aiter_lines()

    async def next(self) -> dict[str, Any]:
        """Return the next update, past signs of life."""
        async for line in self._lines:
            if line.startswith("data: "):
                update: dict[str, Any] = json.loads(line.removeprefix("data: "))
                return update
        raise EOFError

    async def until(self, field: str) -> Any:
        """Return the next value of a field."""
        while True:
            update = await self.next()
            if field in update:
                return update[field]


@asynccontextmanager
async def following(browser: httpx2.AsyncClient, **headers: str) -> AsyncIterator[Following]:
    async with browser.stream("GET", "/chat/events", headers=headers, timeout=30) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        yield Following(response)


# --- the port


def test_a_port_in_use_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ConfigError) as raised:
            listen("127.0.0.1", port)
    assert str(raised.value) == (
        f"web.port: 127.0.0.1:{port} is in use by another program; stop it, or choose another port in web.port"
    )


@pytest.mark.parametrize("host", ["203.0.113.77", "not a host", "x" * 300, "a..b", "\ud800"])
def test_an_address_that_is_not_ours_is_one_sentence(host: str) -> None:
    with pytest.raises(ConfigError, match=r"^web\.(host|port): "):
        listen(host, 0)


def test_a_port_is_free_again_at_once() -> None:
    first = listen("127.0.0.1", 0)
    port = first.getsockname()[1]
    with socket.create_connection(("127.0.0.1", port)):
        first.close()
    listen("127.0.0.1", port).close()


def test_the_address_of_the_page_is_one_that_a_browser_takes() -> None:
    with listen("127.0.0.1", 0) as listener:
        assert url_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}/"
    with listen("0.0.0.0", 0) as listener:
        assert url_of(listener).startswith("http://127.0.0.1:")
    if socket.has_ipv6:
        with listen("::1", 0) as listener:
            assert url_of(listener).startswith("http://[::1]:")


# --- the server in the loop


async def test_the_server_leaves_the_signals_to_the_gateway(office: Office) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    async with running(office.site) as url, browsing(url) as browser:
        assert (await browser.get("/healthz")).json() == {"status": "ok"}
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


async def test_it_opens_the_port_itself_where_nobody_has(office: Office) -> None:
    with listen("127.0.0.1", 0) as probe:
        port = probe.getsockname()[1]
    async with asyncio.TaskGroup() as group:
        group.create_task(serve(create_app(office.site), "127.0.0.1", port, office.site.stopping))
        async with httpx2.AsyncClient(trust_env=False) as browser:
            for _ in range(1000):
                try:
                    answer = await browser.get(f"http://127.0.0.1:{port}/healthz")
                    break
                except httpx2.ConnectError:
                    await asyncio.sleep(0)
        assert answer.status_code == 200
        office.site.stopping.set()


async def test_stopping_ends_open_streams_and_frees_the_port(office: Office) -> None:
    async with running(office.site) as url, browsing(url) as browser, following(browser) as page:
        await page.next()
        office.site.stopping.set()
        with pytest.raises(EOFError):
            await page.next()
    port = int(url.rstrip("/").rpartition(":")[2])
    listen("127.0.0.1", port).close()


async def test_a_server_that_is_cancelled_ends_its_streams_too(office: Office) -> None:
    listener = listen("127.0.0.1", 0)
    async with asyncio.TaskGroup() as group:
        work = group.create_task(serve(create_app(office.site), "", 0, office.site.stopping, listener=listener))
        async with browsing(url_of(listener)) as browser, following(browser) as page:
            await page.next()
            work.cancel()
            with pytest.raises(EOFError):
                await page.next()


async def test_a_request_under_way_is_answered_before_the_server_ends(office: Office) -> None:
    asked, leave = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        asked.set()
        await leave.wait()

    async with running(office.with_site(checks={"slow": slow})) as url, browsing(url) as browser:
        async with asyncio.TaskGroup() as group:
            answer = group.create_task(browser.get("/readyz"))
            await asked.wait()
            office.site.stopping.set()
            leave.set()
        assert answer.result().status_code == 200


# --- the stream


async def test_a_page_first_gets_everything_then_every_change(office: Office, message: Message) -> None:
    async with running(office.site) as url, browsing(url) as browser, following(browser) as page:
        first = await page.next()
        assert (first["whole"], first["bubbles"], first["model"], first["demo"]) == (True, [], "tiny", True)
        await browser.post("/chat/messages", json=message("hello"))
        assert [bubble["text"] for bubble in await page.until("bubbles")] == ["hello"]
        visitor = office.events[0].sender.id
        await office.chat.send(address_of(visitor), Part(Rendered("*so*", 4), "*so*"))
        assert await page.until("live") == '<p dir="auto"><em>so</em></p>\n'
        await office.answer(visitor, "done")
        update = await page.next()
        assert [bubble["html"] for bubble in update["bubbles"]] == ['<p dir="auto">done</p>\n']
        assert update["live"] == ""


async def test_a_page_that_comes_back_gets_everything_again_with_what_is_being_written(
    office: Office, message: Message
) -> None:
    async with running(office.site) as url, browsing(url) as browser:
        await browser.post("/chat/messages", json=message("hello"))
        address = address_of(office.events[0].sender.id)
        await office.database.write(lambda connection: outbox.begin_live(connection, "turn", address))
        await office.database.write(lambda connection: outbox.keep_live(connection, "turn", address, "m", "half"))
        async with following(browser, **{"last-event-id": "no id of ours"}) as page:
            first = await page.next()
    assert [bubble["text"] for bubble in first["bubbles"]] == ["hello"]
    assert first["live"] == '<p dir="auto">half</p>\n'
    assert first["working"]


async def test_two_pages_of_a_browser_stay_in_step_and_another_browser_hears_nothing(
    office: Office, message: Message
) -> None:
    async with (
        running(office.site) as url,
        browsing(url) as mine,
        browsing(url) as others,
        following(mine) as one,
        following(mine) as two,
        following(others) as third,
    ):
        for page in (one, two, third):
            await page.next()
        await mine.post("/chat/messages", json=message("mine"))
        for page in (one, two):
            assert [bubble["text"] for bubble in await page.until("bubbles")] == ["mine"]
        await others.post("/chat/messages", json=message("theirs"))
        assert [bubble["text"] for bubble in await third.until("bubbles")] == ["theirs"]


async def test_what_no_signal_announced_is_found_by_reading(office: Office, message: Message) -> None:
    async with running(office.site) as url, browsing(url) as browser:
        await browser.post("/chat/messages", json=message("hello"))
        async with following(browser) as page:
            await page.next()  # an answer is awaited, so the rows are read every few seconds
            address, part = address_of(office.events[0].sender.id), Part(Rendered("silent", 6), "silent")
            await office.database.write(lambda connection: outbox.add(connection, [outbox.Outgoing(address, part)]))
            assert "silent" in (await page.until("bubbles"))[0]["html"]


async def test_a_page_hears_that_an_answer_is_on_its_way_and_that_none_is(office: Office, message: Message) -> None:
    async with running(office.site) as url, browsing(url) as browser, following(browser) as page:
        await page.next()
        await browser.post("/chat/messages", json=message("hello"))
        await page.until("bubbles")
        await office.chat.typing(address_of(office.events[0].sender.id))
        assert await page.until("typing") is True
        await office.chat.typing(address_of(office.events[0].sender.id), on=False)
        assert await page.until("typing") is False


class Failing(Database):
    """A database that reads as long as it is allowed to."""

    def __init__(self, real: Database) -> None:
        self._real = real
        self.fails = False

    async def write(self, job: Job[T]) -> T:
        return await self._real.write(job)

    async def read(self, job: Job[T]) -> T:
        if self.fails:
            raise StorageError("the database is damaged")
        return await self._real.read(job)


async def test_where_the_conversation_cannot_be_read_the_page_hears_why(office: Office, message: Message) -> None:
    database = Failing(office.database)
    async with (
        running(office.with_site(database=database)) as url,
        browsing(url) as browser,
        following(browser) as page,
    ):
        await page.next()
        await browser.post("/chat/messages", json=message("hello"))
        await page.until("bubbles")
        database.fails = True
        await office.chat.typing(address_of(office.events[0].sender.id))  # needs no reading
        assert await page.until("typing") is True
        await office.answer(office.events[0].sender.id, "cannot be read")
        assert "the database is damaged" in await page.until("problem")
        with pytest.raises(EOFError):
            await page.next()


# --- what a slow page is told


async def test_a_slow_page_gets_the_newest_only() -> None:
    mailbox = Mailbox()
    for n in range(100):
        mailbox.put(News(live=f"text {n}"))
    mailbox.put(News(typing=True))
    assert await mailbox.take(1) == News(live="text 99", typing=True)


async def test_a_change_makes_the_text_so_far_void_and_later_text_counts() -> None:
    mailbox = Mailbox()
    mailbox.put(News(live="old"))
    mailbox.put(News(changed=True))
    mailbox.put(News(typing=False))
    assert await mailbox.take(1) == News(changed=True, typing=False)
    mailbox.put(News(changed=True))
    mailbox.put(News(live="next answer"))
    assert await mailbox.take(1) == News(live="next answer", changed=True)


async def test_where_nothing_comes_the_wait_ends() -> None:
    assert await Mailbox().take(0.01) is None
