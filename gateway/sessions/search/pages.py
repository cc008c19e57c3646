"""Reads in what was found: functions of an open connection. In: a session and who asks. Out: lines of it, or nothing.

What was undone is left out everywhere; what a compression took out of view is there, and marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson
from sqlalchemy import ColumnElement, Connection, func, select

from gateway.sessions.search.find import STATE, State
from gateway.sessions.search.scope import Scope, within
from gateway.storage.hidden import taken_back
from gateway.storage.tables import messages, sessions


@dataclass(frozen=True, slots=True)
class Line:
    """A message as it is read again; `called` are the names of the tools it called."""

    id: int
    created: float
    role: str
    name: str
    text: str
    called: tuple[str, ...]
    state: State


@dataclass(frozen=True, slots=True)
class Page:
    """Lines of a session, and how many there are before and after them."""

    lines: tuple[Line, ...]
    before: int = 0
    after: int = 0


@dataclass(frozen=True, slots=True)
class Head:
    """A session in a list; `preview` is the beginning of what was said first."""

    id: str
    title: str
    lane: str
    created: float
    last: float
    messages: int
    preview: str


def head(connection: Connection, scope: Scope, session_id: str) -> Head | None:
    """Return a session of the scope; None for one that is not there or is not the asker's to see."""
    found = _heads(connection, within(scope) & (sessions.c.id == session_id), 1)
    return found[0] if found else None


def recent(connection: Connection, scope: Scope, limit: int) -> list[Head]:
    """Return the newest sessions of the scope in which something was said, the newest first."""
    return _heads(connection, within(scope), limit)


def around(connection: Connection, session_id: str, message: int, size: int, roles: Sequence[str] = ()) -> Page | None:
    """Return a message of a session with so many before and after it, if it is in that session and was not undone."""
    here = _there(session_id, roles)
    anchor = _there(session_id, ()) & (messages.c.id == message)
    lines = [
        *reversed(_lines(connection, here & (messages.c.id < message), size, newest=True)),
        *_lines(connection, anchor, 1, newest=False),
        *_lines(connection, here & (messages.c.id > message), size, newest=False),
    ]
    if not any(line.id == message for line in lines):
        return None
    first, last = lines[0].id, lines[-1].id
    return Page(
        tuple(lines),
        _count(connection, here & (messages.c.id < first)),
        _count(connection, here & (messages.c.id > last)),
    )


def ends(
    connection: Connection, session_id: str, first: int, last: int, roles: Sequence[str] = ()
) -> tuple[Page, Page]:
    """Return the first and the last lines of a session, none of them twice."""
    here = _there(session_id, roles)
    total = _count(connection, here)
    begin = _lines(connection, here, first, newest=False)
    end = _lines(connection, here, min(last, total - len(begin)), newest=True)[::-1]
    between = total - len(begin) - len(end)
    return Page(tuple(begin), 0, between + len(end)), Page(tuple(end), len(begin) + between, 0)


def _there(session_id: str, roles: Sequence[str]) -> ColumnElement[bool]:
    here = (messages.c.session_id == session_id) & ~taken_back(messages.c.id)
    return here & messages.c.role.in_(roles) if roles else here


def _lines(connection: Connection, where: ColumnElement[bool], limit: int, *, newest: bool) -> list[Line]:
    columns = (messages.c.id, messages.c.created, messages.c.role, messages.c.name, messages.c.text, messages.c.calls)
    order = messages.c.id.desc() if newest else messages.c.id
    rows = connection.execute(select(*columns, STATE).where(where).order_by(order).limit(max(limit, 0)))
    return [Line(*row[:5], _called(row.calls), row.state) for row in rows]


def _called(calls: str) -> tuple[str, ...]:
    return tuple(name for _, name, _ in orjson.loads(calls)) if calls else ()


def _count(connection: Connection, where: ColumnElement[bool]) -> int:
    return int(connection.execute(select(func.count()).select_from(messages).where(where)).scalar_one())


def _heads(connection: Connection, where: ColumnElement[bool], limit: int) -> list[Head]:
    of = (messages.c.session_id == sessions.c.id) & ~taken_back(messages.c.id)
    newest = sessions.c.created.desc(), sessions.c.id.desc()
    chosen = select(sessions.c.id).where(where, select(messages.c.id).where(of).exists()).order_by(*newest).limit(limit)
    count = select(func.count()).where(of).scalar_subquery()
    last = select(messages.c.created).where(of).order_by(messages.c.id.desc()).limit(1).scalar_subquery()
    said = select(messages.c.text).where(of, messages.c.role == "user").order_by(messages.c.id).limit(1)
    columns = (sessions.c.id, sessions.c.title, sessions.c.lane, sessions.c.created, last, count)
    query = select(*columns, func.substr(said.scalar_subquery(), 1, 200))
    # Chosen first: the messages of all the others are not counted.
    ids = connection.execute(chosen).scalars().all()
    rows = connection.execute(query.where(sessions.c.id.in_(ids)).order_by(*newest))
    return [Head(*row[:6], row[6] or "") for row in rows]
