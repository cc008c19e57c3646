"""Database: two doors to the rows, `write` and `read`, the same over SQLite and Postgres."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sqlalchemy import Connection

from gateway.contracts.resource import Resource

__all__ = ["Connection", "Database", "Job", "T", "in_thread"]

T = TypeVar("T")
Job = Callable[[Connection], T]

NOT_OPEN = "the database is not open"


class Database(Resource, ABC):
    """
    The only store of record.

    A job is a plain function of an open connection; it runs in a thread, whole and in one transaction. A job that was
    handed over runs even if its caller is cancelled: what happened is read from the rows. A job may run twice (after a
    deadlock, or where the commit it shared failed), so it touches nothing but its connection. Raises `StorageError`
    with one sentence where the database itself refuses; whatever the job raises rolls it back and reaches the caller.
    """

    url: str
    """Where the rows are, without a password."""

    @abstractmethod
    async def write(self, job: Job[T]) -> T:
        """Run a job in a transaction of its own and return once it is durable."""

    async def hold(self) -> None:
        """
        Keep other gateways off that believe, as we do, to be alone on these rows; `StorageError` where one is there.

        Holds until the database is closed; called again, it holds again what the server may have let go meanwhile. A
        file needs nothing, since its gateways meet at the lock of its home.
        """
        return

    @abstractmethod
    async def read(self, job: Job[T]) -> T:
        """Run a job that only reads; it sees every write that has returned."""

    async def changes(self, seconds: float) -> AsyncGenerator[None, None]:
        """Yield every so many seconds, and earlier where another process may have written, if that can be told."""
        while True:
            await asyncio.sleep(seconds)
            yield


async def in_thread(pool: ThreadPoolExecutor, run: Callable[[], T]) -> T:
    """Run to the end in a thread of the pool, even if the caller is cancelled."""
    future = asyncio.get_running_loop().run_in_executor(pool, whole, run)
    future.add_done_callback(hear)
    return await asyncio.shield(future)


def whole(run: Callable[[], T]) -> T:
    """Run; a `StopIteration` of it comes out as another error, since no future can hold one."""
    try:
        return run()
    except StopIteration as error:
        raise RuntimeError("a job ended with StopIteration") from error


def hear(future: asyncio.Future[T]) -> None:
    """Take note of an error nobody is left to hear."""
    if not future.cancelled():
        future.exception()
