"""The real page in a real browser, before the real gateway; only the model's words are ours, and when it speaks them.

A test asks for `office` (the gateway at `office.url`, with a model that can be held in the middle of an answer) and
`visit` (a browser of its own per person, since a person is a cookie).
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from gateway.app.gateway import Gateway
from gateway.app.process import Mind, Plan, Profile
from gateway.contracts.model import Completed, Model, ModelPiece
from gateway.contracts.tool import Tools, ToolSpec
from gateway.messages import Message, TextDelta, ToolCall
from gateway.sessions.keys import NAMESPACE
from gateway.storage.database import Database
from gateway.types import Turn
from gateway.web.app import create_app
from gateway.web.chat.adapter import WebChat
from gateway.web.serve import listen, serve, url_of
from gateway.web.settings import WebSettings
from gateway.web.site import Site
from tests.services import BROWSERS

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP gateway.test 127.0.0.1",  # another name, which no browser takes for this machine
]
OWNER_TOKEN = "the-token-that-run-prints"
PATIENCE = 20_000
"""Milliseconds a test waits for something to appear; only a failing test waits that long."""


class Speaker(Model):
    """Repeats what it is told, first one half, then, unless it is held, the other."""

    name = "tiny-parrot"
    window = 100_000
    demo = True

    def __init__(self) -> None:
        self.answer: Callable[[str], str] = lambda said: f"You said: **{said}**"
        self.free = asyncio.Event()
        self.free.set()

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> AsyncGenerator[ModelPiece, None]:
        text = self.answer(messages[-1].text)
        half = len(text) // 2
        yield TextDelta(text[:half])
        await self.free.wait()
        yield TextDelta(text[half:])
        yield Completed(text)


class NoTools(Tools):
    """Offers nothing."""

    def specs(self) -> Sequence[ToolSpec]:
        return ()

    async def call(self, call: ToolCall, turn: Turn) -> str:
        raise AssertionError("no tool was offered")


@dataclass
class Office:
    """A gateway that runs, and the way to stop and start it under its page."""

    home: Path
    model: Speaker = field(default_factory=Speaker)
    password: str = ""
    url: str = ""
    database: Database = field(init=False)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Gateway]:
        """Run the gateway, at the port it had before."""
        chat = WebChat(lambda: gateway.hints)
        mind = Mind(lambda _: self.model, lambda *_: NoTools(), lambda *_: self.home, writers=lambda _: [self.model])
        gateway = Gateway(Plan(Profile(self.home), edit_every=0.15), {chat.name: chat}, {NAMESPACE: mind})
        listener = listen("127.0.0.1", int(self.url.rstrip("/").rpartition(":")[2] or 0) if self.url else 0)
        self.url, stopping = url_of(listener), asyncio.Event()
        async with gateway:
            self.database = gateway.database
            site = Site(
                settings=WebSettings(),
                database=gateway.database,
                hints=gateway.hints,
                metrics=gateway.metrics,
                stopping=stopping,
                version="0",
                password=self.password,
                owner_token=OWNER_TOKEN,
                model=lambda _: (self.model.name, self.model.demo),
                chat=chat,
                draining=lambda: gateway.stopping,
            )
            async with asyncio.TaskGroup() as group:
                group.create_task(serve(create_app(site), "", 0, stopping, listener=listener))
                running = group.create_task(gateway.run())
                try:
                    yield gateway
                finally:
                    self.model.free.set()
                    gateway.stop()
                    await asyncio.wait((running,))
                    stopping.set()


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def chromium() -> AsyncIterator[Browser]:
    """The browser of the system, `HERMES_TEST_BROWSER` if set; a test machine without one fails here."""
    names = [name for name in (os.environ.get("HERMES_TEST_BROWSER", ""), *BROWSERS) if name]
    found = next((path for path in map(shutil.which, names) if path), None)
    assert found, "no Chromium; make system installs it"
    expect.set_options(timeout=PATIENCE)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    office = Office(tmp_path)
    async with office.open():
        yield office


Visit = Callable[..., Awaitable[Page]]


@pytest_asyncio.fixture(loop_scope="session")
async def visit(chromium: Browser, office: Office) -> AsyncIterator[Visit]:
    """Open the page as somebody new, or with `beside` in another tab of the same browser."""
    troubles: list[str] = []

    async with AsyncExitStack() as stack:

        async def visit(*, beside: Page | None = None, **options: object) -> Page:
            if beside:
                context: BrowserContext = beside.context
            else:
                context = await chromium.new_context(**options)  # type: ignore[arg-type]
                stack.push_async_callback(context.close)
            page = await context.new_page()
            page.set_default_timeout(PATIENCE)
            page.on("pageerror", lambda error: troubles.append(str(error)))
            page.on("request", lambda request: _check(request.url, office.url, troubles))
            page.on("console", lambda said: troubles.append(said.text) if "Content Security" in said.text else None)
            await page.goto(office.url)
            await page.locator("#log[aria-busy=false]").wait_for(state="attached")
            return page

        yield visit
    assert troubles == []


def _check(url: str, ours: str, troubles: list[str]) -> None:
    if not url.startswith(ours):
        troubles.append(f"the page asked for {url}")
