"""Writes of the agent that wait for a person, whatever they change: functions of an open connection.

A write is waiting, then applying while one process carries it out, then approved; or rejected. Each step is one
compare-and-set, so that of two who decide at once one does. What was applying when its process died waits again.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, or_, select, update

from gateway.storage.clock import now
from gateway.storage.tables import pending

APPLYING_SECONDS = 60.0
"""How long one process may take to carry a write out before it waits again."""
SUMMARY_CHARS = 100
_GONE = {"payload": "", "summary": ""}
"""What was decided keeps nothing of what it was about."""


@dataclass(frozen=True, slots=True)
class Row:
    """
    One write. `owner` is whose it changes, `person` whose turn wanted it, `summary` one line that says what it is.

    `subsystem` says who reads the `payload`; `origin` is foreground, or background_review. `id`, 8 hexadecimal digits,
    is given by `stage`.
    """

    subsystem: str
    owner: str
    person: str
    origin: str
    summary: str
    payload: str
    id: str = ""


def stage(connection: Connection, row: Row) -> str:
    """Keep a write until somebody decides; return its id."""
    id = secrets.token_hex(4)
    values = {
        "subsystem": row.subsystem,
        "owner": row.owner,
        "person": row.person,
        "origin": row.origin,
        "summary": short(row.summary),
        "payload": row.payload,
    }
    connection.execute(insert(pending).values(id=id, created=now(), **values))
    return id


def waiting(connection: Connection, subsystem: str, *, person: str | None = None) -> list[Row]:
    """Return what waits, oldest first; of one person, or (None) of everybody."""
    query = select(pending).where(pending.c.subsystem == subsystem, _open()).order_by(pending.c.created, pending.c.id)
    if person is not None:
        query = query.where(pending.c.person == person)
    return [
        Row(row.subsystem, row.owner, row.person, row.origin, row.summary, row.payload, row.id)
        for row in connection.execute(query)
    ]


def begin(connection: Connection, id: str, by: str) -> bool:
    """Take a write to carry it out; False where somebody else decided first."""
    row = update(pending).where(pending.c.id == id, _open()).values(state="applying", decided=now(), by=by)
    return connection.execute(row).rowcount == 1


def end(connection: Connection, id: str, state: str) -> bool:
    """Say what became of a write that was taken: approved, or waiting again; False where it was forgotten meanwhile."""
    values = {"state": state} if state == "waiting" else {"state": state, **_GONE}
    connection.execute(update(pending).where(pending.c.id == id, pending.c.state == "applying").values(**values))
    return connection.execute(select(pending.c.id).where(pending.c.id == id)).first() is not None


def reject(connection: Connection, id: str, by: str) -> bool:
    """Drop a write; False where somebody else decided first."""
    row = update(pending).where(pending.c.id == id, _open()).values(state="rejected", decided=now(), by=by, **_GONE)
    return connection.execute(row).rowcount == 1


def forget(connection: Connection, subsystem: str, owner: str, person: str) -> int:
    """Remove every write on what is an owner's, or of a person (if any), decided or not; return how many."""
    mine = or_(pending.c.owner == owner, and_(pending.c.person == person, pending.c.person != ""))
    return connection.execute(delete(pending).where(pending.c.subsystem == subsystem, mine)).rowcount


def short(summary: str) -> str:
    """Return at most so many characters of a summary."""
    return summary if len(summary) <= SUMMARY_CHARS else summary[: SUMMARY_CHARS - 1] + "…"


def _open() -> ColumnElement[bool]:
    stuck = and_(pending.c.state == "applying", pending.c.decided < now() - APPLYING_SECONDS)
    return or_(pending.c.state == "waiting", stuck)
