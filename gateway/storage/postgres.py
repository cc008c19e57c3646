"""Postgres: a pool of connections and a thread for each."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Self

from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from gateway.errors import ConfigError, StorageError
from gateway.storage.database import Database, Job, T, in_thread
from gateway.storage.migrate import migrate

CONNECTIONS = 8
TRIES = 3
"""How often a job runs that the server gave up for a deadlock."""
MIGRATING = 0x6865726D6573
"""The advisory lock under which one process at a time brings the schema up to date."""
GIVEN_UP = {"40001", "40P01"}
"""SQLSTATE serialization_failure and deadlock_detected (PostgreSQL, Appendix A)."""


class Postgres(Database):
    """A server that many processes share. The commit returns when the server says it is durable."""

    def __init__(self, url: str) -> None:
        parsed = make_url(url).set(drivername="postgresql+psycopg")
        self.url = parsed.set(drivername="postgresql").render_as_string(hide_password=True)
        try:
            self._engine = create_engine(
                parsed,
                pool_size=CONNECTIONS,
                max_overflow=0,
                pool_pre_ping=True,
                connect_args={"prepare_threshold": None, "connect_timeout": 10},
            )
        except ModuleNotFoundError as error:
            raise ConfigError(
                "gateway.database: the Postgres driver is not installed", hint="install hermes-gateway[postgres]"
            ) from error

    async def __aenter__(self) -> Self:
        self._threads = ThreadPoolExecutor(CONNECTIONS, "postgres")
        await in_thread(self._threads, self._prepare)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._threads.shutdown(wait=True)
        self._engine.dispose()

    def _prepare(self) -> None:
        with self._told(), self._engine.begin() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATING})
            migrate(connection)

    async def write(self, job: Job[T]) -> T:
        return await in_thread(self._threads, lambda: self._run(job))

    async def read(self, job: Job[T]) -> T:
        return await in_thread(self._threads, lambda: self._run(job))

    def _run(self, job: Job[T]) -> T:
        with self._told():
            for _ in range(TRIES - 1):
                try:
                    with self._engine.begin() as connection:
                        return job(connection)
                except OperationalError as error:
                    if getattr(error.orig, "sqlstate", None) not in GIVEN_UP:
                        raise
            with self._engine.begin() as connection:
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
