"""Looks at a database without changing it: whether it is there, which schema it has, and whether it is whole.

For a check of the installation. Everybody else opens the database, which makes it and brings it up to date.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from gateway.errors import StorageError
from gateway.storage import open_database
from gateway.storage.migrate import FOLDER, current

FILE = "sqlite:///"
WAIT_SECONDS = 5


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

    `thorough` reads the whole file of a SQLite database once, to find damage.
    """
    place = open_database(url, home).url
    newest = max(path.stem for path in (FOLDER / "versions").glob("[0-9]*.py"))
    file = Path(place.removeprefix(FILE)) if place.startswith(FILE) else None
    if file is not None and not file.exists():
        return Inspection(place, exists=False, newest=newest)
    engine = _read_only(file) if file is not None else _server(url)
    try:
        with engine.connect() as connection:
            schema = current(connection)
            if thorough and file is not None:
                _check(connection, place)
    except DBAPIError as error:
        raise StorageError(f"{place} cannot be read: {_first_line(error)}") from error
    finally:
        engine.dispose()
    return Inspection(place, exists=True, schema=schema, newest=newest)


def _read_only(file: Path) -> Engine:
    uri = f"{file.absolute().as_uri()}?mode=ro"
    return create_engine(
        "sqlite://", creator=lambda: sqlite3.connect(uri, uri=True, timeout=WAIT_SECONDS), poolclass=NullPool
    )


def _server(url: str) -> Engine:
    parsed = make_url(url).set(drivername="postgresql+psycopg")
    return create_engine(parsed, poolclass=NullPool, connect_args={"connect_timeout": WAIT_SECONDS})


def _check(connection: Connection, place: str) -> None:
    found = str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar())
    if found != "ok":
        raise StorageError(f"{place} is damaged: {found.partition(chr(10))[0]}")


def _first_line(error: DBAPIError) -> str:
    return str(error.orig).strip().partition("\n")[0]
