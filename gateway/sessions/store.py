"""Sessions and their messages as rows: functions of an open connection."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, bindparam, func, insert, select, update

from gateway.messages import Message, ToolCall
from gateway.storage.clock import now
from gateway.storage.tables import messages, participants, people, sessions, turns, view_rows, views
from gateway.storage.upsert import Upsert
from gateway.types import clean


@dataclass(frozen=True, slots=True)
class Summary:
    """A session in a list."""

    id: str
    lane: str
    title: str
    created: float
    ended: float
    messages: int


@dataclass(frozen=True, slots=True)
class Line:
    """A message as one reads it back. `hidden` names the kind of view that keeps it from the model, if any."""

    id: int
    created: float
    message: Message
    hidden: str


@dataclass(frozen=True, slots=True)
class Stored:
    """What a live session is built from."""

    prompt: str
    history: tuple[Message, ...]


_APPEND = insert(messages).values(created=now())


def append(connection: Connection, session_id: str, turn: str, said: Sequence[Message]) -> None:
    """Add messages at the end of a session; they are never rewritten."""
    rows = [
        {
            "session_id": session_id,
            "turn": turn,
            "role": message.role,
            "text": message.text,
            "api_content": message.api_content,
            "calls": _pack(message.calls),
            "call_id": message.call_id,
            "name": message.name,
        }
        for message in said
    ]
    if rows:
        connection.execute(_APPEND, rows)


def _pack(calls: Sequence[ToolCall]) -> str:
    parts = [[clean(part) for part in (call.id, call.name, call.arguments)] for call in calls]
    return orjson.dumps(parts).decode() if parts else ""


def _message(row: Any) -> Message:
    calls = tuple(ToolCall(*call) for call in orjson.loads(row.calls)) if row.calls else ()
    return Message(row.role, row.text, calls, row.call_id, row.name, row.api_content)


_COLUMNS = (
    messages.c.role,
    messages.c.text,
    messages.c.api_content,
    messages.c.calls,
    messages.c.call_id,
    messages.c.name,
)


def load(connection: Connection, session_id: str, *, without: Set[str] = frozenset()) -> Stored:
    """Return the prompt and every message in view, but for those of some turns."""
    prompt = connection.execute(select(sessions.c.prompt).where(sessions.c.id == session_id)).scalar() or ""
    hidden = (
        select(view_rows.c.message)
        .join(views, views.c.id == view_rows.c.view)
        .where(views.c.session_id == session_id, views.c.undone == 0)
    )
    query = select(*_COLUMNS).where(messages.c.session_id == session_id, messages.c.id.not_in(hidden))
    if without:
        query = query.where(messages.c.turn.not_in(without - {""}))
    return Stored(prompt, tuple(_message(row) for row in connection.execute(query.order_by(messages.c.id))))


def of_turn(connection: Connection, turn: str) -> tuple[Message, ...]:
    """Return what a turn has stored so far: its journal."""
    # A turn with messages has a row; by its session they are found without an index of their own.
    session = select(turns.c.session_id).where(turns.c.id == turn).scalar_subquery()
    query = select(*_COLUMNS).where(messages.c.session_id == session, messages.c.turn == turn)
    return tuple(_message(row) for row in connection.execute(query.order_by(messages.c.id)))


def hide_turn(connection: Connection, session_id: str, turn: str, kind: str) -> None:
    """Take a turn's messages out of view; the rows stay, and the view can be undone."""
    view = connection.execute(
        insert(views).values(session_id=session_id, kind=kind, created=now()).returning(views.c.id)
    ).scalar_one()
    said = select(messages.c.id).where(messages.c.session_id == session_id, messages.c.turn == turn)
    ids = connection.execute(said).scalars().all()
    if ids:
        connection.execute(insert(view_rows), [{"view": view, "message": id} for id in ids])


def last_turn(connection: Connection, session_id: str) -> str:
    """Return the newest turn of a session that has ended and is in view, or nothing."""
    hidden = (
        select(messages.c.turn)
        .join(view_rows, view_rows.c.message == messages.c.id)
        .join(views, views.c.id == view_rows.c.view)
        .where(views.c.session_id == session_id, views.c.undone == 0)
    )
    lane = select(sessions.c.lane).where(sessions.c.id == session_id).scalar_subquery()
    query = select(turns.c.id).where(
        turns.c.lane == lane, turns.c.session_id == session_id, turns.c.ended > 0, turns.c.id.not_in(hidden)
    )
    return connection.execute(query.order_by(turns.c.ended.desc()).limit(1)).scalar() or ""


def previous(connection: Connection, lane: str, session_id: str) -> str:
    """Return the session that a lane had before this one, or nothing."""
    query = select(sessions.c.id).where(sessions.c.lane == lane, sessions.c.id != session_id)
    newest = query.order_by(sessions.c.created.desc(), sessions.c.id.desc()).limit(1)
    return connection.execute(newest).scalar() or ""


_KEEP_PROMPT = (
    update(sessions)
    .where(sessions.c.id == bindparam("session"), sessions.c.prompt == "")
    .values(prompt=bindparam("text"), person=bindparam("whose"))
)


def keep_prompt(connection: Connection, session_id: str, prompt: str, person: str) -> None:
    """
    Store the system prompt of a session once; it is the same on every request from then on.

    `person` is whose alone the session is, "" where several people speak in it.
    """
    connection.execute(_KEEP_PROMPT, {"session": session_id, "text": prompt, "whose": person})


def keep_person(connection: Connection, session_id: str, person: str) -> bool:
    """Store whose alone a session is; False where that person has been erased since."""
    there = select(people.c.id).where(people.c.id == person).with_for_update(read=True, key_share=True)
    if connection.execute(there).first() is None:
        return False
    connection.execute(update(sessions).where(sessions.c.id == session_id).values(person=person))
    return True


_TAKE_PART = Upsert(
    lambda insert: (
        insert(participants)
        .values(session_id=bindparam("session"), account=bindparam("who"))
        .on_conflict_do_nothing(index_elements=["session_id", "account"])
    )
)


def take_part(connection: Connection, session_id: str, accounts: Collection[str]) -> None:
    """Note that these accounts (``platform:user``) spoke in a session that is nobody's alone."""
    if accounts:
        rows = [{"session": session_id, "who": account} for account in sorted(accounts)]
        connection.execute(_TAKE_PART.of(connection), rows)


def title(connection: Connection, session_id: str, text: str) -> None:
    """Give a session a title."""
    connection.execute(update(sessions).where(sessions.c.id == session_id).values(title=text))


_COUNT = select(func.count()).where(messages.c.session_id == sessions.c.id).scalar_subquery()
_SUMMARY = select(
    sessions.c.id, sessions.c.lane, sessions.c.title, sessions.c.created, sessions.c.ended, _COUNT.label("messages")
)


def summaries(connection: Connection, limit: int) -> list[Summary]:
    """List sessions, newest first."""
    newest = _SUMMARY.order_by(sessions.c.created.desc(), sessions.c.id.desc()).limit(limit)
    return [Summary(*row) for row in connection.execute(newest)]


def summary(connection: Connection, session_id: str) -> Summary | None:
    """Return one session of the list."""
    row = connection.execute(_SUMMARY.where(sessions.c.id == session_id)).first()
    return Summary(*row) if row else None


def transcript(connection: Connection, session_id: str, limit: int) -> list[Line]:
    """Return the newest messages of a session with those out of view, oldest first."""
    out = (
        select(view_rows.c.message, views.c.kind)
        .join(views, views.c.id == view_rows.c.view)
        .where(views.c.session_id == session_id, views.c.undone == 0)
    )
    hidden = {row.message: row.kind for row in connection.execute(out)}
    query = select(messages.c.id, messages.c.created, *_COLUMNS).where(messages.c.session_id == session_id)
    rows = connection.execute(query.order_by(messages.c.id.desc()).limit(limit)).all()
    return [Line(row.id, row.created, _message(row), hidden.get(row.id, "")) for row in reversed(rows)]
