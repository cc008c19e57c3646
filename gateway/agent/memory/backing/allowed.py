"""Entries that their owner lets pass although the scan found something: functions of an open connection."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select

from gateway.storage.clock import now
from gateway.storage.tables import notes_allowed
from gateway.storage.upsert import upsert


def handles(connection: Connection, owner: str) -> frozenset[str]:
    """Return the handles of what passes."""
    return frozenset(connection.execute(select(notes_allowed.c.digest).where(notes_allowed.c.owner == owner)).scalars())


def allow(connection: Connection, owner: str, handle: str, by: str) -> None:
    """Let an entry pass."""
    row = upsert(connection, notes_allowed).values(owner=owner, digest=handle, by=by, created=now())
    connection.execute(row.on_conflict_do_nothing(index_elements=["owner", "digest"]))


def revoke(connection: Connection, owner: str, handle: str) -> bool:
    """Let an entry pass no longer; return whether it did."""
    mine = (notes_allowed.c.owner == owner, notes_allowed.c.digest == handle)
    return bool(connection.execute(delete(notes_allowed).where(*mine)).rowcount)


def forget(connection: Connection, owner: str) -> None:
    """Drop all an owner has let pass."""
    connection.execute(delete(notes_allowed).where(notes_allowed.c.owner == owner))
