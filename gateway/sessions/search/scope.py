"""
Which sessions somebody may search: those they took part in. In: who asks, and where. Out: a condition on sessions.

A conversation in which several people speak answers before all of them, and any of them may have put the words into the
model's mouth: there only what was said in that chat is searched, as far as who asks took part in it. What was said to
another profile was said to somebody else.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, or_, select, true

from gateway.sessions.keys import agent_of, is_of_one
from gateway.storage.tables import identities, participants, sessions
from gateway.types import ChatType

SHARED = (ChatType.GROUP, ChatType.CHANNEL, ChatType.FORUM, ChatType.THREAD)


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks (the id of a person), in which session of which lane."""

    person: str
    session_id: str
    lane: str


Scope = Asking | None
"""None is the operator, who sees everything."""


def within(scope: Scope) -> ColumnElement[bool]:
    """Return the condition that a row of `sessions` is of the scope: every profile is an agent of its own."""
    if scope is None:
        return true()
    return and_(sessions.c.lane.startswith(agent_of(scope.lane), autoescape=True), _taken_part(scope))


def _taken_part(scope: Asking) -> ColumnElement[bool]:
    accounts = select(identities.c.account).where(identities.c.person == scope.person)
    took_part = select(participants.c.session_id).where(participants.c.account.in_(accounts))
    shared = and_(sessions.c.person == "", or_(sessions.c.id.in_(took_part), sessions.c.id == scope.session_id))
    if is_of_one(scope.lane):
        return or_(and_(sessions.c.person == scope.person, sessions.c.person != ""), shared)
    return and_(shared, _same_chat(scope.lane))


def numbers(connection: Connection, scope: Scope) -> tuple[int, ...] | None:
    """Return the numbers under which what the scope holds stands in the index; None for everything."""
    if scope is None:
        return None
    query = select(sessions.c.scope).distinct().where(within(scope), sessions.c.scope > 0)
    return tuple(connection.execute(query.order_by(sessions.c.scope)).scalars())


def _same_chat(lane: str) -> ColumnElement[bool]:
    agent, namespace, place, kind, chat, *_ = lane.split(":")
    kinds = SHARED if kind in SHARED else (kind,)
    keys = [":".join((agent, namespace, place, one, chat)) for one in kinds]
    below = [sessions.c.lane.startswith(f"{key}:", autoescape=True) for key in keys]
    return or_(sessions.c.lane.in_(keys), *below)
