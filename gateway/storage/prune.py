"""
Takes away rows that have done their work: events that were answered, parts that were delivered, calls of ended turns.

What was given up (dead, refused) stays until an operator decides, messages stay for ever, and so do the events of a
lane's newest turn, which /retry answers again. Rows are read a page at a time and deleted in transactions of a page, so
that no writer waits long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    delete,
    func,
    literal,
    or_,
    select,
    true,
)

from gateway.storage.clock import now
from gateway.storage.database import Database
from gateway.storage.tables import calls, inbox, outbox, turns

PAGE = 500
"""Rows that are looked at, and deleted, at once."""
Keeps = Callable[[str], bool]
"""Says whether the rows of a place are kept: it is given a lane's key or an address."""
_KEPT = bindparam("seconds", type_=now.type)
_BEFORE = now() - _KEPT


@dataclass(frozen=True, slots=True)
class _Kind:
    """
    Rows of one table in the order of their keys, from behind `after`.

    `old`: those behind may be old enough, too; `over`: this one has done its work; `place`: whose it is.
    """

    key: Column[Any]
    first: int | str
    query: Select[Any]


def _newest_turn() -> ColumnElement[str]:
    newest = select(turns.c.id).where(turns.c.lane == inbox.c.lane).order_by(turns.c.created.desc()).limit(1)
    return func.coalesce(newest.scalar_subquery(), "")


def _kind(key: Column[Any], first: int | str, **says: ColumnElement[Any]) -> _Kind:
    said = [column.label(name) for name, column in says.items()]
    behind = select(key.label("key"), *said).where(key > bindparam("after", type_=key.type))
    return _Kind(key, first, behind.order_by(key).limit(PAGE))


_EVENTS = _kind(
    inbox.c.id,
    0,
    place=inbox.c.lane,
    old=inbox.c.created < _BEFORE,
    over=and_(
        inbox.c.state.in_(("done", "discarded")),
        inbox.c.created < _BEFORE,
        or_(inbox.c.turn == "", inbox.c.turn != _newest_turn()),
    ),
)
_PARTS = _kind(
    outbox.c.id,
    0,
    place=outbox.c.address,
    old=outbox.c.created < _BEFORE,
    over=and_(outbox.c.state.in_(("sent", "discarded")), outbox.c.created < _BEFORE, outbox.c.sent < _BEFORE),
)
_ENDED = select(turns.c.id).where(turns.c.id == calls.c.turn, turns.c.ended > 0, turns.c.ended < _BEFORE)
_CALLS = _kind(calls.c.turn, "", place=literal(""), old=true(), over=_ENDED.exists())


async def prune(database: Database, seconds: float, keeps: Keeps = lambda place: False) -> int:
    """Delete what has done its work for so many seconds, unless `keeps` wants it; return how many rows those were."""
    gone = 0
    for kind in (_EVENTS, _PARTS, _CALLS):
        after: int | str | None = kind.first
        while after is not None:
            after, count = await _page(database, kind, after, seconds, keeps)
            gone += count
    return gone


async def _page(
    database: Database, kind: _Kind, after: int | str, seconds: float, keeps: Keeps
) -> tuple[int | str | None, int]:
    """Deal with one page; return where the next begins, if there is more to do, and how many rows are gone."""

    def look(connection: Connection) -> list[Row[Any]]:
        return list(connection.execute(kind.query, {"after": after, "seconds": seconds}))

    rows = await database.read(look)
    over = {row.key for row in rows if row.over and not keeps(row.place)}
    gone = 0
    if over:
        rid = delete(kind.key.table).where(kind.key.in_(over))
        gone = await database.write(lambda connection: connection.execute(rid).rowcount)
    return (rows[-1].key if any(row.old for row in rows) else None), gone
