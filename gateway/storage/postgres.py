"""Postgres: a pool of connections and a thread for each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Self

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError

from gateway.errors import ConfigError, StorageError
from gateway.storage.database import NOT_OPEN, Database, Job, T, in_thread
from gateway.storage.migrate import migrate

CONNECTIONS = 8
TRIES = 3
"""How often a job runs that the server gave up for a deadlock."""
MIGRATING = 0x6865726D6573
"""The advisory lock under which one process at a time brings the schema up to date."""
ALONE = MIGRATING + 1
"""The advisory lock that a gateway holds which shares the rows with no other."""
HOLD_SECONDS, HOLD_PAUSE = 3.0, 0.1
"""How long the server may take to notice that the holder was killed, and how often it is asked."""
STAYING = {
    "idle_in_transaction_session_timeout": 0,
    "tcp_keepalives_idle": 10,
    "tcp_keepalives_interval": 5,
    "tcp_keepalives_count": 3,
}
"""Seconds: the holder may be idle, but is missed soon where its machine is gone."""
OPTIONS = {"prepare_threshold": None, "connect_timeout": 10}
GIVEN_UP = {"40001", "40P01"}
"""SQLSTATE serialization_failure and deadlock_detected (PostgreSQL, Appendix A)."""


class Postgres(Database):
    """A server that many processes share. The commit returns when the server says it is durable."""

    def __init__(self, url: str) -> None:
        parsed = _parsed(url)
        self.url = _shown(parsed)
        self._open = False
        try:
            self._engine = create_engine(
                parsed,
                pool_size=CONNECTIONS,
                max_overflow=0,
                pool_pre_ping=True,
                connect_args=OPTIONS,
            )
        except ModuleNotFoundError as error:
            raise ConfigError(
                "gateway.database: the Postgres driver is not installed", hint="install hermes-gateway[postgres]"
            ) from error

        # A job that writes through the wrong door would work here and fail on SQLite.
        self._reading = self._engine.execution_options(postgresql_readonly=True)

    async def __aenter__(self) -> Self:
        self._threads = ThreadPoolExecutor(CONNECTIONS, "postgres")
        self._sole: Connection | None = None
        self._open = True
        try:
            await in_thread(self._threads, self._prepare)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close once everything that was handed over has ended."""
        self._open = False
        await asyncio.to_thread(self._end)

    def _end(self) -> None:
        self._threads.shutdown()
        if self._sole is not None:
            self._sole.close()
        self._engine.dispose()

    def _prepare(self) -> None:
        with self._told(), self._engine.begin() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATING})
            migrate(connection)

    async def hold(self) -> None:
        await in_thread(self._threads, self._hold)

    def _hold(self) -> None:
        if self._sole is not None:
            try:
                self._sole.execute(text("SELECT 1"))
                return
            except DBAPIError:
                self._sole.invalidate()
                self._sole.close()
                self._sole = None
        with self._told():
            self._sole = self._locked()

    def _locked(self) -> Connection:
        """Return a connection beside the pool whose open transaction holds the lock, wherever a pooler may put it."""
        engine = create_engine(self._engine.url, poolclass=NullPool, connect_args=OPTIONS)
        connection = engine.connect()
        for setting, value in STAYING.items():
            connection.execute(text(f"SET LOCAL {setting} = {value}"))
        until = time.monotonic() + HOLD_SECONDS
        while not connection.execute(text("SELECT pg_try_advisory_xact_lock(:lock)"), {"lock": ALONE}).scalar_one():
            if time.monotonic() > until:
                connection.close()
                raise StorageError(
                    f"another gateway without Redis uses {self.url}: end it, give this one a database of its own, "
                    "or set gateway.bus of both to redis://…"
                )
            time.sleep(HOLD_PAUSE)
        return connection

    async def write(self, job: Job[T]) -> T:
        return await self._run(self._engine, job)

    async def read(self, job: Job[T]) -> T:
        return await self._run(self._reading, job)

    async def _run(self, engine: Engine, job: Job[T]) -> T:
        if not self._open:
            raise StorageError(NOT_OPEN)
        return await in_thread(self._threads, lambda: self._tried(engine, job))

    def _tried(self, engine: Engine, job: Job[T]) -> T:
        """Run the job, again where the server gave it up for another's sake."""
        with self._told():
            for _ in range(TRIES - 1):
                try:
                    with engine.begin() as connection:
                        return job(connection)
                except OperationalError as error:
                    if getattr(error.orig, "sqlstate", None) not in GIVEN_UP:
                        raise
            with engine.begin() as connection:
                return job(connection)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn what the server says into one sentence."""
        try:
            yield
        except (OperationalError, InterfaceError) as error:
            first = str(error.orig).strip().partition("\n")[0]
            raise StorageError(f"{self.url} cannot be used: {first}; check gateway.database and the server") from error
        except DBAPIError as error:
            raise StorageError(f"{self.url}: {str(error.orig).strip().partition(chr(10))[0]}") from error


def _parsed(url: str) -> URL:
    try:
        return make_url(url).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError) as error:
        raise ConfigError(
            "gateway.database: this URL cannot be read", hint="write postgresql://user:password@host:5432/name"
        ) from error


def _shown(url: URL) -> str:
    """Return the URL as a person may see it: libpq takes passwords in the query, too."""
    secret = [name for name in url.query if "password" in name]
    shown = url.set(drivername="postgresql").difference_update_query(secret)
    return shown.render_as_string(hide_password=True)
