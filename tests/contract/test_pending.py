"""Writes that wait for a person, as rows on both databases."""

from __future__ import annotations

import asyncio
from typing import Any

from sqlalchemy import select, update

from gateway.agent.memory.approve import Approvals
from gateway.agent.memory.backing import pending
from gateway.agent.memory.backing.contract import Done, Edit
from gateway.agent.memory.backing.pending import APPLYING_SECONDS, Staging
from gateway.agent.memory.backing.table import TableBacking
from gateway.agent.memory.memories import Memories
from gateway.agent.memory.notes import Target
from gateway.agent.memory.operations import Operation
from gateway.agent.memory.scopes import Owner
from gateway.agent.memory.settings import MemorySettings
from gateway.storage.database import Connection, Database
from gateway.storage.tables import pending as table

WRITE = Staging("person:b0b", "b0b", "foreground", Target.USER, (Operation("add", "Bob likes jazz, 爵士"),))


async def stage(database: Database, write: Staging = WRITE) -> str:
    return await database.write(lambda connection: pending.stage(connection, write))


async def waiting(database: Database, person: str | None = None) -> list[str]:
    found = await database.read(lambda connection: pending.waiting(connection, person=person))
    return [one.id for one in found]


async def test_what_is_staged_comes_back_as_it_was(database: Database) -> None:
    id = await stage(database)
    (found,) = await database.read(pending.waiting)
    assert (found.id, found.write) == (id, WRITE)
    assert found.summary == "user: add Bob likes jazz, 爵士"


async def test_each_person_sees_their_own_and_who_asks_for_all_sees_all(database: Database) -> None:
    mine = await stage(database)
    other = await stage(database, Staging("home", "ann", "foreground", Target.MEMORY, (Operation("remove", "", "x"),)))
    assert await waiting(database, "b0b") == [mine]
    assert sorted(await waiting(database)) == sorted([mine, other])


async def test_of_many_who_decide_at_once_one_does(database: Database) -> None:
    id = await stage(database)
    begun = await asyncio.gather(
        *(database.write(lambda connection: pending.begin(connection, id, "a")) for _ in range(5)),
        *(database.write(lambda connection: pending.reject(connection, id, "b")) for _ in range(5)),
    )
    assert sum(begun) == 1
    assert await waiting(database) == []


async def test_what_could_not_be_carried_out_waits_again(database: Database) -> None:
    id = await stage(database)
    await database.write(lambda connection: pending.begin(connection, id, "a"))
    await database.write(lambda connection: pending.end(connection, id, "waiting"))
    (found,) = await database.read(pending.waiting)
    assert found.write == WRITE


async def test_what_was_being_carried_out_when_its_process_died_waits_again(database: Database) -> None:
    id = await stage(database)

    def die(connection: Connection) -> None:
        pending.begin(connection, id, "a")
        connection.execute(update(table).values(decided=table.c.decided - APPLYING_SECONDS - 1))

    await database.write(die)
    assert await waiting(database) == [id]
    assert await database.write(lambda connection: pending.begin(connection, id, "b"))


async def test_what_was_decided_keeps_no_word_of_it(database: Database) -> None:
    approved, rejected = await stage(database), await stage(database)
    await database.write(lambda connection: pending.begin(connection, approved, "a"))
    await database.write(lambda connection: pending.end(connection, approved, "approved"))
    await database.write(lambda connection: pending.reject(connection, rejected, "a"))
    rows = await database.read(lambda connection: connection.execute(select(table)).all())
    assert sorted(row.state for row in rows) == ["approved", "rejected"]
    assert not any("jazz" in str(value) for row in rows for value in row)


async def test_who_is_forgotten_leaves_nothing_that_waits(database: Database) -> None:
    await stage(database)
    other = await stage(database, Staging("home", "ann", "foreground", Target.MEMORY, WRITE.operations))
    assert await database.write(lambda connection: pending.forget(connection, "person:b0b", "b0b")) == 1
    assert await waiting(database) == [other]


async def test_what_is_approved_while_its_person_is_forgotten_is_forgotten_too(database: Database) -> None:
    class Slow(TableBacking):
        """Everything of its person is erased before the first change comes through."""

        async def change(self, target: Target, edit: Edit[Any]) -> Done[Any]:
            await memories.erase(owner, "b0b")
            return await super().change(target, edit)

    owner = Owner.parse(WRITE.owner)
    memories = Memories(database, MemorySettings(), lambda owner: Slow(database, str(owner)))
    await stage(database)
    (staged,) = await database.read(pending.waiting)
    told = await Approvals(database, memories, "stage").approve(staged, "fake:bob")
    assert "forgotten" in told
    assert await memories.store(owner).snapshot() == ""
