"""A thing that only one process may do at a time, such as listening to an account: done while a lease is held."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from gateway.errors import StorageError
from gateway.storage import lease
from gateway.storage.database import Database
from gateway.storage.lease import USUAL, Lease, LeaseTimes, boot_time
from gateway.supervise import beside

log = logging.getLogger(__name__)

Work = Callable[[], Awaitable[None]]


class Duty:
    """`force` takes the lease whoever holds it: only for a process that knows it is alone."""

    def __init__(self, database: Database, name: str, owner: str, *, force: bool, times: LeaseTimes = USUAL) -> None:
        self._database = database
        self._name = name
        self._owner = owner
        self._force = force
        self._times = times
        self._held: Lease | None = None

    async def run(self, work: Work) -> None:
        """Wait for the lease, do the work until it ends or the lease is lost, and give the lease back."""
        while self._held is None:
            self._held = await self._take()
            if self._held is None:
                await asyncio.sleep(self._times.renew)
        try:
            async with beside(self._renew()) as (renewing,):
                await _first(renewing, work)
        finally:
            await self._give_back()

    async def _take(self) -> Lease | None:
        taken = await self._database.write(
            lambda connection: lease.acquire(
                connection, [self._name], self._owner, force=self._force, times=self._times
            )
        )
        return taken[0] if taken else None

    async def _renew(self) -> None:
        """Renew until it fails for good; returning means that the lease is lost, or may be."""
        while self._held is not None and self._held.held:
            await asyncio.sleep(self._times.renew)
            try:
                # A database that does not answer must not keep us believing.
                async with asyncio.timeout(self._held.until - boot_time()):
                    self._held = await self._renewed(self._held)
            except (StorageError, TimeoutError) as error:
                log.error(
                    "the lease of %s could not be renewed: %s", self._name, str(error) or "the database is silent"
                )
        log.warning("%s is another process's now", self._name)

    async def _renewed(self, held: Lease) -> Lease | None:
        kept = await self._database.write(lambda connection: lease.renew(connection, [held], self._owner, self._times))
        return kept[0] if kept else None

    async def _give_back(self) -> None:
        held, self._held = self._held, None
        if held is None:
            return
        try:
            async with asyncio.timeout(self._times.held):  # after which it is free anyway
                await self._database.write(lambda connection: lease.release(connection, [held], self._owner))
        except (StorageError, TimeoutError) as error:
            log.info("the lease of %s runs out by itself: %s", self._name, error)


async def _first(renewing: asyncio.Task[None], work: Work) -> None:
    """Do the work until it ends, raises, or the lease is lost."""

    async def doing() -> None:
        await work()

    async with beside(doing()) as (working,):
        await asyncio.wait({renewing, working}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            await working
