"""Compressions as rows: what each did, and how the newest is undone. Functions of an open connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, insert, select, update

from gateway.contracts.context import Record, View
from gateway.messages import Usage
from gateway.sessions import store
from gateway.storage.clock import now
from gateway.storage.tables import COMPRESSION, compressions, messages, sessions, view_rows, views


@dataclass(frozen=True, slots=True)
class Listed:
    """A compression as it is stored. Times are 0 for never."""

    id: int
    session_id: str
    view: int
    turn: str
    created: float
    undone: float
    record: Record


@dataclass(frozen=True, slots=True)
class Divider:
    """
    Where a summary stands among what people have seen: behind what was said `at` a time.

    `follows` is the turn that this was the end of; empty where it was in the turn that compressed, which went on.
    """

    id: int
    at: float
    follows: str
    outcome: str
    tokens: tuple[int, int]


def keep(connection: Connection, session_id: str, turn: str, record: Record, view: View | None) -> None:
    """Store what was tried, with its view if it took effect."""
    id = store.add_view(connection, session_id, view, COMPRESSION) if view is not None else None
    connection.execute(
        insert(compressions).values(
            session_id=session_id,
            view=id,
            turn=turn,
            occasion=record.occasion,
            outcome=record.outcome,
            engine=record.engine,
            model=record.model,
            writer=record.writer,
            focus=record.focus,
            tokens_before=record.tokens[0],
            tokens_after=record.tokens[1],
            messages_before=record.messages[0],
            messages_after=record.messages[1],
            prompt_tokens=record.usage.prompt,
            completion_tokens=record.usage.completion,
            seconds=record.seconds,
            score=record.score,
            reason=record.reason,
            guards=record.guards,
            created=now(),
        )
    )


def listed(connection: Connection, session_id: str, limit: int = 20) -> list[Listed]:
    """Return the compressions of a session and of those it goes on from, the newest first."""
    return [_listed(row) for row in connection.execute(_newest_first(connection, session_id).limit(limit))]


def count(connection: Connection, session_id: str) -> int:
    """Return how many compressions of a session, and of those it goes on from, were tried."""
    query = select(func.count()).where(compressions.c.session_id.in_(store.lineage(connection, session_id)))
    return connection.execute(query).scalar_one()


def newest(connection: Connection, session_id: str) -> Listed | None:
    """Return the newest compression that is in effect, if any."""
    in_effect = compressions.c.view.is_not(None), compressions.c.undone == 0
    row = connection.execute(_newest_first(connection, session_id).where(*in_effect).limit(1)).first()
    return _listed(row) if row is not None else None


def of_turn(connection: Connection, session_id: str, turn: str) -> Listed | None:
    """Return the newest compression that was tried in a turn of a session, or of one it goes on from, if any."""
    query = _newest_first(connection, session_id).where(compressions.c.turn == turn)
    row = connection.execute(query.limit(1)).first()
    return _listed(row) if row is not None else None


def _newest_first(connection: Connection, session_id: str) -> Select[Any]:
    query = select(compressions).where(compressions.c.session_id.in_(store.lineage(connection, session_id)))
    return query.order_by(compressions.c.id.desc())


def summary(connection: Connection, session_id: str) -> str:
    """Return the newest summary that stands for a part of a session, marks and all; "" for none."""
    query = select(views.c.summary).where(
        views.c.session_id.in_(store.lineage(connection, session_id)), views.c.undone == 0, views.c.summary != ""
    )
    return connection.execute(query.order_by(views.c.id.desc()).limit(1)).scalar() or ""


def won(connection: Connection, session_id: str, turn: str) -> list[tuple[int, int]]:
    """Return what each compression that took effect in a turn did, the first of them first: tokens before and after."""
    query = select(compressions.c.tokens_before, compressions.c.tokens_after).where(
        compressions.c.session_id.in_(store.lineage(connection, session_id)),
        compressions.c.turn == turn,
        compressions.c.view.is_not(None),
        compressions.c.occasion != "prune",
    )
    return [(row.tokens_before, row.tokens_after) for row in connection.execute(query.order_by(compressions.c.id))]


# A result without its call goes wherever it stands, and is nothing that a person has seen.
_LAST_HIDDEN = (
    select(view_rows.c.message)
    .join(messages, messages.c.id == view_rows.c.message)
    .where(view_rows.c.view == views.c.id, view_rows.c.shown == "", messages.c.role != "tool")
    .order_by(view_rows.c.message.desc())
    .limit(1)
    .correlate(views)
    .scalar_subquery()
)
_LAST = messages.alias()
_STANDING = (
    select(
        compressions.c.id,
        compressions.c.turn,
        compressions.c.outcome,
        compressions.c.tokens_before,
        compressions.c.tokens_after,
        _LAST.c.turn.label("hidden_turn"),
        _LAST.c.created.label("hidden_created"),
    )
    .join(views, views.c.id == compressions.c.view)
    .join(sessions, sessions.c.id == compressions.c.session_id)
    .join(_LAST, _LAST.c.id == _LAST_HIDDEN)
    .where(compressions.c.undone == 0, views.c.summary != "", sessions.c.lane == bindparam("key"))
    .order_by(compressions.c.id.desc())
    .limit(bindparam("most"))
)
_SUMMARY = (
    select(views.c.summary)
    .join(compressions, compressions.c.view == views.c.id)
    .join(sessions, sessions.c.id == compressions.c.session_id)
    .where(compressions.c.id == bindparam("id"), compressions.c.undone == 0, sessions.c.lane == bindparam("key"))
)


def dividers(connection: Connection, lane: str, limit: int) -> list[Divider]:
    """Return where summaries that are in effect stand in the conversations of a lane, the newest first."""
    rows = connection.execute(_STANDING, {"key": lane, "most": limit})
    return [
        Divider(
            row.id,
            row.hidden_created,
            row.hidden_turn if row.hidden_turn != row.turn else "",
            row.outcome,
            (row.tokens_before, row.tokens_after),
        )
        for row in rows
    ]


def summary_of(connection: Connection, lane: str, id: int) -> str:
    """Return the summary of a compression that is in effect, marks and all; nothing where the lane has no such one."""
    return connection.execute(_SUMMARY, {"key": lane, "id": id}).scalar() or ""


def undo(connection: Connection, found: Listed) -> None:
    """Show what a compression hid as it was said."""
    connection.execute(update(compressions).where(compressions.c.id == found.id).values(undone=now()))
    connection.execute(update(views).where(views.c.id == found.view).values(undone=now()))


def _listed(row: Any) -> Listed:
    record = Record(
        occasion=row.occasion,
        outcome=row.outcome,
        engine=row.engine,
        model=row.model,
        writer=row.writer,
        focus=row.focus,
        tokens=(row.tokens_before, row.tokens_after),
        messages=(row.messages_before, row.messages_after),
        usage=Usage(row.prompt_tokens, row.completion_tokens),
        seconds=row.seconds,
        score=row.score,
        reason=row.reason,
        guards=row.guards,
    )
    return Listed(row.id, row.session_id, row.view or 0, row.turn, row.created, row.undone, record)
