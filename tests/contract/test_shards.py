"""Shards: a fair share for every worker, no shard with two, none without one for longer than a lease."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Set
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlalchemy import Connection, select, text, update

from gateway.bus.lanes import SHARDS
from gateway.bus.shards import Shards
from gateway.errors import ConfigError, StorageError
from gateway.storage import lease, open_database
from gateway.storage.database import Database
from gateway.storage.lease import LeaseTimes
from gateway.storage.tables import leases
from tests.contract.silent import Moody

ALL = frozenset(range(SHARDS))
QUICK = LeaseTimes(held=6.0, renew=0.03, margin=2.0)
SHORT = LeaseTimes(held=1.5, renew=0.03, margin=0.5)


@dataclass(slots=True)
class Tenant:
    """Works on what it is told is ours; lets go when `patience` allows it."""

    mine: set[int] = field(default_factory=set)
    lost_: set[int] = field(default_factory=set)
    patience: asyncio.Event = field(default_factory=asyncio.Event)
    trouble: StorageError | None = None

    async def came(self, shards: Set[int]) -> None:
        self.mine |= shards
        if self.trouble:
            raise self.trouble

    async def leaving(self, shards: Set[int]) -> None:
        await self.patience.wait()
        if self.trouble:
            raise self.trouble
        self.mine -= shards

    async def lost(self, shards: Set[int]) -> None:
        self.mine -= shards
        self.lost_ |= shards


@dataclass(frozen=True, slots=True)
class Process:
    shards: Shards
    tenant: Tenant
    task: asyncio.Task[None]

    @property
    def held(self) -> frozenset[int]:
        return self.shards.held

    async def dies(self) -> None:
        """Renew nothing more and say nothing to anybody, as after a SIGKILL."""
        self.task.cancel()
        await asyncio.wait([self.task])


@asynccontextmanager
async def process(
    database: Database,
    *,
    works: bool = True,
    alone: bool = False,
    role: str = "worker",
    patient: bool = True,
    times: LeaseTimes = QUICK,
) -> AsyncIterator[Process]:
    async with Shards(database, works=works, alone=alone, role=role, times=times) as shards:
        tenant = Tenant()
        if patient:
            tenant.patience.set()
        shards.tell(tenant)
        task = asyncio.get_running_loop().create_task(shards.run())
        try:
            yield Process(shards, tenant, task)
        finally:
            task.cancel()
            await asyncio.wait([task])


async def until(true: Callable[[], bool | Awaitable[bool]]) -> None:
    async with asyncio.timeout(45):
        while True:
            found = true()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.02)


async def owners(database: Database) -> dict[str, set[int]]:
    """Whose which shards are, by the rows."""

    def job(connection: Connection) -> dict[str, set[int]]:
        found: dict[str, set[int]] = {}
        for row in connection.execute(select(leases.c.name, leases.c.owner).where(leases.c.owner != "")):
            found.setdefault(row.owner, set()).add(int(row.name.partition(":")[2]))
        return found

    return await database.read(job)


async def test_a_worker_alone_with_a_database_has_all_shards_at_once(database: Database) -> None:
    async with process(database, alone=True) as only:
        await until(lambda: only.held == ALL)
        assert only.tenant.mine == ALL
    assert await owners(database) == {}


async def test_a_process_that_starts_alone_does_not_wait_for_the_dead(database: Database) -> None:
    await database.write(
        lambda connection: lease.acquire(connection, [f"shard:{n}" for n in range(SHARDS)], "dead", force=False)
    )
    async with process(database, alone=True) as only:
        await until(lambda: only.held == ALL)


async def test_a_process_that_is_no_worker_holds_none_and_takes_no_share(database: Database) -> None:
    async with process(database, works=False, role="edge") as edge, process(database) as worker:
        await until(lambda: worker.held == ALL)
        assert edge.held == frozenset()
        living = await database.read(lease.living)
        assert {who.role for who in living} == {"edge", "worker"}


async def test_workers_share_fairly_and_disjointly_when_they_come_and_go(schema_url: str, tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        databases = [await stack.enter_async_context(open_database(schema_url, tmp_path)) for _ in range(3)]
        first = await stack.enter_async_context(process(databases[0]))
        await until(lambda: first.held == ALL)
        second = await stack.enter_async_context(process(databases[1]))
        third = await stack.enter_async_context(process(databases[2]))
        watched: list[Process] = [first, second, third]
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(never_two(watched))
            await until(lambda: sorted(len(each.held) for each in watched) in ([20, 22, 22], [21, 21, 22]))
            assert frozenset().union(*(each.held for each in watched)) == ALL
            await second.dies()
            watched.remove(second)
            await until(lambda: len(first.held) == len(third.held) == 32)
            watching.cancel()
        by_rows = await owners(databases[0])
        assert set(map(frozenset, by_rows.values())) >= {first.held, third.held}
        assert first.held | third.held == ALL
        assert first.tenant.mine == first.held
        assert third.tenant.mine == third.held
        assert first.tenant.lost_ == third.tenant.lost_ == set()


async def never_two(watched: list[Process]) -> None:
    while True:
        seen: set[int] = set()
        for each in watched:
            assert not seen & each.held
            seen |= each.held
        await asyncio.sleep(0.005)


async def test_a_worker_that_leaves_frees_its_shards_at_once(database: Database) -> None:
    times = LeaseTimes(held=600.0, renew=0.03, margin=1.0)
    async with process(database, times=times) as stays:
        async with process(database, times=times) as leaves:
            await until(lambda: len(leaves.held) == 32)
        await until(lambda: stays.held == ALL)


async def test_a_shard_whose_turn_goes_on_is_kept_but_nothing_new_begins_there(database: Database) -> None:
    async with process(database, patient=False) as busy:
        await until(lambda: busy.held == ALL)
        async with process(database) as new:
            await until(lambda: len(busy.held) == 32)
            by_rows = await owners(database)
            assert by_rows == {busy.shards.me.id: set(ALL)}
            assert new.held == frozenset()
            assert busy.tenant.mine == ALL
            busy.tenant.patience.set()
            await until(lambda: len(new.held) == 32)
            assert busy.tenant.mine == busy.held
            assert not busy.held & new.held


async def test_a_worker_whose_leases_were_stolen_hears_of_it(database: Database) -> None:
    async with process(database) as robbed:
        await until(lambda: robbed.held == ALL)
        stolen = ["shard:3", "shard:17"]
        await database.write(lambda connection: lease.acquire(connection, stolen, "thief", force=True))
        await until(lambda: robbed.tenant.lost_ == {3, 17})
        assert robbed.held == ALL - {3, 17}
        assert (await owners(database))["thief"] == {3, 17}


async def test_a_worker_that_slept_too_long_believes_nothing_on_waking(database: Database) -> None:
    async with process(database) as sleeper:
        await until(lambda: sleeper.held == ALL)
        await database.write(lambda connection: connection.execute(update(leases).values(until=0.0)))
        await until(lambda: sleeper.tenant.lost_ == ALL)
        await until(lambda: sleeper.held == ALL)
        assert sleeper.tenant.mine == ALL


async def test_a_worker_whose_database_falls_silent_stops_believing_and_begins_again_when_it_answers(
    database: Database,
) -> None:
    moody = Moody(database)
    async with process(moody, times=SHORT) as deaf:
        await until(lambda: deaf.held == ALL)
        moody.answers.clear()
        await until(lambda: deaf.tenant.lost_ == ALL)
        assert deaf.held == frozenset()
        assert not any(deaf.shards.owns(shard) for shard in ALL)
        moody.answers.set()
        await until(lambda: deaf.held == ALL)


async def test_a_worker_whose_database_refuses_for_a_moment_loses_nothing(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    moody = Moody(database)
    async with process(moody) as worker:
        await until(lambda: worker.held == ALL)
        moody.refuses = True
        await until(lambda: "could not be renewed" in caplog.text)
        moody.refuses = False
        assert worker.held == ALL
        assert worker.tenant.lost_ == set()


async def test_a_shard_that_could_not_be_given_back_is_stranded_with_nobody(database: Database) -> None:
    async with process(database, patient=False) as giver:
        await until(lambda: giver.held == ALL)
        async with process(database) as taker:
            await until(lambda: len(giver.held) == 32)
            giver.tenant.trouble = StorageError("the server has gone away")
            giver.tenant.patience.set()
            await until(lambda: len(giver.held) > 32)  # taken up again, and soon on their way once more
            giver.tenant.trouble = None
            await until(lambda: len(taker.held) == len(giver.held) == 32)
            assert taker.held | giver.held == ALL
        assert not giver.task.done()


async def test_trouble_of_a_tenant_costs_no_shard(database: Database) -> None:
    async with Shards(database, works=True, alone=True, times=QUICK) as shards:
        troubled, other = Tenant(trouble=StorageError("the server has gone away")), Tenant()
        shards.tell(troubled)
        shards.tell(other)
        task = asyncio.get_running_loop().create_task(shards.run())
        await until(lambda: other.mine == ALL)
        assert shards.held == ALL
        task.cancel()
        await asyncio.wait([task])


async def test_a_database_laid_out_for_other_shards_refuses_to_start(database: Database) -> None:
    async with Shards(database, works=True, alone=True):
        pass
    await database.write(lambda connection: connection.execute(text("UPDATE facts SET value = '16'")))
    with pytest.raises(ConfigError, match="16 shards, this version has 64"):
        async with Shards(database, works=True, alone=True):
            pass
