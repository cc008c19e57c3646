"""Statements that the two databases spell differently, built once for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from sqlalchemy import Connection, Executable, Table
from sqlalchemy.dialects import postgresql, sqlite

Make = Callable[[Table], sqlite.Insert]


def upsert(connection: Connection, table: Table) -> sqlite.Insert:
    """Return an insert with ``on_conflict_do_nothing`` and ``on_conflict_do_update``, in the connection's dialect."""
    return _MAKERS[connection.dialect.name](table)


class Upsert:
    """
    An ON CONFLICT statement of a hot path: `build` is called once per dialect, at import.

    Building a statement and its cache key costs several times what running it does.
    """

    def __init__(self, build: Callable[[Make], Executable]) -> None:
        self._statements = {name: build(make) for name, make in _MAKERS.items()}

    def of(self, connection: Connection) -> Executable:
        """Return the statement in the connection's dialect."""
        return self._statements[connection.dialect.name]


def _postgres(table: Table) -> sqlite.Insert:
    return cast("sqlite.Insert", postgresql.insert(table))


_MAKERS: dict[str, Make] = {"sqlite": sqlite.insert, "postgresql": _postgres}
