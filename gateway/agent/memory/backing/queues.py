"""The changes of this process on one text: those that wait together share one lock, one reading and one writing."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from gateway.agent.memory.backing.batch import carry_out, erase
from gateway.agent.memory.backing.contract import Done, Edit, T
from gateway.agent.memory.backing.durable import TextFile
from gateway.agent.memory.backing.lock import LockFile
from gateway.agent.memory.backing.sentences import told
from gateway.agent.memory.backing.steps import Steps
from gateway.agent.memory.backing.threads import Threads
from gateway.contracts.resource import Resource
from gateway.errors import StorageError
from gateway.storage.handover import Failed, tell, tried

THREADS = 8
WHAT = "changes of notes"
SHARE = 64
"""Changes that may share one lock; more wait for the next, so that other processes have their turn."""
SECONDS = 10.0
"""How long a lock is waited for."""
END_SECONDS = 5.0
"""How long the end waits for what is being written."""


@dataclass(frozen=True, slots=True, eq=False)
class _Order:
    edit: Edit[Any] | None
    """None removes the text."""
    future: asyncio.Future[Any]
    until: float
    """When it is too late for the lock, on the monotonic clock."""


class Queue:
    """One text, and at most one thread at a time that works for it: whoever comes while it waits for the lock joins."""

    def __init__(self, path: Path, threads: Threads, steps: Steps, seconds: float) -> None:
        self._file = TextFile(path, steps)
        self._lock = LockFile(path.with_name(f"{path.name}.lock"), threads, steps)
        self._threads, self._seconds = threads, seconds
        self._mutex = threading.Lock()
        self._waiting: list[_Order] = []
        self._working = False

    async def read(self) -> bytes:
        """Return the bytes as they stand, without the lock; none where there is no file."""
        return await self._threads.run(self._read)

    async def change(self, edit: Edit[T]) -> Done[T]:
        """Run an edit under the lock and return once its result is durable."""
        done: Done[T] = await self._put(edit)
        return done

    async def erase(self) -> int:
        """Remove the text under the lock; return how many characters it had."""
        if not await self.read() and not await self._threads.run(self._file.path.parent.is_dir):
            return 0
        erased: int = await self._put(None)
        return erased

    def _read(self) -> bytes:
        with told(self._file.path):
            return self._file.read() or b""

    async def _put(self, edit: Edit[Any] | None) -> Any:
        loop = asyncio.get_running_loop()
        order = _Order(edit, loop.create_future(), time.monotonic() + self._seconds)
        timer = loop.call_later(self._seconds, self._give_up, order)
        order.future.add_done_callback(lambda _: timer.cancel())
        with self._mutex:
            self._waiting.append(order)
            starts, self._working = not self._working, True
        if starts:
            self._threads.submit(self._work)
        return await order.future  # a cancellation ends the waiting, and not the work

    def _give_up(self, order: _Order) -> None:
        """Tell a caller that the lock did not come; what has begun is not given up."""
        with self._mutex:
            if order not in self._waiting:
                return
            self._waiting.remove(order)
        self._threads.submit(lambda: self._refuse([order]))

    def _refuse(self, late: Sequence[_Order]) -> None:
        sentence = self._lock.late(self._seconds)
        tell([(order.future, Failed(StorageError(sentence))) for order in late], WHAT)

    # --- in the thread

    def _work(self) -> None:
        while True:
            tell(self._locked(), WHAT)
            with self._mutex:
                if not self._waiting:
                    self._working = False
                    return

    def _locked(self) -> list[tuple[asyncio.Future[Any], object]]:
        """Take the lock, carry out what waits by then, and return what came of it once the lock is free."""
        orders: list[_Order] = []
        outcomes = tried(partial(self._carry_out, orders))
        if isinstance(outcomes, Failed):
            orders = orders or self._take()
            outcomes = [outcomes] * len(orders)
        return [(order.future, outcome) for order, outcome in zip(orders, outcomes, strict=True)]

    def _carry_out(self, orders: list[_Order]) -> list[object]:
        outcomes: list[object] = []
        with self._lock.held():
            orders += self._take()
            for removing, group in groupby(orders, lambda order: order.edit is None):
                if removing:
                    outcomes += [tried(partial(erase, self._file)) for _ in group]
                else:
                    outcomes += carry_out(self._file, [order.edit for order in group if order.edit])
        return outcomes

    def _take(self) -> list[_Order]:
        """Return what waits and is not too late."""
        with self._mutex:
            taken, self._waiting = self._waiting[:SHARE], self._waiting[SHARE:]
        now = time.monotonic()
        if late := [order for order in taken if order.until <= now]:
            self._refuse(late)
        return [order for order in taken if order.until > now]


class Desk(Resource):
    """
    What all notes of a process share: the threads, and the queue of each text.

    At its end it waits for what is being written, and for no lock: whoever waits for one has not been told anything.
    """

    def __init__(self, *, seconds: float = SECONDS, steps: Steps | None = None) -> None:
        self._threads = Threads("notes", THREADS)
        self._seconds, self._steps = seconds, steps or Steps()
        self._queues: WeakValueDictionary[Path, Queue] = WeakValueDictionary()

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._threads.rest, END_SECONDS)

    def queue(self, path: Path) -> Queue:
        """Return the queue of a text, the same one for all who hold it or wait in it."""
        queue = self._queues.get(path)
        if queue is None:
            queue = self._queues[path] = Queue(path, self._threads, self._steps, self._seconds)
        return queue
