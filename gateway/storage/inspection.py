"""Looks at a database without changing it: whether it is there, which schema it has, and whether it is whole.

For a check of the installation. Everybody else opens the database, which makes it and brings it up to date.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from gateway.errors import StorageError
from gateway.storage import open_database
from gateway.storage.database import Job, T
from gateway.storage.migrate import FOLDER, current
from gateway.storage.sqlite import told

FILE = "sqlite:///"
WAIT_SECONDS = 5
PATIENCE = 2.0
"""Seconds that another program may keep a file locked: longer than any write of ours, and short for who looks on."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """`place` is where the rows are, without a password; `schema` is empty where there are none yet."""

    place: str
    exists: bool
    schema: str = ""
    newest: str = ""

    @property
    def newer(self) -> bool:
        """Say whether the schema is of a later version than this one."""
        return self.schema > self.newest


def inspect(url: str, home: Path, *, thorough: bool = False) -> Inspection:
    """
    Look, and raise `StorageError` or `ConfigError` with one sentence where the database cannot be used.

    `thorough` reads the whole file of a SQLite database once, to find damage, and finds out whether it can be written.
    """
    with _looking(url, home) as (place, connection):
        if connection is None:
            return Inspection(place, exists=False, newest=_newest())
        schema = current(connection)
        if thorough and place.startswith(FILE):
            _check(connection, place)
            _check_lock(Path(place.removeprefix(FILE)))
    return Inspection(place, exists=True, schema=schema, newest=_newest())


def read(url: str, home: Path, job: Job[T]) -> T | None:
    """Run a job that only reads; None where there is no database, or none with this version's schema."""
    with _looking(url, home) as (_, connection):
        return job(connection) if connection is not None and current(connection) == _newest() else None


def _newest() -> str:
    return max(path.stem for path in (FOLDER / "versions").glob("[0-9]*.py"))


@contextmanager
def _looking(url: str, home: Path) -> Iterator[tuple[str, Connection | None]]:
    """Yield where the database is, and a connection that cannot write; None where there is no file."""
    place = open_database(url, home, patience=PATIENCE).url
    file = Path(place.removeprefix(FILE)) if place.startswith(FILE) else None
    if file is not None and not file.exists():
        yield place, None
        return
    engine = _read_only(file) if file is not None else _server(url)
    try:
        with told(file) if file is not None else _answered(place), engine.connect() as connection:
            yield place, connection
    finally:
        engine.dispose()


def _read_only(file: Path) -> Engine:
    uri = f"{file.absolute().as_uri()}?mode=ro"
    return create_engine(
        "sqlite://", creator=lambda: sqlite3.connect(uri, uri=True, timeout=PATIENCE), poolclass=NullPool
    )


def _server(url: str) -> Engine:
    parsed = make_url(url).set(drivername="postgresql+psycopg")
    return create_engine(parsed, poolclass=NullPool, connect_args={"connect_timeout": WAIT_SECONDS})


@contextmanager
def _answered(place: str) -> Iterator[None]:
    """Turn what a server says into one sentence."""
    try:
        yield
    except DBAPIError as error:
        raise StorageError(f"{place} cannot be read: {_first_line(error)}") from error


def _check(connection: Connection, place: str) -> None:
    found = str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar())
    if found != "ok":
        raise StorageError(f"{place} is damaged: {found.partition(chr(10))[0]}")


def _check_lock(file: Path) -> None:
    """Raise where another program keeps everybody from writing; who may not write at all is not asked."""
    if not os.access(file, os.W_OK):
        return
    with told(file), closing(sqlite3.connect(file, timeout=PATIENCE, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")


def _first_line(error: DBAPIError) -> str:
    return str(error.orig).strip().partition("\n")[0]
