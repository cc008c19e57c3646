"""Changes of notes that wait for a person: what is memory's in `gateway.agent.pending`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from gateway.agent import pending as rows
from gateway.agent.memory.notes import Target
from gateway.agent.memory.operations import Operation
from gateway.agent.pending import APPLYING_SECONDS, Row, begin, end, reject
from gateway.storage.database import Connection

__all__ = ["APPLYING_SECONDS", "Staged", "Staging", "begin", "end", "forget", "reject", "stage", "waiting"]

MEMORY = "memory"


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
    payload = {"target": write.target, "operations": [asdict(operation) for operation in write.operations]}
    row = Row(MEMORY, write.owner, write.person, write.origin, _summary(write), json.dumps(payload))
    return rows.stage(connection, row)


def waiting(connection: Connection, *, person: str | None = None) -> list[Staged]:
    """Return what waits, oldest first; of one person, or (None) of everybody."""
    return [_read(row) for row in rows.waiting(connection, MEMORY, person=person)]


def forget(connection: Connection, owner: str, person: str) -> int:
    """Remove every write for an owner's notes or of a person (if any), decided or not; return how many."""
    return rows.forget(connection, MEMORY, owner, person)


def _read(row: Row) -> Staged:
    payload = json.loads(row.payload)
    operations = tuple(Operation(**operation) for operation in payload["operations"])
    write = Staging(row.owner, row.person, row.origin, Target(payload["target"]), operations)
    return Staged(row.id, row.summary, write)


def _summary(write: Staging) -> str:
    parts = [f"{done.action} {' '.join((done.content or done.old_text).split())}" for done in write.operations]
    return f"{write.target}: {'; '.join(parts)}"
