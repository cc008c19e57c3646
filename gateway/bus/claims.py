"""Hands out lanes that have something waiting, one claim of a lane at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence, Set
from contextlib import aclosing

from gateway.bus import lanes
from gateway.bus.lanes import Claimed, Later, shard_of
from gateway.bus.order import Dead
from gateway.bus.shards import Shards
from gateway.contracts.bus import Hints
from gateway.errors import StorageError
from gateway.storage.database import Connection, Database
from gateway.types import SessionKey

log = logging.getLogger(__name__)

TURNS_TOPIC = "turns"
"""The signal that the turn of a lane, whose key it carries, must end."""
SWEEP_SECONDS = 5.0
"""How often waiting rows are read whatever the hints say."""


def _undo(connection: Connection, found: Sequence[Claimed]) -> None:
    for claimed in found:
        lanes.give_back(connection, claimed)


class Claims:
    """
    The lanes of this process's shards, in the order in which they became ready.

    `ready` gives a lane, `claim` its next turn; the lane is not given out again until `release`. A lane that `serves`
    denies is left to others; `home` returns the one that sessions of a lane belong to.
    """

    def __init__(
        self,
        database: Database,
        hints: Hints,
        shards: Shards,
        *,
        home: Callable[[SessionKey], str],
        ids: Callable[[], str],
        serves: Callable[[str], bool] = lambda lane: True,
    ) -> None:
        self._database = database
        self._hints = hints
        self._shards = shards
        self._home = home
        self._ids = ids
        self._serves = serves
        self._ready: asyncio.Queue[str] = asyncio.Queue()
        self._queued: set[str] = set()
        self._out: set[str] = set()
        self._again: set[str] = set()
        self._timers: dict[str, asyncio.TimerHandle] = {}

    async def wake(self, key: SessionKey) -> None:
        """Say, after the commit, that the lane has something waiting."""
        await self._hints.hint(shard_of(str(key)), str(key))

    def offer(self, lane: str) -> None:
        """Put a lane into the queue, or note that it has more if its turn is out."""
        if not self._serves(lane):
            return
        if lane in self._out:
            self._again.add(lane)
        elif lane not in self._queued:
            self._queued.add(lane)
            self._ready.put_nowait(lane)

    async def sweep(self) -> None:
        """Offer whatever waits in our shards, every few seconds and where another process has written."""
        async with aclosing(self._database.changes(SWEEP_SECONDS)) as changes:
            async for _ in changes:
                await self.look(self._shards.held)

    async def look(self, shards: Set[int]) -> None:
        """Offer whatever waits in these shards; of a lane whose turn is out, only what the turn does not hold."""
        if not shards:
            return
        out = frozenset(self._out)
        try:
            for lane in await self._database.read(lambda connection: lanes.waiting_lanes(connection, shards, out)):
                self.offer(lane)
        except StorageError as error:
            log.error("waiting messages could not be read: %s", error)

    async def ready(self) -> SessionKey:
        """Wait for a lane that may have a turn; it is the caller's until `release`."""
        while True:
            lane = await self._ready.get()
            self._queued.discard(lane)
            if self._shards.owns(shard_of(lane)) and lane not in self._out:
                self._out.add(lane)
                return SessionKey(lane)

    async def claim(self, key: SessionKey) -> Claimed | Dead | None:
        """Take the lane's next turn, or learn that its events have had all their attempts."""
        fresh, home, found = self._ids(), self._home(key), list[Claimed]()

        def job(connection: Connection) -> Claimed | Later | Dead | None:
            claimed = lanes.claim(connection, key, fresh, home)
            found[:] = [claimed] if isinstance(claimed, Claimed) else []
            return claimed

        try:
            claimed = await self._database.write(job)
        except asyncio.CancelledError:
            # The job runs whole all the same, and an attempt nobody made must not count.
            await asyncio.shield(self._database.write(lambda connection: _undo(connection, found)))
            raise
        if isinstance(claimed, Later):
            self._wait(str(key), claimed.seconds)
            return None
        if isinstance(claimed, Claimed) and claimed.more:
            self._again.add(str(key))
        return claimed

    def _wait(self, lane: str, seconds: float) -> None:
        """Offer the lane later, once, however often it was found too early."""
        if timer := self._timers.pop(lane, None):
            timer.cancel()
        self._timers[lane] = asyncio.get_running_loop().call_later(seconds, self._due, lane)

    def _due(self, lane: str) -> None:
        self._timers.pop(lane, None)
        self.offer(lane)

    def release(self, key: SessionKey) -> None:
        """Let the lane be handed out again."""
        self._out.discard(str(key))
        if str(key) in self._again:
            self._again.discard(str(key))
            self.offer(str(key))
