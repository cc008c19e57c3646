"""The file of facts: which one it is, its tables, and the thread in which it is used."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Self, TypeVar

from gateway.contracts.resource import Resource
from gateway.errors import StorageError
from gateway.storage.database import in_thread

log = logging.getLogger(__name__)
T = TypeVar("T")

OURS = 0x48474D46
"""The application id of a file with our tables; other programs have facts in a file of this name too."""
BUSY_SECONDS = 10.0

TABLES = """
CREATE TABLE IF NOT EXISTS facts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    content TEXT NOT NULL,
    category TEXT NOT NULL,
    tags TEXT NOT NULL,
    noted INTEGER NOT NULL, -- 1: it mirrors an entry of the notes
    trust REAL NOT NULL,
    helpful INTEGER NOT NULL DEFAULT 0,
    terms INTEGER NOT NULL, -- how many the content and the tags have
    created REAL NOT NULL, -- seconds since 1970
    updated REAL NOT NULL,
    UNIQUE (owner, content)
);
CREATE TABLE IF NOT EXISTS terms (
    owner TEXT NOT NULL, term TEXT NOT NULL, fact INTEGER NOT NULL, PRIMARY KEY (owner, term, fact)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS terms_of_a_fact ON terms (fact);
CREATE TABLE IF NOT EXISTS names (
    owner TEXT NOT NULL, name TEXT NOT NULL, fact INTEGER NOT NULL, PRIMARY KEY (owner, name, fact)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS names_of_a_fact ON names (fact);
"""
# The index is a table of ours and not FTS5: its figures then depend on one owner alone, and what is erased is gone.


class FactsFile(Resource):
    """A SQLite file in WAL mode, which several processes may share. A job runs whole, in one transaction."""

    def __init__(self, home: Path) -> None:
        self._home = home

    async def __aenter__(self) -> Self:
        self._thread = ThreadPoolExecutor(1, "memory-facts")
        try:
            self.path = await in_thread(self._thread, self._open)
        except BaseException:
            self._thread.shutdown(wait=False)
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await in_thread(self._thread, self._connection.close)
        self._thread.shutdown(wait=False)

    async def run(self, job: Callable[[sqlite3.Connection], T], *, write: bool = False) -> T:
        """Run a job in the file's thread and return once it is durable; raise `StorageError` where the file refuses."""
        return await in_thread(self._thread, lambda: self._transaction(job, write=write))

    async def settle(self) -> None:
        """Move what was written into the file itself, so that what was erased is in no log beside it either."""
        await in_thread(self._thread, self._settle)

    def _settle(self) -> None:
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as error:
            raise _refused(self.path, error) from error

    def _transaction(self, job: Callable[[sqlite3.Connection], T], *, write: bool) -> T:
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                result = job(connection)
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise _refused(self.path, error) from error
        return result

    def _open(self) -> Path:
        path = _choose(self._home)
        try:
            if not path.exists() or not path.stat().st_size:
                # Before WAL, so that the mark is in the file itself whatever happens next.
                with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as fresh:
                    fresh.execute(f"PRAGMA application_id = {OURS}")
            self._connection = sqlite3.connect(
                path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            with _closed_on_error(self._connection):
                for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
                    self._connection.execute(f"PRAGMA {pragma}")
                self._connection.executescript(f"BEGIN IMMEDIATE; {TABLES} COMMIT;")
        except (sqlite3.Error, OSError) as error:
            raise _refused(path, error) from error
        return path


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _choose(home: Path) -> Path:
    """Return the file of the reference's name, or another beside it where that one is another program's."""
    usual, beside = home / "memory_store.db", home / "memory_store.gateway.db"
    if _mark(usual) == OURS:
        return usual
    if beside.exists():
        return beside
    if _mark(usual) is None:
        return usual
    log.warning("%s is another program's and stays as it is; facts are kept in %s", usual, beside.name)
    return beside


def _mark(path: Path) -> int | None:
    """Read the application id out of the header, see sqlite.org/fileformat2.html; None where there is no database."""
    try:
        with path.open("rb") as file:
            header = file.read(72)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refused(path, error) from error
    return int.from_bytes(header[68:], "big") if header else None


def _refused(path: Path, error: sqlite3.Error | OSError) -> StorageError:
    return StorageError(f"the facts in {path} cannot be used: {error}")
