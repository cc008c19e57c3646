"""Takes one person's conversations out of the database, for good: functions of an open connection."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from types import MappingProxyType

from sqlalchemy import Connection, and_, delete, not_, or_, select, update

from gateway.storage import words
from gateway.storage.tables import (
    INBOX_OPEN,
    calls,
    compressions,
    identities,
    inbox,
    lanes,
    live,
    messages,
    nudges,
    outbox,
    participants,
    people,
    sessions,
    turns,
    view_rows,
    views,
)
from gateway.storage.words import Said


@dataclass(frozen=True, slots=True)
class Erased:
    """
    What went: the ids of the sessions that nobody else spoke in, in how many of them something was said, and how many
    messages that were.
    """

    sessions: tuple[str, ...]
    conversations: int
    messages: int

    def and_then(self, more: Erased) -> Erased:
        """Return both together."""
        sessions = (*self.sessions, *more.sessions)
        return Erased(sessions, self.conversations + more.conversations, self.messages + more.messages)


def erase_conversations(
    connection: Connection,
    person: str,
    begun: Set[str] = frozenset(),
    *,
    asking: str,
    keep: int,
    indexed: Mapping[int, Said] = MappingProxyType({}),
) -> Erased:
    """
    Remove every conversation that is the person's alone, with its turns, events and deliveries.

    `begun` are more lanes of the person's alone: a session in which nothing was stored does not say whose it is.
    `asking` is the lane that asked and `keep` the row of its asking, which is answered when this has ended. Turns of
    the other lanes are fenced off, live sessions read anew, and commands that wait and what was said after the asking
    answered after this. `indexed` is what `words.indexed_of` told just before: what is in it is not read again.
    """
    # Who asks in two chats at once is erased once; lanes come before what is in them, as in the end of a turn.
    connection.execute(select(people.c.id).where(people.c.id == person).with_for_update())
    mine = sessions.c.person == person
    keys = sorted({asking, *begun, *connection.execute(select(sessions.c.lane).where(mine)).scalars()})
    for key in keys:
        _fence(connection, key, asking=key == asking)
    fresh = and_(sessions.c.lane.in_(keys), sessions.c.person == "")
    ids = connection.execute(select(sessions.c.id).where(or_(mine, fresh))).scalars().all()
    counts = [_session(connection, id, indexed) for id in ids]
    for key in keys:
        _empty(connection, key, keep)
    accounts = select(identities.c.account).where(identities.c.person == person)
    connection.execute(delete(participants).where(participants.c.account.in_(accounts)))
    return Erased(tuple(ids), sum(map(bool, counts)), sum(counts))


def stays(connection: Connection, person: str) -> bool:
    """Say whether a person has a role that it would lose if it were forgotten."""
    return bool(connection.execute(select(people.c.role).where(people.c.id == person)).scalar())


def erase_person(connection: Connection, person: str) -> None:
    """Forget a person's accounts and name."""
    connection.execute(delete(identities).where(identities.c.person == person))
    connection.execute(delete(people).where(people.c.id == person))


def _session(connection: Connection, id: str, indexed: Mapping[int, Said]) -> int:
    of = select(turns.c.id).where(turns.c.session_id == id)
    connection.execute(delete(calls).where(calls.c.turn.in_(of)))
    connection.execute(delete(outbox).where(outbox.c.turn.in_(of)))
    connection.execute(delete(live).where(live.c.turn.in_(of)))
    connection.execute(delete(turns).where(turns.c.session_id == id))
    mine = select(views.c.id).where(views.c.session_id == id)
    said = select(messages.c.id).where(messages.c.session_id == id)
    connection.execute(delete(view_rows).where(view_rows.c.view.in_(mine) | view_rows.c.message.in_(said)))
    connection.execute(delete(compressions).where(compressions.c.session_id == id))
    connection.execute(delete(views).where(views.c.session_id == id))
    words.remove(connection, id, indexed)
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
    others = and_(inbox.c.lane == key, inbox.c.id != keep)
    connection.execute(delete(inbox).where(others, not_(waits)))
    connection.execute(update(inbox).where(others).values(state="waiting", turn="", attempts=0))
    _, _, place, kind, chat, *_ = key.split(":")
    if kind == "dm":  # in any other place the queue is that of a group, and others' words are in it
        queue = f"{place}:{chat}"
        ended = outbox.c.state.in_(("sent", "refused", "discarded"))
        connection.execute(delete(outbox).where(outbox.c.queue == queue, or_(ended, outbox.c.turn != "")))
