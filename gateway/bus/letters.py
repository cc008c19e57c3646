"""Dead letters, and what operators list of the inbox and do to it: functions of an open connection."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, select, true, update

from gateway.bus.lanes import unpack
from gateway.storage.tables import INBOX_DEAD, INBOX_OPEN, inbox
from gateway.types import Event

Which = Literal["due", "dead", "all"]
"""Rows of a list: those that wait or were given up, those given up, or all."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that was given up, for a list or for the person who wrote it."""

    id: int
    lane: str
    event: Event
    attempts: int
    reason: str
    created: float


@dataclass(frozen=True, slots=True)
class Arrival:
    """An event in a list, whatever has become of it."""

    id: int
    lane: str
    state: str
    event: Event
    attempts: int
    reason: str
    created: float


def bury(connection: Connection, ids: Sequence[int], reason: str = "") -> list[DeadLetter]:
    """Make open rows dead letters and return them; those that were stopped meanwhile are left alone."""
    values = {"state": "dead", **({"reason": reason} if reason else {})}
    buried = update(inbox).where(inbox.c.id.in_(ids), INBOX_OPEN).values(**values).returning(inbox.c.id)
    return _letters(connection, connection.execute(buried).scalars().all())


def dead(connection: Connection, limit: int = 100) -> list[DeadLetter]:
    """List dead letters, newest first."""
    query = select(inbox.c.id).where(INBOX_DEAD).order_by(inbox.c.id.desc()).limit(limit)
    return _letters(connection, connection.execute(query).scalars().all())


def _letters(connection: Connection, ids: Sequence[int]) -> list[DeadLetter]:
    query = select(inbox).where(inbox.c.id.in_(ids)).order_by(inbox.c.id.desc())
    return [
        DeadLetter(row["id"], row["lane"], unpack(row["event"]), row["attempts"], row["reason"], row["created"])
        for row in connection.execute(query).mappings()
    ]


_LISTED = {"due": (INBOX_OPEN, INBOX_DEAD), "dead": (INBOX_DEAD,), "all": (true(),)}


def arrivals(connection: Connection, which: Which, limit: int) -> list[Arrival]:
    """List events, newest first."""
    queries = [select(inbox).where(rows).order_by(inbox.c.id.desc()).limit(limit) for rows in _LISTED[which]]
    found = [row for query in queries for row in connection.execute(query).mappings()]
    newest = sorted(found, key=lambda row: -int(row["id"]))[:limit]
    names = ("id", "lane", "state", "attempts", "reason", "created")
    return [Arrival(event=unpack(row["event"]), **{name: row[name] for name in names}) for row in newest]


def revive(connection: Connection, ids: Sequence[int]) -> list[int]:
    """
    Let dead letters wait again with all their attempts; return the ids of those that were dead.

    They are a new turn, in the conversation as it is by then; what their attempts had stored is history and is not
    continued. Those that came together come together again.
    """
    query = select(inbox.c.id, inbox.c.turn).where(inbox.c.id.in_(ids), inbox.c.state == "dead")
    rows = connection.execute(query.order_by(inbox.c.id).with_for_update()).all()
    fresh = {"state": "waiting", "attempts": 0, "not_before": 0.0}
    for turn in {row.turn for row in rows}:
        together = update(inbox).where(inbox.c.id.in_([row.id for row in rows if row.turn == turn]))
        connection.execute(together.values(turn=uuid.uuid4().hex, **fresh))
    return [row.id for row in rows]


def discard(connection: Connection, ids: Sequence[int], reason: str) -> list[int]:
    """Give up waiting or dead rows for good; return the ids of those that were."""
    rows = update(inbox).where(inbox.c.id.in_(ids), inbox.c.state.in_(("waiting", "dead")))
    return list(connection.execute(rows.values(state="discarded", reason=reason).returning(inbox.c.id)).scalars())
