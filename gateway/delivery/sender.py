"""Sends what the outbox holds: one queue at a time in order, many queues at once, each failure by its rule."""

from __future__ import annotations

import asyncio
import functools
import logging
import random
from collections import deque
from collections.abc import Callable, Set
from typing import Concatenate, ParamSpec

from gateway.bus.lanes import shard_of
from gateway.bus.shards import Shards
from gateway.contracts.adapter import Adapter
from gateway.contracts.bus import Hints
from gateway.delivery import outbox
from gateway.delivery.outbox import Closed, Taken
from gateway.delivery.pace import Pace
from gateway.delivery.prepare import Prepare
from gateway.errors import (
    AdapterError,
    Ambiguous,
    TargetGone,
    TargetMoved,
    Throttled,
    Unacceptable,
)
from gateway.metrics import Metrics
from gateway.storage.database import Connection, Database
from gateway.supervise import contain, keep
from gateway.types import Receipt

log = logging.getLogger(__name__)
P = ParamSpec("P")

HANDED = 256
"""How many queues are remembered that others were asked to send."""
LOOK_SECONDS = 0.1
"""How often a process that ends looks whether they have."""
SWEEP_SECONDS = 5.0
"""How often the rows are read whatever the hints say."""
PAUSE, LONGEST_PAUSE = 1.0, 300.0
"""Seconds before the second try while a platform cannot be reached, doubled up to the longest."""
GIVE_UP_SECONDS = 24 * 3600.0
"""Age at which a part that could not be delivered is refused."""
DOUBTS = (3.0, 60.0)
"""Seconds before each marked copy of a part that may have arrived. A platform that answers nothing, or 500, is often
away for a moment and has taken nothing; after the last copy the part is refused and listed. A kill does not wait."""
PREFIX = ">"
"""Tells a hint for a queue from one for a lane."""


class Sender:
    """
    The only sender of the queues in this process's shards.

    Throttling closes one target, or one account where the platform says so, and nobody else's. What stays ``sending``
    after a crash is sent again where the platform honours the key or the part is an edit, elsewhere with a mark, and
    not more than twice.
    A queue that `serves` denies is left to others.
    """

    def __init__(
        self,
        database: Database,
        hints: Hints,
        shards: Shards,
        prepare: Prepare,
        metrics: Metrics,
        paces: dict[str, Pace],
        serves: Callable[[str], bool] = lambda queue: True,
    ) -> None:
        self._database = database
        self._hints = hints
        self._shards = shards
        self._prepare = prepare
        self._metrics = metrics
        self._paces = paces
        self._serves = serves
        self._awake: asyncio.Queue[str] = asyncio.Queue()
        self._running: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._closed: dict[str, float] = {}
        self._moved: list[str] = []
        self._handed: deque[str] = deque(maxlen=HANDED)

    async def wake(self, queues: list[str]) -> None:
        """Say, after the commit, that these queues have something; here if they are ours, else over the hints."""
        for queue in queues:
            if self._shards.owns(shard_of(queue)):
                self.offer(queue)
            else:
                self._handed.append(queue)
                await self._hints.hint(shard_of(queue), PREFIX + queue)

    def offer(self, queue: str) -> None:
        """Begin to drain a queue, or look again after what is being sent now."""
        if self._serves(queue):
            self._again.add(queue)
            self._awake.put_nowait(queue)

    async def run(self) -> None:
        """Send until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                queue = await self._awake.get()
                if queue not in self._running and queue in self._again and self._shards.owns(shard_of(queue)):
                    drain = functools.partial(self._drain, queue)
                    task = group.create_task(keep(f"sending to {queue}", drain))
                    self._running[queue] = task
                    task.add_done_callback(functools.partial(self._ended, queue))

    def _ended(self, queue: str, task: asyncio.Task[None]) -> None:
        del self._running[queue]
        if queue in self._again:
            self._awake.put_nowait(queue)

    async def sweep(self) -> None:
        """Read the rows every few seconds."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            await self.came(self._shards.held)

    async def came(self, shards: Set[int]) -> None:
        """Take over the queues of these shards."""
        for queue in await self._database.read(lambda connection: outbox.open_queues(connection, shards)):
            if queue not in self._running:
                self.offer(queue)

    async def leaving(self, shards: Set[int]) -> None:
        """Return once the requests under way to these shards have ended; no other is begun."""
        running = [task for queue, task in self._running.items() if shard_of(queue) in shards]
        if running:
            await asyncio.wait(running, timeout=60)

    async def lost(self, shards: Set[int]) -> None:
        """Cancel what is being sent: another owner finds it ``sending`` and knows what that means."""
        for queue, task in list(self._running.items()):
            if shard_of(queue) in shards:
                task.cancel()

    async def flush(self, seconds: float) -> None:
        """
        Return once nothing is on its way any more, or the time is over.

        That is also what others were asked to send: should they stop as well, it is taken over from them.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._quiet()
                while self._shards.works and self._handed and await self._database.read(self._is_due):
                    self._shards.hurry()
                    await asyncio.sleep(LOOK_SECONDS)
                    await self._quiet()
        except TimeoutError:
            log.warning("not everything has been sent; the rest goes out after the next start")

    def _is_due(self, connection: Connection) -> bool:
        return outbox.busy(connection, set(self._handed), due=True)

    async def _quiet(self) -> None:
        while self._running or not self._awake.empty():
            if self._running:
                await asyncio.wait(list(self._running.values()))
            await asyncio.sleep(0)

    async def _drain(self, queue: str) -> None:
        """Send a queue until it is empty, closed, or another's."""
        self._again.discard(queue)
        taken = await self._database.write(lambda connection: outbox.take(connection, queue))
        while taken is not None:
            if isinstance(taken, Closed):
                asyncio.get_running_loop().call_later(taken.seconds, self.offer, queue)
                return
            taken = await self._settle(queue, taken)
            if not self._shards.owns(shard_of(queue)):
                return

    async def _settle(self, queue: str, taken: Taken) -> Taken | Closed | None:
        """Deal with one row and take the next in the same transaction."""
        verdict = await self._verdict(taken)

        def job(connection: Connection) -> Taken | Closed | None:
            verdict(connection)
            return outbox.take(connection, queue) if self._shards.owns(shard_of(queue)) else None

        following = await self._database.write(job)
        moved, self._moved = self._moved, []
        await self.wake(moved)
        return following

    async def _verdict(self, taken: Taken) -> outbox.Verdict:
        """Send a row, or decide not to, and return what is to be written about it."""
        adapter = self._prepare.adapter(taken.address)
        platform = taken.address.platform
        if adapter is None:
            return _write(outbox.postpone, taken.id, LONGEST_PAUSE, f"{taken.address.adapter} is not configured")
        if taken.doubtful and not self._honours(adapter, taken):
            return self._doubt(taken, killed=True)
        try:
            receipt = await self._send(adapter, taken)
        except AdapterError as error:
            self._metrics.outbox_parts_total.labels(platform, type(error).__name__).inc()
            return self._failed(taken, adapter, error)
        self._metrics.outbox_parts_total.labels(platform, "sent").inc()
        return _write(outbox.sent, taken.id, receipt.message_id)

    def _honours(self, adapter: Adapter, taken: Taken) -> bool:
        """Say whether sending again shows nothing twice."""
        return adapter.limits.idempotent or bool(taken.edits)

    async def _send(self, adapter: Adapter, taken: Taken) -> Receipt:
        await self._pace(adapter.name, taken.address.queue)
        name = f"{adapter.name} sending part {taken.id}"
        if not taken.edits:
            return await contain(name, adapter.send(taken.address, taken.part), Unacceptable)
        receipt = Receipt(taken.address, taken.edits)
        await contain(name, adapter.edit(receipt, taken.part), Unacceptable)
        return receipt

    async def _pace(self, account: str, queue: str) -> None:
        """Wait until the account, and this target in it, may be written to."""
        wait = self._delay(account, queue)
        if wait > 0:
            await asyncio.sleep(wait)
            await self._pace(account, queue)

    def _delay(self, account: str, queue: str) -> float:
        """Return 0 and take the target's slot, or how many seconds to wait; a closed account costs no slot."""
        closed = self._closed.get(account, 0.0) - asyncio.get_running_loop().time()
        return closed if closed > 0 else self._paces[account].delay(queue)

    def _failed(self, taken: Taken, adapter: Adapter, error: AdapterError) -> outbox.Verdict:
        reason = str(error)
        match error:
            case Throttled():
                if error.everywhere:
                    self._closed[adapter.name] = asyncio.get_running_loop().time() + error.retry_after
                verdict = _write(outbox.postpone, taken.id, error.retry_after, reason)
            case TargetMoved():
                self._moved.append(error.new.queue)
                verdict = _write(outbox.move, taken.id, error.new)
            case Unacceptable() if not taken.plain:
                log.warning("part %d goes plain: %s", taken.id, reason)
                verdict = _write(outbox.plainer, taken.id, self._prepare.plain(taken.part, taken.address))
            case Unacceptable() if taken.edits:
                log.warning("part %d is sent as a message of its own: %s", taken.id, reason)
                verdict = _write(outbox.anew, taken.id)
            case TargetGone() | Unacceptable():
                verdict = self._refuse(taken, reason)
            case Ambiguous() if not self._honours(adapter, taken):
                verdict = self._doubt(taken, killed=False)
            case _:
                verdict = self._later(taken, reason)
        return verdict

    def _later(self, taken: Taken, reason: str) -> outbox.Verdict:
        if taken.age > GIVE_UP_SECONDS:
            return self._refuse(taken, f"not delivered within a day: {reason}")
        pause = min(PAUSE * 2 ** (taken.attempts - 1), LONGEST_PAUSE)
        return _write(outbox.postpone, taken.id, pause * (0.5 + random.random() / 2), reason)

    def _doubt(self, taken: Taken, *, killed: bool) -> outbox.Verdict:
        self._metrics.doubtful_total.labels(taken.address.platform).inc()
        if taken.doubts >= len(DOUBTS):
            return self._refuse(taken, f"sent {taken.doubts + 1} times without a receipt; it may have arrived")
        log.warning("part %d may have arrived and is sent once more, marked", taken.id)
        part = taken.part if taken.doubts else self._prepare.marked(taken.part, taken.address)
        part = self._prepare.plain(part, taken.address) if taken.plain else part
        return _write(outbox.doubt, taken, part, 0.0 if killed else DOUBTS[taken.doubts])

    def _refuse(self, taken: Taken, reason: str) -> outbox.Verdict:
        log.error("part %d to %s is not delivered: %s", taken.id, taken.address, reason)
        return _write(outbox.refuse, taken.id, reason)


def _write(
    function: Callable[Concatenate[Connection, P], object], *arguments: P.args, **named: P.kwargs
) -> outbox.Verdict:
    """Bind what is to be written to the arguments it needs."""
    return lambda connection: function(connection, *arguments, **named)
