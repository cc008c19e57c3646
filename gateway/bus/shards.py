"""Which shards are this process's: leases renewed, shared fairly among the workers, given back in peace."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import socket
import uuid
from collections.abc import Set
from typing import Protocol, Self

from gateway.bus.lanes import SHARDS, check_shards
from gateway.contracts.resource import Resource
from gateway.errors import ConfigError, StorageError
from gateway.storage import lease
from gateway.storage.database import Connection, Database, Job, T
from gateway.storage.lease import USUAL, Lease, LeaseTimes, Worker, boot_time

log = logging.getLogger(__name__)


class Tenant(Protocol):
    """Whoever works on what the shards hold."""

    async def came(self, shards: Set[int]) -> None:
        """Begin: the shards are ours now."""

    async def leaving(self, shards: Set[int]) -> None:
        """Begin nothing new there, and return once what runs has ended."""

    async def lost(self, shards: Set[int]) -> None:
        """Cancel whatever runs there: somebody else may have begun."""


def _name(shard: int) -> str:
    return f"shard:{shard}"


def _number(held: Lease) -> int:
    return int(held.name.partition(":")[2])


class Shards(Resource):
    """
    Holds a fair share of the shards.

    `alone` is true of a process that knows no other can run (it holds the home's lock): it takes all at once, whoever
    the rows name. A process that is not a worker holds none, and only says that it is alive.
    """

    def __init__(
        self, database: Database, *, works: bool, alone: bool, role: str = "all", times: LeaseTimes = USUAL
    ) -> None:
        self._database = database
        self._works = works
        self._alone = alone
        self._times = times
        self.me = Worker(uuid.uuid4().hex, socket.gethostname(), os.getpid(), role)
        self._held: dict[int, Lease] = {}
        self._leaving: set[int] = set()
        self._tenants: list[Tenant] = []
        self._hurried = asyncio.Event()

    async def __aenter__(self) -> Self:
        count = await self._database.write(check_shards)
        if count != SHARDS:
            raise ConfigError(f"the database was laid out for {count} shards, this version has {SHARDS}")
        return self

    async def __aexit__(self, *_: object) -> None:
        held, self._held = list(self._held.values()), {}

        def job(connection: Connection) -> None:
            lease.release(connection, held, self.me.id)
            lease.leave(connection, self.me.id)

        try:
            async with asyncio.timeout(self._times.held):  # after which they are free anyway
                await self._database.write(job)
        except (StorageError, TimeoutError) as error:
            log.warning("the leases run out by themselves: %s", error)

    def tell(self, tenant: Tenant) -> None:
        """Tell `tenant` whenever shards come or go."""
        self._tenants.append(tenant)

    def owns(self, shard: int) -> bool:
        """Say whether this process may act for the shard in this moment."""
        held = self._held.get(shard)
        return held is not None and held.held and shard not in self._leaving

    @property
    def works(self) -> bool:
        """Say whether this process takes shards at all."""
        return self._works

    @property
    def held(self) -> frozenset[int]:
        return frozenset(shard for shard in self._held if self.owns(shard))

    async def run(self) -> None:
        """Renew, take and give back until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                try:
                    await self._drop_lapsed()
                    await self._tick(group)
                except (StorageError, TimeoutError) as error:
                    log.error("the leases could not be renewed: %s", str(error) or "the database is silent")
                    await self._drop_lapsed()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._times.renew):
                        await self._hurried.wait()
                self._hurried.clear()

    def hurry(self) -> None:
        """Renew, take and give back now: somebody may have left."""
        self._hurried.set()

    async def _drop_lapsed(self) -> None:
        await self._drop({shard for shard, held in self._held.items() if not held.held})

    async def _tick(self, group: asyncio.TaskGroup) -> None:
        held = list(self._held.values())
        kept, workers = await self._written(lambda connection: self._round(connection, held))
        still = {_number(one): one for one in kept}
        lost = set(self._held) - set(still)
        # One that was given away meanwhile is not taken up again.
        self._held = {shard: still.get(shard, one) for shard, one in self._held.items()}
        await self._drop(lost)
        if self._works:
            await self._share(group, max(1, sum(worker.role != "edge" for worker in workers)))

    async def _written(self, job: Job[T]) -> T:
        """Write while we may believe what we hold; a database that does not answer must not keep us believing."""
        first = min((one.until for one in self._held.values()), default=math.inf)
        async with asyncio.timeout(first - boot_time()):
            return await self._database.write(job)

    def _round(self, connection: Connection, held: list[Lease]) -> tuple[list[Lease], list[Worker]]:
        return (
            lease.renew(connection, held, self.me.id, self._times),
            lease.alive(connection, self.me, self._times),
        )

    async def _share(self, group: asyncio.TaskGroup, workers: int) -> None:
        fair = SHARDS if self._alone else math.ceil(SHARDS / workers)
        if len(self._held) - len(self._leaving) > fair:
            leaving = max(set(self._held) - self._leaving)
            self._leaving.add(leaving)
            group.create_task(self._give(leaving))
        elif len(self._held) < fair:
            await self._take(fair - len(self._held))

    async def _take(self, wanted: int) -> None:
        missing = [_name(shard) for shard in range(SHARDS) if shard not in self._held]
        taken = await self._written(
            lambda connection: lease.acquire(
                connection, missing, self.me.id, force=self._alone, limit=wanted, times=self._times
            )
        )
        self._held |= {_number(one): one for one in taken}
        if taken:
            await self._welcome(frozenset(map(_number, taken)))

    async def _welcome(self, shards: Set[int]) -> None:
        for tenant in self._tenants:
            try:
                await tenant.came(shards)
            except StorageError as error:
                log.error("what waits in %d new shards is found later: %s", len(shards), error)

    async def _give(self, shard: int) -> None:
        """Give one back once its turns have ended; until then it is renewed like the others."""
        epoch = self._held[shard].epoch
        try:
            for tenant in self._tenants:
                await tenant.leaving(frozenset({shard}))
            gone = self._held.get(shard)
            if gone is not None and gone.epoch == epoch:
                del self._held[shard]
                await self._database.write(lambda connection: lease.release(connection, [gone], self.me.id))
        except StorageError as error:
            log.warning("a shard that was given away is free once its lease has run out: %s", error)
        finally:
            self._leaving.discard(shard)

    async def _drop(self, gone: Set[int]) -> None:
        for shard in gone:
            self._held.pop(shard, None)
            self._leaving.discard(shard)
        if not gone:
            return
        log.warning("lost %d shards to the clock or to another worker", len(gone))
        for tenant in self._tenants:
            await tenant.lost(frozenset(gone))
