"""
Keeps the index up with what is said. In: the database. Out: messages in the index, and how many still wait.

A trigger notes every new message, so that a turn pays for one small row. The index is written in batches, by a process
in the background and by whoever searches; dividing the text into terms is no part of the write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from sqlalchemy import Connection, select, update
from sqlalchemy import func as sql

from gateway.sessions.keys import agent_of
from gateway.storage import words
from gateway.storage.database import Database
from gateway.storage.tables import messages, sessions
from gateway.storage.words import Said, Unread

BATCH, BATCH_CHARS = 100, 200_000
"""Messages, and characters of them, that are indexed in one write: some 20 ms."""
CATCH_UP = 1000
"""Messages that a search indexes itself before it looks; more wait only after an upgrade, or where nothing runs."""
CATCH_UP_SECONDS = 3.0
"""How long it does so: what it looks at then takes its time, too."""


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


async def catch_up(database: Database, most: int = CATCH_UP, seconds: float = CATCH_UP_SECONDS) -> int:
    """
    Index what is not indexed yet, the newest first, and return how many messages wait.

    At most about so many are indexed, and for about so many seconds.
    """
    clock = asyncio.get_running_loop().time
    done, until = 0, clock() + seconds
    while done < most and clock() < until:
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
        await database.write(partial(put, said=said))
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


def put(connection: Connection, said: Sequence[Said]) -> None:
    """Put in what nobody else has put in meanwhile, and what was not erased."""
    mine = words.take(connection, [one.id for one in said])
    chosen = [one for one in said if one.id in mine]
    if chosen:
        scopes = _scopes(connection, [one.id for one in chosen])
        words.put(connection, (Said(one.id, one.role, one.terms, scopes[one.id]) for one in chosen))


def _scopes(connection: Connection, ids: Sequence[int]) -> dict[int, int]:
    """
    Return the number under which each message stands in the index.

    All sessions of one person alone with one agent share a number, every other session has its own. It is the id of
    the first message that was indexed under it, and for ever: who is told the number decides who finds the message.
    """
    query = select(
        sessions.c.id, sessions.c.person, sessions.c.scope, sessions.c.lane, sql.min(messages.c.id).label("first")
    )
    query = query.join(messages, messages.c.session_id == sessions.c.id).where(messages.c.id.in_(ids))
    rows = connection.execute(query.group_by(sessions.c.id).order_by(sessions.c.id)).all()
    known = {row.id: row.scope or _number(connection, row.id, row.person, row.lane, row.first) for row in rows}
    of = select(messages.c.id, messages.c.session_id).where(messages.c.id.in_(ids))
    return {row.id: known[row.session_id] for row in connection.execute(of)}


def _number(connection: Connection, session: str, person: str, lane: str, first: int) -> int:
    """Give a session its number, unless somebody else who indexes has just done so."""
    mine = select(sql.min(sessions.c.scope)).where(
        sessions.c.person == person, sessions.c.scope > 0, sessions.c.lane.startswith(agent_of(lane), autoescape=True)
    )
    number = (connection.execute(mine).scalar() if person else None) or first
    here = sessions.c.id == session
    connection.execute(update(sessions).where(here, sessions.c.scope == 0).values(scope=number))
    return int(connection.execute(select(sessions.c.scope).where(here)).scalar_one())
