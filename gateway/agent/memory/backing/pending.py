"""Writes of the agent that wait for a person: functions of an open connection.

A write is waiting, then applying while one process carries it out, then approved; or rejected. Each step is one
compare-and-set, so that of two who decide at once one does. What was applying when its process died waits again.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, delete, insert, or_, select, update

from gateway.agent.memory.notes import Target
from gateway.agent.memory.operations import Operation
from gateway.storage.clock import now
from gateway.storage.tables import pending

MEMORY = "memory"
APPLYING_SECONDS = 60.0
"""How long one process may take to carry a write out before it waits again."""
SUMMARY_CHARS = 100
_GONE = {"payload": "", "summary": ""}
"""What was decided keeps nothing of what it was about."""


@dataclass(frozen=True, slots=True)
class Staging:
    """
    One write. `owner` is whose notes it changes, `person` whose turn wanted it.

    `origin` is foreground, or background_review.
    """

    owner: str
    person: str
    origin: str
    target: Target
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class Staged:
    """A write that waits: its id, 8 hexadecimal digits, and one line that says what it is."""

    id: str
    summary: str
    write: Staging


def stage(connection: Connection, write: Staging) -> str:
    """Keep a write until somebody decides; return its id."""
    id = secrets.token_hex(4)
    payload = {"target": write.target, "operations": [asdict(operation) for operation in write.operations]}
    connection.execute(
        insert(pending).values(
            id=id,
            subsystem=MEMORY,
            owner=write.owner,
            person=write.person,
            summary=_summary(write),
            origin=write.origin,
            payload=json.dumps(payload),
            created=now(),
        )
    )
    return id


def waiting(connection: Connection, *, person: str | None = None) -> list[Staged]:
    """Return what waits, oldest first; of one person, or (None) of everybody."""
    query = select(pending).where(pending.c.subsystem == MEMORY, _open()).order_by(pending.c.created, pending.c.id)
    if person is not None:
        query = query.where(pending.c.person == person)
    return [_read(row) for row in connection.execute(query).mappings()]


def _read(row: RowMapping) -> Staged:
    payload = json.loads(row["payload"])
    operations = tuple(Operation(**operation) for operation in payload["operations"])
    write = Staging(row["owner"], row["person"], row["origin"], Target(payload["target"]), operations)
    return Staged(row["id"], row["summary"], write)


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


def forget(connection: Connection, owner: str, person: str) -> int:
    """Remove every write for an owner's notes or of a person (if any), decided or not; return how many."""
    mine = or_(pending.c.owner == owner, and_(pending.c.person == person, pending.c.person != ""))
    return connection.execute(delete(pending).where(pending.c.subsystem == MEMORY, mine)).rowcount


def _open() -> ColumnElement[bool]:
    stuck = and_(pending.c.state == "applying", pending.c.decided < now() - APPLYING_SECONDS)
    return or_(pending.c.state == "waiting", stuck)


def _summary(write: Staging) -> str:
    parts = [f"{done.action} {' '.join((done.content or done.old_text).split())}" for done in write.operations]
    text = f"{write.target}: {'; '.join(parts)}"
    return text if len(text) <= SUMMARY_CHARS else text[: SUMMARY_CHARS - 1] + "…"
