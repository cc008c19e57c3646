"""Server-sent events of one page: what its conversation holds, then every change, until the page or we are gone.

Signals only wake: what they announce is read from the database, and it is read from time to time without any.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from fastapi import Response
from starlette.types import Receive, Scope, Send

from gateway.errors import StorageError
from gateway.web.chat import conversation
from gateway.web.chat.adapter import News, topic_of
from gateway.web.chat.conversation import Conversation, Update
from gateway.web.site import Site

BUSY_SECONDS, IDLE_SECONDS = 2.0, 15.0
"""How often the rows are read without a signal, while an answer is awaited and otherwise."""
KEEP_ALIVE = b": still here\n\n"

Say = Callable[[bytes], Awaitable[None]]


class Mailbox:
    """What a page has not been told yet, the newest only: a slow page skips what is out of date."""

    def __init__(self) -> None:
        self._news = News()
        self._arrived = asyncio.Event()

    def put(self, news: News) -> None:
        """Add news; a change of the conversation makes the text so far void."""
        before = self._news
        self._news = News(
            live=news.live if news.live is not None or news.changed else before.live,
            typing=before.typing if news.typing is None else news.typing,
            changed=before.changed or news.changed,
            status=news.status or before.status,
        )
        self._arrived.set()

    async def take(self, seconds: float) -> News | None:
        """Return the news, waiting so long for some; None where there were none."""
        try:
            async with asyncio.timeout(seconds):
                await self._arrived.wait()
        except TimeoutError:
            return None
        news, self._news = self._news, News()
        self._arrived.clear()
        return news


class Page:
    """One page that looks on: what it shows, so that it is told only what is new."""

    def __init__(self, site: Site, visitor: str, say: Say) -> None:
        self._site, self._visitor, self._say = site, visitor, say
        self._shown = Conversation()
        self._live: str | None = None

    async def follow(self) -> None:
        """Tell the page everything, then whatever changes, until cancelled."""
        mailbox = Mailbox()
        async with self._site.hints.signals(topic_of(self._visitor)) as signals, asyncio.TaskGroup() as group:
            group.create_task(_collect(signals, mailbox))
            await self._begin()
            while True:
                await self._tell(await mailbox.take(BUSY_SECONDS if self._shown.working else IDLE_SECONDS))

    async def _begin(self) -> None:
        self._shown = await self._read()
        self._live = self._shown.live
        await self._send(await conversation.whole(self._shown, self._site.model(self._visitor)))

    async def _read(self) -> Conversation:
        return await conversation.read(self._site.database, self._visitor, self._site.lane(self._visitor))

    async def _tell(self, news: News | None) -> None:
        update, live = Update(), self._live
        if news is None or news.changed:
            now = await self._read()
            update, live = await conversation.changes(self._shown, now), now.live
            self._shown = now
        if news and news.live is not None:
            live = news.live
        if live != self._live:
            self._live = live
            update = update.model_copy(update={"live": await conversation.html(live)})
        if news and news.typing is not None:
            update = update.model_copy(update={"typing": news.typing})
        if news and news.status is not None:
            update = update.model_copy(update={"status": news.status})
        await self._send(update)

    async def _send(self, update: Update) -> None:
        await self._say(KEEP_ALIVE if update == Update() else f"data: {update.dump()}\n\n".encode())


async def _collect(signals: AsyncIterator[str], mailbox: Mailbox) -> None:
    async for data in signals:
        mailbox.put(News.load(data))


class EventStream(Response):
    """Answers with the events of one page; ends when the page leaves or the server stops."""

    media_type = "text/event-stream"

    def __init__(self, site: Site, visitor: str) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._site, self._visitor = site, visitor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def say(data: bytes) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": True})

        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with asyncio.TaskGroup() as group:
            ends = [
                group.create_task(self._follow(say)),
                group.create_task(self._site.stopping.wait()),
                group.create_task(_left(receive)),
            ]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for task in ends:
                task.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _follow(self, say: Say) -> None:
        try:
            await Page(self._site, self._visitor, say).follow()
        except* StorageError as errors:
            problem = Update(problem=f"The conversation cannot be read: {errors.exceptions[0]}")
            await say(f"data: {problem.dump()}\n\n".encode())


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
