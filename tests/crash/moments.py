"""When to strike: each moment steers the fakes, waits for what it is named after, and returns at a random time within.

A moment that does not come is struck anyway: what must hold in the end holds whenever a process dies.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from random import Random

from tests.crash.people import People
from tests.crash.site import Site
from tests.crash.verdict import UNFINISHED
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.telegram_server import TelegramServer

LONGEST = 5.0
"""Seconds to wait for a moment."""
LOOK = 0.01


@dataclass(frozen=True, slots=True)
class Scene:
    """All that a moment can steer and see."""

    site: Site
    people: People
    telegram: TelegramServer
    model: OpenAIServer
    seed: int
    random: Random

    async def linger(self, seconds: float) -> None:
        """Wait for a random time."""
        await asyncio.sleep(self.random.uniform(0, seconds))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds, but not for ever."""
        for _ in range(int(LONGEST / LOOK)):
            if holds():
                return
            await asyncio.sleep(LOOK)

    async def asked(self) -> None:
        """Wait until the model answers somebody."""
        await self.until(lambda: self.model.counts()["running"] > 0)

    async def thought(self) -> None:
        """Wait until the model has answered."""
        before = self.model.counts()["asked"]
        await self.until(lambda: (counts := self.model.counts())["asked"] > before and not counts["running"])

    async def more(self, count: Callable[[], int]) -> None:
        """Wait until there is more of something than now."""
        before = count()
        await self.until(lambda: count() > before)

    def unanswered(self, chat: int) -> int:
        """Count the requests of a chat that the platform took and did not answer."""
        return sum(not one["answered"] for one in self.telegram.history("", chat))

    def unfinished(self, chat: int) -> int:
        """Count the live messages that stand in a chat."""
        return sum(UNFINISHED in text for text in self.telegram.texts(chat))

    def calm(self) -> None:
        """Let everything go as it does on a good day."""
        self.model.set(delay=0)
        self.telegram.clear()


async def any_time(scene: Scene) -> None:
    scene.people.write()
    await scene.linger(1.5)


async def intake(scene: Scene) -> None:
    polls = scene.telegram.updates()["polls"]
    await scene.until(lambda: int(scene.telegram.updates()["polls"]) > polls)  # from here on it hears at once
    for _ in range(scene.random.randint(1, 6)):
        scene.people.write()
    await scene.linger(0.06)


async def model_call(scene: Scene) -> None:
    scene.model.set(delay=0.02)
    scene.people.write()
    await scene.asked()
    await scene.linger(0.5)


async def live_message(scene: Scene) -> None:
    """Strike within the first showing of an answer that takes long, or within an edit."""
    scene.model.set(delay=0.04)
    chat = scene.people.write("medium")
    await scene.more(lambda: scene.unfinished(chat))
    await scene.linger(scene.random.choice([0.02, 1.2]))


async def live_edit(scene: Scene) -> None:
    """Strike when a live message has been edited and its answer is not complete yet."""
    scene.model.set(delay=0.08)
    chat = scene.people.write("medium")
    await scene.more(lambda: len(scene.telegram.history("editMessageText", chat)))
    await scene.linger(0.5)


async def tool_call(scene: Scene) -> None:
    scene.people.write("tool")
    await scene.more(lambda: len(scene.site.calls))
    await scene.linger(0.2)


async def before_tool_call(scene: Scene) -> None:
    scene.people.write("tool")
    await scene.thought()
    await scene.linger(0.2)


async def commit(scene: Scene) -> None:
    scene.people.write("short")
    await scene.thought()
    await scene.linger(0.02)


async def between_commits(scene: Scene) -> None:
    """Another program has the database's lock nearly always: each of our transactions waits for its turn."""
    for _ in range(2):
        scene.people.write("short")
    end = time.monotonic() + scene.random.uniform(0, 2.5)
    with closing(sqlite3.connect(scene.site.home / "state.db", timeout=0, isolation_level=None)) as other:
        while time.monotonic() < end:
            with suppress(sqlite3.OperationalError):  # it is ours at the moment
                other.execute("BEGIN IMMEDIATE")
                await asyncio.sleep(0.02)
                other.execute("ROLLBACK")
            await asyncio.sleep(0.003)


async def before_acceptance(scene: Scene) -> None:
    scene.telegram.fault("slow", method="sendMessage", times=0, seconds=0.4)
    scene.people.write("short")
    await scene.thought()
    await scene.linger(0.5)


async def before_acceptance_of_an_edit(scene: Scene) -> None:
    scene.model.set(delay=0.03)
    scene.telegram.fault("slow", method="editMessageText", times=0, seconds=0.4)
    chat = scene.people.write("medium")
    await scene.more(lambda: scene.unfinished(chat))
    scene.model.set(delay=0)
    await scene.linger(1)


async def after_acceptance(scene: Scene) -> None:
    scene.telegram.fault("hang", method="sendMessage", times=0)
    chat = scene.people.write("short")
    await scene.more(lambda: scene.unanswered(chat))
    await scene.linger(0.05)


async def after_acceptance_of_an_edit(scene: Scene) -> None:
    scene.model.set(delay=0.03)
    chat = scene.people.write("medium")
    await scene.more(lambda: scene.unfinished(chat))
    scene.telegram.fault("hang", method="editMessageText", times=0)
    scene.model.set(delay=0)
    await scene.more(lambda: scene.unanswered(chat))
    await scene.linger(0.05)


async def lost_answer(scene: Scene) -> None:
    """The platform takes a message and the connection breaks: our own doubt, and a kill on top of it."""
    scene.telegram.fault("drop", method="sendMessage")
    chat = scene.people.write("short")
    await scene.more(lambda: scene.unanswered(chat))
    await scene.linger(0.1)


Moment = Callable[[Scene], Awaitable[None]]
MOMENTS: tuple[Moment, ...] = (
    any_time,
    intake,
    model_call,
    live_message,
    live_edit,
    tool_call,
    before_tool_call,
    commit,
    between_commits,
    before_acceptance,
    before_acceptance_of_an_edit,
    after_acceptance,
    after_acceptance_of_an_edit,
    lost_answer,
)
AMONG_OTHERS: tuple[Moment, ...] = (
    any_time,
    intake,
    model_call,
    live_message,
    live_edit,
    tool_call,
    before_tool_call,
    commit,
    before_acceptance,
    before_acceptance_of_an_edit,
    lost_answer,
)
"""Moments that leave nothing hanging in the processes that are not struck."""
