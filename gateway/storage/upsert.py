"""Statements that the two databases spell differently, each built once and only for the database that is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from sqlalchemy import Connection, Executable, Table
from sqlalchemy.dialects import sqlite

Make = Callable[[Table], sqlite.Insert]


def upsert(connection: Connection, table: Table) -> sqlite.Insert:
    """Return an insert with ``on_conflict_do_nothing`` and ``on_conflict_do_update``, in the connection's dialect."""
    return _maker(connection.dialect.name)(table)


class Upsert:
    """
    An ON CONFLICT statement of a hot path: `build` is called once per dialect.

    Building a statement and its cache key costs several times what running it does.
    """

    def __init__(self, build: Callable[[Make], Executable]) -> None:
        self._build = build
        self._statements: dict[str, Executable] = {}

    def of(self, connection: Connection) -> Executable:
        """Return the statement in the connection's dialect."""
        name = connection.dialect.name
        if name not in self._statements:
            self._statements[name] = self._build(_maker(name))
        return self._statements[name]


def _maker(dialect: str) -> Make:
    if dialect == "sqlite":
        return sqlite.insert
    from sqlalchemy.dialects import postgresql  # a tenth of the time a start on SQLite takes

    return cast("Make", postgresql.insert)
