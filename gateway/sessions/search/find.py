"""Finds what was said: functions of an open connection. In: a query and who asks. Out: hits, the best first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

from sqlalchemy import Connection, case, select

from gateway.sessions import store
from gateway.sessions.search.query import Query
from gateway.sessions.search.rank import scores
from gateway.sessions.search.scope import Scope, numbers
from gateway.sessions.search.snippet import snippet
from gateway.storage.clock import now
from gateway.storage.hidden import compressed
from gateway.storage.matches import CANDIDATES, Candidate, Wanted, candidates
from gateway.storage.tables import messages, sessions
from gateway.storage.words import Unread, found_in

Order = Literal["best", "newest", "oldest"]
State = Literal["in view", "compressed"]
"""Whether the model of that session still has a message before it, or has it only in a summary."""

PASSED_OVER = tuple(
    f"only the {end} {CANDIDATES:,} messages that fit were looked at: add words or {bound}: for others"
    for end, bound in (("newest", "before"), ("oldest", "after"))
)
STATE = case((compressed(messages.c.id), "compressed"), else_="in view").label("state")


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that fits; `more` are others of its session that do."""

    id: int
    session_id: str
    title: str
    lane: str
    role: str
    name: str
    created: float
    snippet: str
    state: State
    more: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """
    The best hits, and how many messages and sessions fit; no more than the candidates are counted.

    `passed_over` is a sentence where more messages fit than were looked at, "" where none do.
    """

    hits: tuple[Hit, ...]
    messages: int = 0
    sessions: int = 0
    passed_over: str = ""


def search(
    connection: Connection,
    query: Query,
    scope: Scope,
    *,
    limit: int,
    order: Order = "best",
    apart: bool = False,
    redact: Callable[[str], str] = str,
) -> Found:
    """
    Return at most so many hits; with `apart` one of each session. `redact` is asked of a text before it is cut.

    Of the session that runs only what its model does not see any more: the question itself would be the best hit.
    """
    wanted = Wanted(
        query.alternatives,
        numbers(connection, scope),
        query.roles,
        query.since,
        query.until,
        oldest=order == "oldest",
        besides=scope.session_id if scope is not None else "",
    )
    found = candidates(connection, wanted, CANDIDATES + 1)
    if not found:
        return Found(())
    passed_over, found = len(found) > CANDIDATES, found[:CANDIDATES]
    begun = _beginnings(connection, {one.session_id for one in found})
    of = Counter(begun[one.session_id] for one in found)
    ordered = _ordered(connection, found, query, order)
    chosen = (_first_of_each(ordered, begun) if apart else ordered)[:limit]
    hits = _hits(connection, chosen, query, redact)
    shown = tuple(replace(hits[one.id], more=of[begun[one.session_id]] - 1) for one in chosen)
    return Found(shown, len(found), len(of), PASSED_OVER[order == "oldest"] if passed_over else "")


def _ordered(connection: Connection, found: Sequence[Candidate], query: Query, order: Order) -> list[Candidate]:
    if order != "best":
        return list(found)
    scored = zip(scores(found, query, connection.execute(select(now())).scalar_one()), found, strict=True)
    return [one for _, one in sorted(scored, key=lambda pair: (-pair[0], -pair[1].id))]


def _beginnings(connection: Connection, ids: Set[str]) -> dict[str, str]:
    """Return of each session the one that it began as: one that goes on from another is the same conversation."""
    following = select(sessions.c.id).where(sessions.c.id.in_(ids), sessions.c.parent_session_id != "")
    followers = connection.execute(following).scalars().all()
    return {id: id for id in ids} | {id: store.lineage(connection, id)[-1] for id in followers}


def _first_of_each(ordered: Sequence[Candidate], begun: Mapping[str, str]) -> list[Candidate]:
    first: dict[str, Candidate] = {}
    for one in ordered:
        first.setdefault(begun[one.session_id], one)
    return list(first.values())


def _hits(
    connection: Connection, chosen: Sequence[Candidate], query: Query, redact: Callable[[str], str]
) -> dict[int, Hit]:
    columns = (messages.c.id, messages.c.session_id, sessions.c.title, sessions.c.lane, messages.c.role)
    asked = select(*columns, messages.c.name, messages.c.created, STATE, messages.c.text, messages.c.calls)
    asked = asked.join(sessions, sessions.c.id == messages.c.session_id)
    rows = connection.execute(asked.where(messages.c.id.in_([one.id for one in chosen]))).all()
    said = {row.id: found_in(Unread(row.id, row.role, row.text, row.calls), redact) for row in rows}
    return {row.id: Hit(*row[:7], snippet(said[row.id], query), row.state) for row in rows}
