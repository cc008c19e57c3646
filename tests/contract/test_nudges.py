"""Counters of conversations that are due to be reviewed: what adds to them, and who may take what was counted."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from sqlalchemy import Connection, insert

from gateway.agent.memory.backing import nudges
from gateway.agent.memory.backing.nudges import Counters
from gateway.storage.database import Database
from gateway.storage.tables import sessions


async def count(
    database: Database, session: str = "s1", *, turns: int = 1, steps: int = 0, saved: bool = False
) -> Counters:
    return await database.write(
        lambda connection: nudges.count(connection, session, turns=turns, steps=steps, saved=saved)
    )


async def begin(database: Database, *, turns: int = 0, unsaved: int = 0) -> bool:
    return await database.write(lambda connection: nudges.begin(connection, "s1", turns=turns, unsaved=unsaved))


async def test_turns_and_steps_add_up_for_each_session_apart(database: Database) -> None:
    assert await count(database) == Counters(1, 0, 1)
    assert await count(database, steps=3) == Counters(2, 3, 2)
    assert await count(database, "s2", steps=1) == Counters(1, 1, 1)
    assert await count(database, turns=0, steps=2) == Counters(2, 5, 2)


async def test_a_turn_that_saved_begins_the_turns_anew(database: Database) -> None:
    assert await count(database, steps=1, saved=True) == Counters(0, 1, 0)
    await count(database)
    assert await count(database, steps=1, saved=True) == Counters(0, 2, 0)
    assert await count(database) == Counters(1, 2, 1)


async def test_of_many_who_begin_at_once_one_does(database: Database) -> None:
    for _ in range(3):
        await count(database, steps=1)
    assert not await begin(database, turns=4)
    assert not await begin(database, unsaved=4)
    assert sum(await asyncio.gather(*(begin(database, turns=3) for _ in range(20)))) == 1
    assert await count(database) == Counters(1, 3, 1)


async def test_what_was_reviewed_is_not_reviewed_again_when_it_is_left(database: Database) -> None:
    await count(database)
    assert await begin(database, unsaved=1)
    assert not await begin(database, turns=1)
    assert not await begin(database, unsaved=1)


async def test_nothing_begins_of_a_session_that_is_not_counted(database: Database) -> None:
    assert not await database.read(lambda connection: nudges.known(connection, "s1"))
    assert not await begin(database)
    await count(database)
    assert await database.read(lambda connection: nudges.known(connection, "s1"))


@pytest.mark.parametrize(("unsaved", "found"), [(2, "newer"), (3, "")])
async def test_the_session_that_was_left_last_is_found_if_it_is_worth_it(
    database: Database, unsaved: int, found: str
) -> None:
    def furnish(connection: Connection) -> None:
        for name, lane, ended in (("older", "a", 1.0), ("newer", "a", 2.0), ("here", "a", 0.0), ("other", "b", 3.0)):
            connection.execute(insert(sessions).values(id=name, lane=lane, created=1.0, ended=ended))
        for name, turns in (("older", 9), ("newer", 2), ("here", 9), ("other", 9)):
            nudges.count(connection, name, turns=turns, steps=0, saved=False)

    await database.write(furnish)
    assert await database.read(lambda connection: nudges.left(connection, "a", unsaved)) == found


async def test_a_turn_that_changed_a_skill_begins_the_steps_anew(database: Database) -> None:
    await count(database, steps=3)
    managed = partial(nudges.count, session_id="s1", turns=1, steps=2, saved=False, managed=True)
    assert await database.write(managed) == Counters(2, 0, 2)


async def test_what_is_taken_for_skills_and_for_notes_is_counted_apart(database: Database) -> None:
    for _ in range(3):
        await count(database, steps=2)
    assert not await database.write(partial(nudges.begin, session_id="s1", steps=7))
    assert await database.write(partial(nudges.begin, session_id="s1", steps=6))
    assert await count(database, steps=1) == Counters(4, 1, 4)
    assert await begin(database, turns=4)
    assert await count(database) == Counters(1, 1, 1)
    assert await database.write(partial(nudges.begin, session_id="s1", turns=1, steps=1))
    assert await count(database) == Counters(1, 0, 1)
