"""Daemon threads for what may block for long: a thread that waits for a lock keeps no process from ending."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from gateway.storage.handover import tell, tried

T = TypeVar("T")

IDLE_SECONDS = 5.0
"""How long a thread waits for its next job."""


class Threads:
    """
    A pool of `most` threads, begun as they are needed.

    One that is `blocked` does not count, so that locks which never come do not keep the others from their work.
    """

    def __init__(self, name: str, most: int) -> None:
        self._name, self._most = name, most
        self._jobs: deque[Callable[[], None]] = deque()
        self._mutex = threading.Lock()
        self._wake, self._rested = threading.Condition(self._mutex), threading.Condition(self._mutex)
        self._idle = self._busy = 0

    def submit(self, job: Callable[[], None]) -> None:
        """Have a job run that raises nothing."""
        with self._mutex:
            self._jobs.append(job)
            self._call()

    async def run(self, job: Callable[[], T]) -> T:
        """Run to the end in a thread, even if the caller is cancelled."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.submit(lambda: tell([(future, tried(job))], "readings of notes"))
        return await future

    @contextmanager
    def blocked(self) -> Iterator[None]:
        """Say that this thread only waits meanwhile."""
        with self._mutex:
            self._busy -= 1
            self._call()
            self._rested.notify_all()
        try:
            yield
        finally:
            with self._mutex:
                self._busy += 1

    def rest(self, seconds: float) -> bool:
        """Wait until nothing runs but what is blocked; say whether it came to that."""
        with self._mutex:
            return self._rested.wait_for(lambda: not self._jobs and not self._busy, seconds)

    def _call(self) -> None:
        if not self._jobs:
            return
        if len(self._jobs) <= self._idle:
            self._wake.notify()
        elif self._busy + self._idle < self._most:
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
            self._busy += 1

    def _work(self) -> None:
        while True:
            with self._mutex:
                if not self._wait():
                    self._busy -= 1
                    self._rested.notify_all()
                    return
                job = self._jobs.popleft()
            job()

    def _wait(self) -> bool:
        """Say whether there is a job for this thread; not if it came back from a lock and is one too many."""
        if self._busy > self._most:
            return False
        if not self._jobs:
            self._busy, self._idle = self._busy - 1, self._idle + 1
            self._rested.notify_all()
            self._wake.wait_for(lambda: self._jobs, IDLE_SECONDS)
            self._busy, self._idle = self._busy + 1, self._idle - 1
        return bool(self._jobs)
