"""INSERT … ON CONFLICT, which both databases have and SQLAlchemy spells twice."""

from __future__ import annotations

from typing import cast

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def upsert(connection: Connection, table: Table) -> sqlite.Insert:
    """Return an insert with ``on_conflict_do_nothing`` and ``on_conflict_do_update``, in the connection's dialect."""
    if connection.dialect.name == "postgresql":
        return cast("sqlite.Insert", postgresql.insert(table))
    return sqlite.insert(table)
