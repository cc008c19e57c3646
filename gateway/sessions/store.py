"""Sessions and their messages as rows: functions of an open connection."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, bindparam, func, insert, literal, select, update

from gateway.contracts.context import Row, View
from gateway.messages import Message, ToolCall
from gateway.storage.clock import now
from gateway.storage.hidden import COMPRESSES, HIDES, TAKES_BACK
from gateway.storage.tables import COMPRESSION, messages, participants, people, sessions, turns, view_rows, views
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
    """
    What a live session is built from: the rows that no view hides, and the views over them, the oldest first.

    `outline` says what the prompt consists of, `guards` what was known of its context. `origin` is the id of the
    session that it began as, and `spoken` when something was last said, 0 for never. `counted` is what the endpoint
    counted for the request before the last answer, by the name of the model; nothing where the conversation is another
    one since.
    """

    prompt: str
    rows: tuple[Row, ...]
    views: tuple[View, ...] = ()
    guards: str = ""
    outline: str = ""
    origin: str = ""
    spoken: float = 0.0
    counted: tuple[str, int] = ("", 0)


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


def lineage(connection: Connection, session_id: str) -> list[str]:
    """Return the ids of a session and of those that it goes on from, the first of them last."""
    found = select(sessions.c.id, sessions.c.parent_session_id, literal(0).label("steps"))
    chain = found.where(sessions.c.id == session_id).cte(recursive=True)
    before = select(sessions.c.id, sessions.c.parent_session_id, chain.c.steps + 1)
    chain = chain.union(before.where(sessions.c.id == chain.c.parent_session_id, chain.c.parent_session_id != ""))
    return list(connection.execute(select(chain.c.id).order_by(chain.c.steps)).scalars())


_OWN = select(sessions.c.prompt, sessions.c.outline, sessions.c.guards, sessions.c.parent_session_id).where(
    sessions.c.id == bindparam("session")
)


def load(connection: Connection, session_id: str, *, without: Set[str] = frozenset(), undoing: int = 0) -> Stored:
    """Return the prompt and every message in view, but for those of some turns; `undoing` is a view left out."""
    session = connection.execute(_OWN, {"session": session_id}).first()
    ids = lineage(connection, session_id) if session and session.parent_session_id else [session_id]
    open_ = select(views.c.id).where(views.c.session_id.in_(ids), views.c.undone == 0, views.c.id != undoing)
    hidden = select(view_rows.c.message).where(view_rows.c.view.in_(open_), view_rows.c.shown == "")
    query = select(messages.c.id, messages.c.created, *_COLUMNS)
    query = query.where(messages.c.session_id.in_(ids), messages.c.id.not_in(hidden))
    if without:
        query = query.where(messages.c.turn.not_in(without - {""}))
    said = connection.execute(query.order_by(messages.c.id)).all()
    rows = tuple(Row(row.id, _message(row)) for row in said)
    spoken = said[-1].created if said else 0.0
    shown = _views(connection, ids, undoing)
    prompt, guards, outline = (session.prompt, session.guards, session.outline) if session else ("", "", "")
    return Stored(prompt, rows, shown, guards, outline, ids[-1], spoken, _counted(connection, ids, without))


def _counted(connection: Connection, ids: Sequence[str], without: Set[str]) -> tuple[str, int]:
    """Return what the endpoint counted last, unless something was hidden or shown again since."""
    lane = select(sessions.c.lane).where(sessions.c.id == ids[0]).scalar_subquery()
    query = select(turns.c.model, turns.c.read_tokens, turns.c.ended).where(
        turns.c.lane == lane, turns.c.session_id.in_(ids), turns.c.ended > 0, turns.c.id.not_in(without)
    )
    found = connection.execute(query.order_by(turns.c.created.desc()).limit(1)).first()
    if found is None or not found.read_tokens:
        return "", 0
    changed = select(views.c.id).where(
        views.c.session_id.in_(ids), (views.c.created > found.ended) | (views.c.undone > found.ended)
    )
    return ("", 0) if connection.execute(changed.limit(1)).first() else (found.model, found.read_tokens)


def _views(connection: Connection, ids: Sequence[str], undoing: int) -> tuple[View, ...]:
    """Return the open views that show something, without what they hide."""
    query = select(views.c.id, views.c.summary, views.c.after).where(views.c.session_id.in_(ids), views.c.undone == 0)
    found = connection.execute(query.where(views.c.id != undoing).order_by(views.c.id)).all()
    shown: dict[int, dict[int, Message]] = {}
    rows = select(view_rows.c.view, view_rows.c.message, view_rows.c.shown)
    rows = rows.where(view_rows.c.view.in_([view.id for view in found]), view_rows.c.shown != "")
    for row in connection.execute(rows) if found else ():
        shown.setdefault(row.view, {})[row.message] = _unpacked(row.shown)
    return tuple(
        View(shown=shown.get(view.id, {}), summary=view.summary, after=view.after)
        for view in found
        if view.summary or view.id in shown
    )


def add_view(connection: Connection, session_id: str, view: View, kind: str) -> int:
    """Store a view of a session, and return its id."""
    values = {"session_id": session_id, "kind": kind, "summary": view.summary, "after": view.after, "created": now()}
    id = connection.execute(insert(views).values(values).returning(views.c.id)).scalar_one()
    rows = [{"view": id, "message": message, "shown": ""} for message in sorted(view.hidden)]
    rows += [{"view": id, "message": message, "shown": _packed(shown)} for message, shown in view.shown.items()]
    if rows:
        connection.execute(insert(view_rows), rows)
    return int(id)


def _packed(message: Message) -> str:
    parts = [message.role, message.text, message.call_id, message.name, message.api_content]
    called = [[clean(part) for part in (call.id, call.name, call.arguments)] for call in message.calls]
    return orjson.dumps([*(clean(part) if part else part for part in parts), called]).decode()


def _unpacked(text: str) -> Message:
    role, said, call_id, name, api_content, called = orjson.loads(text)
    return Message(role, said, tuple(ToolCall(*call) for call in called), call_id, name, api_content)


def numbers(
    connection: Connection, session_id: str, after: int, *, without: Set[str] = frozenset()
) -> list[tuple[int, str]]:
    """
    Return the ids of the messages in view of a session after one, in order, each with the call that it is a result of.

    `without` are turns whose messages do not count.
    """
    hidden = (
        select(view_rows.c.message)
        .join(views, views.c.id == view_rows.c.view)
        .where(HIDES, view_rows.c.message > after)
    )
    query = select(messages.c.id, messages.c.call_id).where(
        messages.c.session_id == session_id,
        messages.c.id > after,
        messages.c.id.not_in(hidden),
        messages.c.turn.not_in(without - {""}),
    )
    return [(row.id, row.call_id) for row in connection.execute(query.order_by(messages.c.id))]


def follow(connection: Connection, session_id: str, child: str) -> None:
    """Make a session that goes on from another, which is over; its history reaches the other's rows."""
    columns = tuple(sessions.c[name] for name in ("lane", "home", "prompt", "outline", "person", "guards"))
    row = connection.execute(select(sessions.c.title, *columns).where(sessions.c.id == session_id)).one()
    name, _, number = row.title.rpartition(" #")
    base, count = (name, int(number)) if name and number.isdecimal() else (row.title, 1)
    values = {column.name: getattr(row, column.name) for column in columns}
    titled = f"{base} #{count + 1}" if base else ""
    connection.execute(
        insert(sessions).values(id=child, parent_session_id=session_id, title=titled, created=now(), **values)
    )
    over = update(sessions).where(sessions.c.id == session_id)
    connection.execute(over.values(ended=now(), end_reason=COMPRESSION))


def follower(connection: Connection, session_id: str) -> str:
    """Return the session that goes on from a compressed one, or nothing."""
    over = select(sessions.c.id).where(sessions.c.id == session_id, sessions.c.end_reason == COMPRESSION)
    query = select(sessions.c.id).where(sessions.c.parent_session_id.in_(over))
    return connection.execute(query.order_by(sessions.c.created.desc()).limit(1)).scalar() or ""


def keep_guards(connection: Connection, session_id: str, guards: str) -> None:
    """Store what is known of a session's context."""
    connection.execute(update(sessions).where(sessions.c.id == session_id).values(guards=guards))


def of_turn(connection: Connection, turn: str) -> tuple[Message, ...]:
    """Return what a turn has stored so far: its journal."""
    # A turn with messages has a row; by its sessions they are found without an index of their own. There are several
    # where a compression made one that goes on, and the process died before the turn ended.
    began = sessions.alias()
    goes_on = (sessions.c.parent_session_id != "") & (sessions.c.created >= began.c.created)
    ids = select(sessions.c.id).join(began, began.c.lane == sessions.c.lane)
    ids = ids.join(turns, turns.c.session_id == began.c.id)
    ids = ids.where(turns.c.id == turn, (sessions.c.id == began.c.id) | goes_on)
    query = select(*_COLUMNS).where(messages.c.session_id.in_(ids), messages.c.turn == turn)
    return tuple(_message(row) for row in connection.execute(query.order_by(messages.c.id)))


def hide_turn(connection: Connection, session_id: str, turn: str, kind: str) -> None:
    """Take a turn's messages out of view; the rows stay, and the view can be undone."""
    ids = lineage(connection, session_id)
    said = select(messages.c.session_id, messages.c.id).where(messages.c.session_id.in_(ids), messages.c.turn == turn)
    found: dict[str, set[int]] = {}
    for row in connection.execute(said):
        found.setdefault(row.session_id, set()).add(row.id)
    for owner, rows in found.items():  # whoever reads only one of the sessions finds there what was taken back in it
        add_view(connection, owner, View(frozenset(rows)), kind)


def last_turn(connection: Connection, session_id: str) -> str:
    """Return the newest turn of a session that has ended and was not taken back, or nothing."""
    ids = lineage(connection, session_id)
    taken_back = (
        select(messages.c.turn)
        .join(view_rows, view_rows.c.message == messages.c.id)
        .join(views, views.c.id == view_rows.c.view)
        .where(views.c.session_id.in_(ids), TAKES_BACK)
    )
    lane = select(sessions.c.lane).where(sessions.c.id == session_id).scalar_subquery()
    query = select(turns.c.id).where(
        turns.c.lane == lane, turns.c.session_id.in_(ids), turns.c.ended > 0, turns.c.id.not_in(taken_back)
    )
    return connection.execute(query.order_by(turns.c.ended.desc()).limit(1)).scalar() or ""


def is_compressed(connection: Connection, turn: str) -> bool:
    """Say whether a summary stands for any part of a turn."""
    query = (
        select(views.c.id)
        .join(view_rows, view_rows.c.view == views.c.id)
        .join(messages, messages.c.id == view_rows.c.message)
        .where(messages.c.turn == turn, COMPRESSES)
    )
    return connection.execute(query.limit(1)).first() is not None


def previous(connection: Connection, lane: str, session_id: str) -> str:
    """Return the session that a lane had before this one, or nothing."""
    query = select(sessions.c.id).where(sessions.c.lane == lane, sessions.c.id != session_id)
    newest = query.order_by(sessions.c.created.desc(), sessions.c.id.desc()).limit(1)
    return connection.execute(newest).scalar() or ""


_KEEP_PROMPT = (
    update(sessions)
    .where(sessions.c.id == bindparam("session"))
    .values(prompt=bindparam("text"), outline=bindparam("parts"), person=bindparam("whose"))
)


def keep_prompt(connection: Connection, session_id: str, prompt: str, outline: str, person: str) -> None:
    """
    Store the system prompt of a session and its outline; it is the same on every request until another is stored.

    `person` is whose alone the session is, "" where several people speak in it.
    """
    values = {"session": session_id, "text": prompt, "parts": outline, "whose": person}
    connection.execute(_KEEP_PROMPT, values)


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
        .join(messages, messages.c.id == view_rows.c.message)
        .where(messages.c.session_id == session_id, HIDES)
    )
    hidden = {row.message: row.kind for row in connection.execute(out)}
    query = select(messages.c.id, messages.c.created, *_COLUMNS).where(messages.c.session_id == session_id)
    rows = connection.execute(query.order_by(messages.c.id.desc()).limit(limit)).all()
    return [Line(row.id, row.created, _message(row), hidden.get(row.id, "")) for row in reversed(rows)]
