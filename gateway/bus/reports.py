"""How a lane stands, what became of an event, what was said: read by others, and nothing here changes a row."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, func, not_, select

from gateway.bus.lanes import unpack
from gateway.storage.tables import INBOX_OPEN, inbox, lanes, turns
from gateway.types import Role, SessionKey


@dataclass(frozen=True, slots=True)
class Fate:
    """
    What became of an event.

    `reason` is why it failed so far, or was dropped; `turn` is the turn it was in, if any; `problem`, why that ended
    without an answer, and `fault`, the name of the error that was.
    """

    state: str
    reason: str
    problem: str
    fault: str
    turn: str


@dataclass(frozen=True, slots=True)
class Standing:
    """
    How a lane stands: what was chosen for it, the role of the turn that runs or is tried again, events that wait.
    """

    session_id: str
    model: str
    personality: str
    running: Role | None
    waiting: int


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a person wrote, for a page that shows a conversation."""

    id: int
    text: str
    created: float
    state: str


def fate(connection: Connection, event_key: str) -> Fate | None:
    """Return what became of an event; None where it was never kept."""
    problem, fault = func.coalesce(turns.c.problem, ""), func.coalesce(turns.c.fault, "")
    query = select(inbox.c.state, inbox.c.reason, problem, fault, inbox.c.turn)
    query = query.join(turns, turns.c.id == inbox.c.turn, isouter=True)
    row = connection.execute(query.where(inbox.c.event_key == event_key)).first()
    return Fate(*row) if row else None


def standing(connection: Connection, key: SessionKey) -> Standing:
    """Return how a lane stands."""
    lane = connection.execute(select(lanes).where(lanes.c.key == str(key))).mappings().first()
    query = select(inbox.c.turn, inbox.c.role).where(inbox.c.lane == str(key), INBOX_OPEN)
    rows = connection.execute(query.order_by(inbox.c.id)).all()
    running = [Role(row.role) for row in rows if row.turn]
    role, waiting = running[0] if running else None, sum(not row.turn for row in rows)
    if lane is None:
        return Standing("", "", "", role, waiting)
    return Standing(lane["session_id"], lane["model"], lane["personality"], role, waiting)


def spoken(connection: Connection, key: SessionKey, limit: int) -> list[Spoken]:
    """Return the newest events of a lane, oldest first."""
    query = select(inbox).where(inbox.c.lane == str(key)).order_by(inbox.c.id.desc()).limit(limit)
    rows = connection.execute(query).mappings().all()
    return [Spoken(row["id"], unpack(row["event"]).text, row["created"], row["state"]) for row in reversed(rows)]


def talking(connection: Connection, accounts: Collection[str]) -> set[str]:
    """Return the lanes where something these accounts (``platform:user``) said waits or is being answered."""
    query = select(inbox.c.lane, inbox.c.event).where(INBOX_OPEN, not_(inbox.c.command))
    events = ((lane, unpack(event)) for lane, event in connection.execute(query))
    return {lane for lane, event in events if event.account in accounts}
