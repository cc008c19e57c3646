"""Takes one person's conversations out of the database, for good: functions of an open connection."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from sqlalchemy import Connection, and_, delete, not_, or_, select, update

from gateway.storage.tables import (
    INBOX_OPEN,
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


def erase_conversations(
    connection: Connection, person: str, begun: Set[str] = frozenset(), *, asking: str, keep: int
) -> Erased:
    """
    Remove every conversation that is the person's alone, with its turns, events and deliveries.

    `begun` are lanes of the person's alone whose session may not say so yet, since its first turn has stored nothing.
    `asking` is the lane that asked and `keep` the row of its asking, which is answered when this has ended. Turns of
    the other lanes are fenced off, live sessions read anew, and commands that wait and what was said after the asking
    answered after this.
    """
    # Who asks in two chats at once is erased once; lanes come before what is in them, as in the end of a turn.
    connection.execute(select(people.c.id).where(people.c.id == person).with_for_update())
    mine = sessions.c.person == person
    fresh = and_(sessions.c.lane.in_(begun), sessions.c.person == "", sessions.c.ended == 0)
    found = connection.execute(select(sessions.c.id, sessions.c.lane).where(or_(mine, fresh))).all()
    ids, keys = [row.id for row in found], sorted({*begun, *(row.lane for row in found)})
    for key in keys:
        _fence(connection, key, asking=key == asking)
    count = sum(_session(connection, id) for id in ids)
    for key in keys:
        _empty(connection, key, keep)
    return Erased(tuple(ids), count)


def stays(connection: Connection, person: str) -> bool:
    """Say whether a person has a role that it would lose if it were forgotten."""
    return bool(connection.execute(select(people.c.role).where(people.c.id == person)).scalar())


def erase_person(connection: Connection, person: str) -> None:
    """Forget a person's accounts and name."""
    connection.execute(delete(identities).where(identities.c.person == person))
    connection.execute(delete(people).where(people.c.id == person))


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


def _fence(connection: Connection, key: str, *, asking: bool) -> None:
    """Let a lane begin anew; what runs in it is fenced off, but for the asking itself."""
    raised = lanes.c.generation if asking else lanes.c.generation + 1
    values = {"session_id": "", "version": lanes.c.version + 1, "generation": raised}
    connection.execute(update(lanes).where(lanes.c.key == key).values(**values))


def _empty(connection: Connection, key: str, keep: int) -> None:
    """Remove the events of a lane and what was to be delivered of it."""
    waits = and_(INBOX_OPEN, or_(inbox.c.command, inbox.c.id > keep))
    connection.execute(delete(inbox).where(inbox.c.lane == key, inbox.c.id != keep, not_(waits)))
    _, _, place, kind, chat, *_ = key.split(":")
    if kind == "dm":  # in any other place the queue is that of a group, and others' words are in it
        queue = f"{place}:{chat}"
        ended = outbox.c.state.in_(("sent", "refused", "discarded"))
        connection.execute(delete(outbox).where(outbox.c.queue == queue, or_(ended, outbox.c.turn != "")))
