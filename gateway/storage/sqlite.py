"""SQLite: one writer thread that shares commits among those who wait, and threads that read."""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool, QueuePool

from gateway.errors import StorageError
from gateway.storage.database import Database, Job, T, _hear, in_thread
from gateway.storage.migrate import migrate

log = logging.getLogger(__name__)

SHARE = 64
"""Jobs that may share one commit; more wait for the next."""
READERS = 3
BUSY_SECONDS = 10.0
"""How long a job waits for another process (a CLI command) that writes."""


@dataclass(frozen=True, slots=True)
class _Order:
    job: Callable[[Connection], Any]
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop


class SQLite(Database):
    """A file in WAL mode with synchronous=FULL: a write that returned survives a power cut."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.url = f"sqlite:///{path}"
        self._orders: queue.SimpleQueue[_Order | None] = queue.SimpleQueue()

    async def __aenter__(self) -> Self:
        self._readers = ThreadPoolExecutor(READERS, "sqlite-read")
        self._reading = _engine(self._path, "BEGIN", read_only=True)
        self._writing = _engine(self._path, "BEGIN IMMEDIATE")
        await in_thread(self._readers, self._prepare)
        self._writer = threading.Thread(target=self._write_on, name="sqlite-write", daemon=True)
        self._writer.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._orders.put(None)
        await in_thread(self._readers, self._writer.join)
        self._readers.shutdown(wait=True)
        self._reading.dispose()
        self._writing.dispose()

    def _prepare(self) -> None:
        with _told(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._writing.connect() as connection, connection.begin():
                migrate(connection)

    async def write(self, job: Job[T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        future.add_done_callback(_hear)
        self._orders.put(_Order(job, future, loop))
        return await asyncio.shield(future)

    async def read(self, job: Job[T]) -> T:
        return await in_thread(self._readers, lambda: self._read(job))

    def _read(self, job: Job[T]) -> T:
        with _told(self._path), self._reading.connect() as connection, connection.begin():
            return job(connection)

    def _write_on(self) -> None:
        """Be the writer thread: until told to end, commit whatever waits, together."""
        with self._writing.connect() as connection:
            ended = False
            while not ended:
                orders = [self._orders.get()]
                while len(orders) < SHARE and not self._orders.empty():
                    orders.append(self._orders.get())
                ended = None in orders
                batch = [order for order in orders if order is not None]
                if batch:
                    _answer(batch, self._commit(connection, batch))

    def _commit(self, connection: Connection, batch: list[_Order]) -> list[Any]:
        """Return what each job gave, or the exception it ended with."""
        results: list[Any] = []
        try:
            with _told(self._path), connection.begin() as transaction:
                if len(batch) == 1:
                    results.append(_alone(batch[0].job, connection))
                    if isinstance(results[0], _Failed):
                        transaction.rollback()
                else:
                    results += [self._beside(order.job, connection) for order in batch]
        except Exception as error:  # noqa: BLE001 - the writer thread must outlive any commit
            return [result if isinstance(result, _Failed) else _Failed(error) for result in results] + [
                _Failed(error) for _ in batch[len(results) :]
            ]
        return results

    def _beside(self, job: Callable[[Connection], Any], connection: Connection) -> Any:
        """Run one of several jobs of a commit in a savepoint of its own."""
        savepoint = connection.begin_nested()
        result = _alone(job, connection)
        if isinstance(result, _Failed):
            savepoint.rollback()
        else:
            savepoint.commit()
        return result


@dataclass(frozen=True, slots=True)
class _Failed:
    error: BaseException


def _alone(job: Callable[[Connection], Any], connection: Connection) -> Any:
    try:
        with _told(None):
            return job(connection)
    except Exception as error:  # noqa: BLE001 - the job's error is its caller's
        return _Failed(error)


def _answer(batch: list[_Order], results: list[Any]) -> None:
    """Hand the results over with one wake-up of the loop."""

    def hand_over() -> None:
        for order, result in zip(batch, results, strict=True):
            if order.future.done():
                continue
            if isinstance(result, _Failed):
                order.future.set_exception(result.error)
            else:
                order.future.set_result(result)

    try:
        batch[0].loop.call_soon_threadsafe(hand_over)
    except RuntimeError:
        log.warning("the event loop ended before it heard of %d writes; they are stored", len(batch))


def _engine(path: Path, begin: str, *, read_only: bool = False) -> Engine:
    pool: dict[str, Any] = {"poolclass": QueuePool, "pool_size": READERS} if read_only else {"poolclass": NullPool}
    engine = create_engine(
        f"sqlite:///{path}", connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False}, **pool
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
def _told(path: Path | None) -> Iterator[None]:
    """Turn what SQLite says into one sentence."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        raise StorageError(_sentence(str(getattr(error, "orig", error)), path)) from error
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}") from error


def _sentence(said: str, path: Path | None) -> str:
    where = path or "the database"
    known = {
        "locked": f"{where} is locked by another program; close it and try again",
        "is full": f"the disk that holds {where} is full; free some space, nothing was lost",
        "malformed": f"{where} is damaged; restore a backup, or move the file away to start afresh",
        "not a database": f"{where} is not a SQLite database; move the file away or set gateway.database",
        "readonly": f"{where} cannot be written; check its owner and the folder's permissions",
        "unable to open": f"{where} cannot be opened; check that the folder exists and may be written",
        "disk I/O": f"the disk that holds {where} reports an error; check it before anything else",
    }
    return next((text for sign, text in known.items() if sign in said), f"{where}: {said}")


def choose_file(path: Path) -> Path:
    """
    Return the file that is ours: `path`, or ``gateway.db`` beside it where another program's tables are in `path`.

    Raises `StorageError` where both are ours.
    """
    beside = path.with_name("gateway.db")
    if path.name != "state.db" or not path.exists():
        return beside if path.name == "state.db" and _ours(beside) else path
    mine, other = _ours(path), _ours(beside)
    if mine and other:
        raise StorageError(f"{path} and {beside.name} both hold our tables; move away the one you do not want")
    if mine or _empty(path):
        return path
    log.warning("%s belongs to another program and is left alone; we use %s", path, beside.name)
    return beside


def _ours(path: Path) -> bool:
    return "alembic_version" in _names(path) and "lanes" in _names(path)


def _empty(path: Path) -> bool:
    return not _names(path)


def _names(path: Path) -> set[str]:
    if not path.exists():
        return set()
    with _told(path):
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=BUSY_SECONDS)
        try:
            return {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        finally:
            connection.close()
