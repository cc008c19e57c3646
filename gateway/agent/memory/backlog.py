"""What is done behind the turns: in order for each owner, some owners at a time.

In: work that contains its own errors. Out, at the end: how much of it was not done.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from gateway.supervise import Background

log = logging.getLogger(__name__)

Kind = Literal["write", "prefetch", "erase"]
Work = Callable[[], Awaitable[object]]

SIZE = 1000
"""Jobs that may wait, of all owners."""
AT_ONCE = 8
"""Owners that are served at the same time."""


@dataclass(frozen=True, slots=True)
class Drained:
    """What was left undone; `active` had begun and was broken off."""

    abandoned_writes: int = 0
    abandoned_prefetches: int = 0
    active: int = 0

    @property
    def complete(self) -> bool:
        return not (self.abandoned_writes or self.active)


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    owner: str
    kind: Kind
    name: str
    work: Work


class Backlog:
    """First in, first out per owner. Where it is full the oldest prefetch gives way, and a write is lost only then."""

    def __init__(self, background: Background, size: int = SIZE) -> None:
        self._background, self._size = background, size
        self._lanes: dict[str, deque[_Job]] = {}
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._servers: set[asyncio.Task[None]] = set()
        self._prefetches: dict[_Job, None] = {}
        self._waiting = self._active = 0
        self._closed = False

    def put(self, owner: str, kind: Kind, name: str, work: Work) -> bool:
        """Add a job; return whether it will be done. `name` is what the log calls it."""
        job = _Job(owner, kind, name, work)
        if self._closed or not self._room():
            self._say_lost(job)
            return False
        self._waiting += 1
        if kind == "prefetch":
            self._prefetches[job] = None
        if (lane := self._lanes.get(owner)) is not None:
            lane.append(job)
            return True
        self._lanes[owner] = deque([job])
        server = self._background.start(self._serve(owner))
        self._servers.add(server)
        server.add_done_callback(self._servers.discard)
        return True

    def discard(self, owner: str) -> None:
        """Take back what waits of an owner, but for an erasure, which somebody awaits."""
        for job in tuple(self._lanes.get(owner, ())):
            if job.kind != "erase":
                self._take_back(job)

    async def drain(self, seconds: float) -> Drained:
        """Take nothing more and do what was to be written, for so long; then break off. Return what was not done."""
        self._closed = True
        prefetches = len(self._prefetches)
        for job in tuple(self._prefetches):
            self._take_back(job)
        if self._servers:
            await asyncio.wait(self._servers, timeout=seconds)
        drained = Drained(self._waiting, prefetches, self._active)
        for server in self._servers:
            server.cancel()
        return drained

    def _room(self) -> bool:
        if self._waiting >= self._size and self._prefetches:
            self._take_back(next(iter(self._prefetches)))
        return self._waiting < self._size

    def _take_back(self, job: _Job) -> None:
        self._lanes[job.owner].remove(job)
        self._prefetches.pop(job, None)
        self._waiting -= 1

    async def _serve(self, owner: str) -> None:
        lane = self._lanes[owner]
        while lane:
            async with self._slots:
                if lane:
                    await self._do(lane.popleft())
        del self._lanes[owner]

    async def _do(self, job: _Job) -> None:
        self._prefetches.pop(job, None)
        self._waiting -= 1
        self._active += 1
        try:
            await job.work()
        finally:
            self._active -= 1

    def _say_lost(self, job: _Job) -> None:
        if job.kind != "prefetch":
            why = "the gateway ends" if self._closed else f"{self._waiting} others wait already"
            log.warning("memory: %s of %s is lost: %s", job.name, job.owner, why)
