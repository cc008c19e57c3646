"""
Keeps the index up with what is said. In: the database. Out: messages in the index, and how many still wait.

A trigger notes every new message, so that a turn pays for one small row. The index is written in batches, by a process
in the background and by whoever searches; dividing the text into terms is no part of the write.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection, select, update
from sqlalchemy import func as sql

from gateway.bus.lanes import unpack
from gateway.sessions import store
from gateway.storage import words
from gateway.storage.database import Database
from gateway.storage.tables import inbox, messages, sessions
from gateway.storage.words import Said, Unread

BATCH, BATCH_CHARS = 100, 200_000
"""Messages, and characters of them, that are indexed in one write: some 20 ms."""
CATCH_UP = 1000
"""Messages that a search indexes itself before it looks; more wait only after an upgrade, or where nothing runs."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A message that is indexed, and its session."""

    id: int
    turn: str
    session: str
    lane: str
    person: str
    scope: int


async def keep_up(database: Database) -> None:
    """Index all that waits, and take out of the files what was forgotten; as long at rest as at work."""
    clock = asyncio.get_running_loop().time
    left = True
    while left:
        began = clock()
        left = await _batch(database) > 0
        await asyncio.sleep(clock() - began)
    await tidy(database)


async def is_behind(database: Database) -> bool:
    """Say whether there is something to keep up with."""
    return await database.read(lambda connection: bool(words.waiting(connection, 1)) or words.is_untidy(connection))


async def catch_up(database: Database, most: int = CATCH_UP) -> int:
    """Index what is not indexed yet, the newest first, and at most about so many; return how many messages wait."""
    done = 0
    while done < most:
        count = await _batch(database)
        if not count:
            return 0
        done += count
    return await database.read(words.count_waiting)


async def _batch(database: Database) -> int:
    """Index the next few messages, and return how many those were."""
    rows = await database.read(_next)
    if rows:
        said = await asyncio.to_thread(_terms, rows)
        await database.write(partial(_put, said=said))
    return len(rows)


async def tidy(database: Database) -> None:
    """Take what was forgotten out of the files, a little at a time."""
    if await database.read(words.is_untidy):
        left = True
        while left:
            left = await database.write(words.tidy)


def _next(connection: Connection) -> list[Unread]:
    ids = words.waiting(connection, BATCH)
    return words.read(connection, ids, BATCH_CHARS) if ids else []


def _terms(rows: Sequence[Unread]) -> list[Said]:
    return [words.terms(row) for row in rows]


def _put(connection: Connection, said: Sequence[Said]) -> None:
    """Put in what nobody else has put in meanwhile, and what was not erased."""
    mine = words.take(connection, [one.id for one in said])
    chosen = [one for one in said if one.id in mine]
    if chosen:
        scopes = _scopes(connection, [one.id for one in chosen])
        words.put(connection, (Said(one.id, one.role, one.terms, scopes[one.id]) for one in chosen))


def _scopes(connection: Connection, ids: Sequence[int]) -> dict[int, int]:
    """
    Return the number under which each message stands in the index.

    All sessions of one person alone share a number, every other session has its own. It is the id of the first message
    that was indexed under it, and for ever: who is told the number decides who finds the message.
    """
    columns = (messages.c.id, messages.c.turn, sessions.c.id, sessions.c.lane, sessions.c.person, sessions.c.scope)
    query = select(*columns).join(sessions, sessions.c.id == messages.c.session_id)
    found = connection.execute(query.where(messages.c.id.in_(ids)).order_by(messages.c.id))
    rows = [_Row(*row) for row in found]
    known: dict[str, int] = {}
    for row in rows:
        if row.session not in known:
            known[row.session] = row.scope or _number(connection, row)
    _note_participants(connection, [row for row in rows if not row.person])
    return {row.id: known[row.session] for row in rows}


def _number(connection: Connection, row: _Row) -> int:
    mine = select(sql.min(sessions.c.scope)).where(sessions.c.person == row.person, sessions.c.scope > 0)
    number = int((connection.execute(mine).scalar() if row.person else None) or row.id)
    connection.execute(update(sessions).where(sessions.c.id == row.session).values(scope=number))
    return number


def _note_participants(connection: Connection, rows: Sequence[_Row]) -> None:
    """Note who took part in shared sessions, by what is left of their events: older turns noted nobody."""
    turns: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        turns[row.session, row.lane].add(row.turn)
    for (session, lane), named in turns.items():
        asked = select(inbox.c.event).where(inbox.c.lane == lane, inbox.c.turn.in_(named - {""}), ~inbox.c.command)
        accounts = {unpack(event).account for event in connection.execute(asked).scalars()}
        store.take_part(connection, session, accounts)
