"""Takes one person's conversations out of the database, for good: functions of an open connection."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, or_, select, update

from gateway.storage.tables import (
    calls,
    identities,
    inbox,
    lanes,
    live,
    messages,
    nudges,
    outbox,
    people,
    sessions,
    turns,
    view_rows,
    views,
)


@dataclass(frozen=True, slots=True)
class Erased:
    """What went: `sessions` are the ids of the conversations that nobody else spoke in, `messages` how many."""

    sessions: tuple[str, ...]
    messages: int


def erase_conversations(connection: Connection, person: str, *, asking: str, keep: int) -> Erased:
    """
    Remove every conversation that is the person's alone, with its turns, events and deliveries.

    `asking` is the lane that asked and `keep` the row of its asking, which is answered when this has ended. Turns of
    the other lanes are fenced off; live sessions are read anew.
    """
    found = connection.execute(select(sessions.c.id, sessions.c.lane).where(sessions.c.person == person)).all()
    ids, keys = [row.id for row in found], sorted({row.lane for row in found})
    count = sum(_session(connection, id) for id in ids)
    for key in keys:
        _lane(connection, key, asking=key == asking, keep=keep)
    return Erased(tuple(ids), count)


def erase_person(connection: Connection, person: str) -> int:
    """Forget a person's accounts and name, unless it has a role that it would lose; return how many accounts."""
    role = connection.execute(select(people.c.role).where(people.c.id == person)).scalar()
    if role:
        return 0
    gone = connection.execute(delete(identities).where(identities.c.person == person)).rowcount
    connection.execute(delete(people).where(people.c.id == person))
    return gone


def _session(connection: Connection, id: str) -> int:
    of = select(turns.c.id).where(turns.c.session_id == id)
    connection.execute(delete(calls).where(calls.c.turn.in_(of)))
    connection.execute(delete(outbox).where(outbox.c.turn.in_(of)))
    connection.execute(delete(live).where(live.c.turn.in_(of)))
    connection.execute(delete(turns).where(turns.c.session_id == id))
    mine = select(views.c.id).where(views.c.session_id == id)
    connection.execute(delete(view_rows).where(view_rows.c.view.in_(mine)))
    connection.execute(delete(views).where(views.c.session_id == id))
    count = connection.execute(delete(messages).where(messages.c.session_id == id)).rowcount
    connection.execute(delete(nudges).where(nudges.c.session_id == id))
    connection.execute(delete(sessions).where(sessions.c.id == id))
    return count


def _lane(connection: Connection, key: str, *, asking: bool, keep: int) -> None:
    """Empty a lane; what runs in it is fenced off, but for the asking itself."""
    raised = lanes.c.generation if asking else lanes.c.generation + 1
    values = {"session_id": "", "version": lanes.c.version + 1, "generation": raised}
    connection.execute(update(lanes).where(lanes.c.key == key).values(**values))
    connection.execute(delete(inbox).where(inbox.c.lane == key, inbox.c.id != keep))
    _, _, place, kind, chat, *_ = key.split(":")
    if kind == "dm":  # in any other place the queue is that of a group, and others' words are in it
        queue = f"{place}:{chat}"
        ended = outbox.c.state.in_(("sent", "refused", "discarded"))
        connection.execute(delete(outbox).where(outbox.c.queue == queue, or_(ended, outbox.c.turn != "")))
