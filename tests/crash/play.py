"""A crash test from its first kill to the verdict."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.crash.moments import Moment, Scene
from tests.crash.site import Process
from tests.crash.verdict import Verdict, judge_calls

CROWD = 12
"""Messages that wait before nobody writes any more."""
LOOK = 0.05
STUCK = 180.0
"""Seconds without a kill after which nobody waits any longer for an answer."""


@dataclass
class Play:
    """`moments` are those to strike at; `roles` are the processes that run, one each."""

    scene: Scene
    moments: Sequence[Moment]
    roles: Sequence[str] = ("all",)
    struck: Counter[str] = field(default_factory=Counter)
    running: list[Process] = field(default_factory=list)
    deck: list[Moment] = field(default_factory=list)

    async def act(self, kills: int, *, halfway: Callable[[], Awaitable[None]] | None = None) -> Verdict:
        """Kill so many times while people write, do something `halfway`, let everybody be answered, and judge."""
        self.running = [self.scene.site.start(role) for role in self.roles]
        await self.scene.linger(1.0)
        await self._kill("first start")
        async with self._crowd():
            while self.struck.total() < kills:
                await self._strike()
                if halfway is not None and 2 * self.struck.total() >= kills:
                    await halfway()
                    halfway = None
        await self._patience(lambda: not self.scene.people.waiting)
        await self._end()
        forgotten = await self._again()
        return self._verdict(forgotten)

    @asynccontextmanager
    async def _crowd(self) -> AsyncIterator[None]:
        """Let people write at random while the block runs."""

        async def write() -> None:
            while True:
                await self.scene.linger(1.0)
                if self.scene.people.waiting < CROWD:
                    self.scene.people.write()

        async with asyncio.TaskGroup() as group:
            writing = group.create_task(write())
            yield
            writing.cancel()

    async def _strike(self) -> None:
        """Kill a process at a moment of its own, and now and then its successor while it starts."""
        await self._patience(lambda: self.scene.people.bearable)
        if not self.deck:  # each as often as the others, in any order
            self.deck = self.scene.random.sample(self.moments, len(self.moments))
        moment = self.deck.pop()
        await moment(self.scene)
        place = await self._kill(moment.__name__)
        self.scene.calm()
        if self.scene.random.random() < 0.2 and self.scene.people.bearable:
            await self.scene.linger(1.0)
            await self._kill("start", place)

    async def _kill(self, when: str, place: int | None = None) -> int:
        """Kill a process, any if none is named; another in its role takes its place, at once or a little later."""
        place = self.scene.random.randrange(len(self.running)) if place is None else place
        role = self.running[place].role
        if self.scene.random.random() < 0.1:
            when = "drain"
            self.running[place].stop()
            await self.scene.linger(0.3)
        self.scene.people.hit(self.running[place].kill())
        self.struck[when] += 1
        if self.scene.random.random() < 0.2:
            await self.scene.linger(1.0)
        self.running[place] = self.scene.site.start(role)
        return place

    async def _patience(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds; nothing is killed meanwhile, so whoever waits now is answered soon."""
        people, since = self.scene.people, time.monotonic()
        while not holds():
            await asyncio.sleep(LOOK)
            people.look()
            assert time.monotonic() - since < STUCK, f"seed {self.scene.seed}: {people.forgotten} are forgotten"
            codes = [process.code() for process in self.running]
            assert codes == [None] * len(codes), f"seed {self.scene.seed}: the gateway ended by itself, with {codes}"

    async def _end(self) -> None:
        """Let every process drain; one that has only begun to start just dies."""
        for process in self.running:
            assert await self.scene.site.end(process) in {128 + signal.SIGTERM, -signal.SIGTERM}

    async def _again(self) -> list[str]:
        """Start once more: nothing is left to be said, and the model is shown all that was."""
        scene = self.scene
        scene.model.set(log=10_000)
        self.running = [scene.site.start(role) for role in self.roles]
        scene.people.farewell()
        await self._patience(lambda: not scene.people.waiting)
        await self._end()
        return scene.people.remembered(scene.model.requests())

    def _verdict(self, faults: Sequence[str]) -> Verdict:
        scene = self.scene
        verdict = scene.people.verdict(scene.site.losses())
        verdict.faults += faults
        verdict.faults += judge_calls(scene.people.asked, scene.site.calls)
        verdict.faults += [f"the model was sent: {violation}" for violation in scene.model.violations()]
        verdict.faults += [f"Telegram was sent: {violation}" for violation in scene.telegram.violations()]
        verdict.faults += [f"in the log: {trace}" for trace in scene.site.tracebacks()]
        return verdict

    def report(self, verdict: Verdict) -> str:
        """Say what was played, and what was counted."""
        asked = self.scene.people.asked
        moments = ", ".join(f"{name} {times}" for name, times in sorted(self.struck.items()))
        return (
            f"{self.struck.total()} kills (seed {self.scene.seed}): {moments}\n"
            f"{len(asked)} messages in {len({one.chat for one in asked})} chats, {sum(one.hits > 0 for one in asked)} "
            f"hit, {sum(one.hits > 1 for one in asked)} twice; {len(self.scene.site.calls)} calls of the tool; "
            f"{verdict.marked} marked copies ({verdict.doubled} of them second ones), {verdict.orphans} orphans"
        )
