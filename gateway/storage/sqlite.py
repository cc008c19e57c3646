"""SQLite: one writer thread that shares commits among those who wait, and threads that read."""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool

from gateway.errors import StorageError
from gateway.storage.database import NOT_OPEN, Database, Job, T, hear, in_thread
from gateway.storage.handover import Failed, tell, tried
from gateway.storage.migrate import migrate

log = logging.getLogger(__name__)

SHARE = 64
"""Jobs that may share one commit; more wait for the next."""
READERS = 3
WATCH_SECONDS = 0.2
"""How soon it is seen that another process has written."""
BUSY_SECONDS = 10.0
"""How long a job waits for another process (a CLI command) that writes."""


@dataclass(frozen=True, slots=True)
class _Order:
    job: Callable[[Connection], Any]
    future: asyncio.Future[Any]


class SQLite(Database):
    """A file in WAL mode with synchronous=FULL: a write that returned survives a power cut."""

    def __init__(self, path: Path, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self._path = path
        self.url = f"sqlite:///{path}"
        self._orders: queue.SimpleQueue[_Order | None] = queue.SimpleQueue()
        self._busy_seconds = busy_seconds
        self._open = False

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._readers = ThreadPoolExecutor(READERS, "sqlite-read")
        self._reading = _engine(self._path, "BEGIN", READERS, self._busy_seconds, read_only=True)
        self._writing = _engine(self._path, "BEGIN IMMEDIATE", 1, self._busy_seconds)
        self._writer = threading.Thread(target=self._write_on, name="sqlite-write", daemon=True)
        self._writer.start()
        self._open = True
        try:
            await in_thread(self._readers, self._prepare)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close once everything that was handed over is stored."""
        self._open = False
        self._orders.put(None)
        await asyncio.to_thread(self._end)

    def _end(self) -> None:
        self._writer.join()
        self._readers.shutdown(wait=True)
        self._reading.dispose()
        self._writing.dispose()

    def _prepare(self) -> None:
        with _reached(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
        with told(self._path), self._writing.begin() as connection:
            migrate(connection)

    async def write(self, job: Job[T]) -> T:
        if not self._open:
            raise StorageError(NOT_OPEN)
        future: asyncio.Future[T] = self._loop.create_future()
        future.add_done_callback(hear)
        self._orders.put(_Order(job, future))
        return await asyncio.shield(future)

    async def read(self, job: Job[T]) -> T:
        if not self._open:
            raise StorageError(NOT_OPEN)
        return await in_thread(self._readers, lambda: self._once(self._reading, job))

    async def changes(self, seconds: float) -> AsyncGenerator[None, None]:
        """Ask a number that rises with every commit of another connection: some microseconds, and no disk is read."""
        clock = asyncio.get_running_loop().time
        with closing(sqlite3.connect(self._path, timeout=0, isolation_level=None)) as watching:
            seen, since = _version(watching), clock()
            while True:
                await asyncio.sleep(min(WATCH_SECONDS, seconds))
                if (now := _version(watching)) != seen or clock() - since >= seconds:
                    seen, since = now, clock()
                    yield

    def _once(self, engine: Engine, job: Job[T]) -> T:
        with told(self._path), engine.begin() as connection:
            return job(connection)

    def _write_on(self) -> None:
        """Be the writer thread: until told to end, commit whatever waits, together."""
        ended = False
        while not ended:
            orders = [self._orders.get()]
            while len(orders) < SHARE and not self._orders.empty():
                orders.append(self._orders.get())
            ended = None in orders
            batch = [order for order in orders if order is not None]
            if batch:
                results = self._commit([order.job for order in batch])
                tell(list(zip([order.future for order in batch], results, strict=True)), "writes, which are stored")

    def _commit(self, jobs: Sequence[Job[Any]]) -> list[Any]:
        """Return what each job gave, or how it failed. Where a shared commit fails, each job gets one of its own."""
        began = False
        try:
            if len(jobs) > 1:
                with told(self._path), self._writing.begin() as connection:
                    began = True
                    return [self._beside(job, connection) for job in jobs]
        except StorageError as error:
            if not began:
                return [Failed(error)] * len(jobs)
        return [tried(partial(self._once, self._writing, job)) for job in jobs]

    def _beside(self, job: Job[Any], connection: Connection) -> Any:
        """Run one of several jobs of a commit in a savepoint of its own."""
        # Said to the driver, since SQLAlchemy compiles its own savepoint statements anew each time.
        connection.exec_driver_sql("SAVEPOINT job")
        result = tried(partial(self._said, job, connection))
        if isinstance(result, Failed):
            connection.exec_driver_sql("ROLLBACK TO job")
        connection.exec_driver_sql("RELEASE job")
        return result

    def _said(self, job: Job[T], connection: Connection) -> T:
        with told(self._path):
            return job(connection)


def _version(connection: sqlite3.Connection) -> int:
    """Return the number of the newest commit this connection has seen (sqlite.org/pragma.html#pragma_data_version)."""
    try:
        return int(connection.execute("PRAGMA data_version").fetchone()[0])
    except sqlite3.Error:
        return -1  # locked, or gone; whoever reads now is told which


def _engine(path: Path, begin: str, connections: int, busy_seconds: float, *, read_only: bool = False) -> Engine:
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": busy_seconds, "check_same_thread": False},
        poolclass=QueuePool,
        pool_size=connections,
    )

    @event.listens_for(engine, "connect")
    def _connected(connection: sqlite3.Connection, record: object) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves; the driver's own rule breaks savepoints
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "temp_store=MEMORY"):
            connection.execute(f"PRAGMA {pragma}")
        if read_only:
            connection.execute("PRAGMA query_only=ON")

    @event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn what SQLite says into one sentence."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        said = str(getattr(error, "orig", error))
        raise StorageError(_sentence(said, path), lasting=any(sign in said for sign in LASTING)) from error


@contextmanager
def _reached(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path} cannot be reached: {error.strerror or error}; set gateway.database") from error


LASTING = ("malformed", "not a database", "readonly", "unable to open")
"""What SQLite says where trying again does not help."""


def _sentence(said: str, path: Path) -> str:
    known = {
        "locked": f"{path} is locked by another program; close it and try again",
        "is full": f"the disk that holds {path} is full; free some space, nothing was lost",
        "malformed": f"{path} is damaged; restore a backup, or move the file away to start afresh",
        "not a database": f"{path} is not a SQLite database; move the file away or set gateway.database",
        "readonly": f"{path} cannot be written; check its owner and the folder's permissions",
        "unable to open": f"{path} cannot be opened; check that the folder exists and may be written",
        "disk I/O": f"the disk that holds {path} reports an error; check it before anything else",
    }
    return next((text for sign, text in known.items() if sign in said), f"{path}: {said}")


def choose_file(path: Path, patience: float = BUSY_SECONDS) -> Path:
    """
    Return the file that is ours: `path`, or ``gateway.db`` beside a ``state.db`` that holds another program's tables.

    Raises `StorageError` where both are ours, and where another file than ``state.db`` is another program's.
    """
    mine, empty = _ours(path, patience), not _names(path, patience)
    if path.name != "state.db":
        if mine or empty:
            return path
        raise StorageError(
            f"{path} holds another program's tables; set gateway.database to a file of our own", lasting=True
        )
    beside = path.with_name("gateway.db")
    other = _ours(beside, patience)
    if mine and other:
        raise StorageError(
            f"{path} and {beside.name} both hold our tables; move away the one you do not want", lasting=True
        )
    if mine or (empty and not other):
        return path
    if not empty:
        log.warning("%s belongs to another program and is left alone; we use %s", path, beside.name)
    return beside


def _ours(path: Path, patience: float) -> bool:
    return {"alembic_version", "lanes"} <= _names(path, patience)


def _names(path: Path, patience: float) -> set[str]:
    """Return the tables of a file; none where there is no file."""
    with _reached(path):
        if not path.exists():
            return set()
    with told(path):
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=patience)
        try:
            return {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        finally:
            connection.close()
