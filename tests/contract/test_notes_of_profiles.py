"""The notes that profiles keep of the same people, in files and in rows of either database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from gateway.agent.memory.approve import Approvals
from gateway.agent.memory.backing import pending
from gateway.agent.memory.backing.pending import Staging
from gateway.agent.memory.backing.queues import Desk
from gateway.agent.memory.backing.table import TableBacking
from gateway.agent.memory.memories import Memories
from gateway.agent.memory.notes import Target
from gateway.agent.memory.operations import Operation
from gateway.agent.memory.scopes import HOME, Kind, Owner
from gateway.agent.memory.settings import MemorySettings
from gateway.app.remember import all_owners, open_memories
from gateway.storage.database import Database
from gateway.types import Role

BOB = Owner(Kind.PERSON, "b0b")
OWNERS = (HOME, BOB, Owner(Kind.CHAT, "fake:team"))


@pytest.fixture(params=["as the database has it", "rows"])
async def both(
    request: pytest.FixtureRequest, database: Database, tmp_path: Path
) -> AsyncIterator[dict[str, Memories]]:
    """The notes of the gateway's own profile and of another."""
    settings, made = MemorySettings(), dict[str, Memories]()
    async with Desk() as desk:
        for name in ("", "coder"):
            if request.param == "rows":
                made[name] = Memories(database, settings, lambda owner: TableBacking(database, str(owner)))
            else:
                made[name] = open_memories(database, desk, tmp_path / (name or "main"), settings)
        yield made


async def note(memories: Memories, owner: Owner, text: str) -> None:
    await memories.store(owner).write(Target.MEMORY, [Operation("add", text)])


async def texts(memories: Memories, owner: Owner) -> list[str]:
    return [entry.text for entry in (await memories.store(owner).sheet(Target.MEMORY)).entries]


async def test_each_has_its_own_of_everybody(both: dict[str, Memories]) -> None:
    for owner in OWNERS:
        for name, memories in both.items():
            await note(memories, owner.within(name), f"what {name or 'the gateway'} knows of {owner}")
    for owner in OWNERS:
        for name, memories in both.items():
            assert await texts(memories, owner.within(name)) == [f"what {name or 'the gateway'} knows of {owner}"]


async def test_erasing_one_leaves_the_other(both: dict[str, Memories]) -> None:
    for name, memories in both.items():
        await note(memories, BOB.within(name), "Bob")
    assert await both["coder"].erase(BOB.within("coder"), "") == 3
    assert (await texts(both["coder"], BOB.within("coder")), await texts(both[""], BOB)) == ([], ["Bob"])


async def test_all_owners_of_a_profile_are_its_own(
    both: dict[str, Memories], database: Database, tmp_path: Path
) -> None:
    for name, memories in both.items():
        for owner in OWNERS[1:]:
            await note(memories, owner.within(name), "something")
    found = {name: await all_owners(database, tmp_path / (name or "main"), name) for name in both}
    assert [{owner.profile for owner in owners} for owners in found.values()] == [{""}, {"coder"}]
    assert all(OWNERS[2].within(name) in owners for name, owners in found.items())


async def test_a_write_that_waits_is_decided_by_the_profile_it_is_for(
    both: dict[str, Memories], database: Database
) -> None:
    for name in both:
        write = Staging(str(BOB.within(name)), "b0b", "foreground", Target.MEMORY, (Operation("add", f"of <{name}>"),))
        await database.write(partial(pending.stage, write=write))
    decide = {name: Approvals(database, memories, "stage", profile=name) for name, memories in both.items()}
    for name, approvals in decide.items():
        (waiting,) = await approvals.waiting("b0b", Role.OWNER)
        assert "written" in await approvals.approve(waiting, "cli:operator")
        assert await texts(both[name], BOB.within(name)) == [f"of <{name}>"]
