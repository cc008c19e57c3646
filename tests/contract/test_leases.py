"""Leases: one owner at a time by the database's clock, and an owner who stops believing by its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

import pytest
from sqlalchemy import Connection, select, update

from gateway.bus.duty import Duty
from gateway.storage import lease
from gateway.storage.database import Database
from gateway.storage.lease import Lease, LeaseTimes, Worker, boot_time
from gateway.storage.tables import leases, workers
from tests.contract.silent import Moody

TIMES = LeaseTimes(held=10.0, renew=3.0, margin=2.0)
QUICK = LeaseTimes(held=30.0, renew=0.02, margin=5.0)


async def take(database: Database, owner: str, names: Iterable[str] = ("a",), limit: int | None = None) -> list[Lease]:
    return await database.write(
        lambda connection: lease.acquire(connection, names, owner, force=False, limit=limit, times=TIMES)
    )


async def renew(database: Database, held: list[Lease], owner: str) -> list[Lease]:
    return await database.write(lambda connection: lease.renew(connection, held, owner, TIMES))


async def release(database: Database, held: list[Lease], owner: str) -> None:
    await database.write(lambda connection: lease.release(connection, held, owner))


def run_out(connection: Connection) -> None:
    connection.execute(update(leases).values(until=leases.c.until - 60))
    connection.execute(update(workers).values(until=workers.c.until - 60))


async def owners(database: Database) -> dict[str, str]:
    rows = await database.read(lambda connection: connection.execute(select(leases.c.name, leases.c.owner)).all())
    return {row.name: row.owner for row in rows}


async def test_a_free_name_is_taken_by_one(database: Database) -> None:
    mine = await take(database, "me")
    assert [(held.name, held.epoch) for held in mine] == [("a", 1)]
    assert mine[0].held
    assert await take(database, "you") == []


async def test_nobody_is_given_nothing(database: Database) -> None:
    assert await take(database, "me", []) == []
    assert await renew(database, [], "me") == []
    await release(database, [], "me")


async def test_a_lease_that_ran_out_is_taken_with_a_higher_epoch(database: Database) -> None:
    await take(database, "me")
    await database.write(run_out)
    assert [(held.name, held.epoch) for held in await take(database, "you")] == [("a", 2)]


async def test_a_stolen_lease_is_neither_renewed_nor_released_by_its_old_owner(database: Database) -> None:
    mine = await take(database, "me")
    await database.write(run_out)
    yours = await take(database, "you")
    assert await renew(database, mine, "me") == []
    await release(database, mine, "me")
    assert await owners(database) == {"a": "you"}
    assert [held.epoch for held in await renew(database, yours, "you")] == [2]


async def test_a_lease_that_came_back_to_its_owner_is_not_renewed_under_its_old_epoch(database: Database) -> None:
    old = await take(database, "me")
    await database.write(run_out)
    new = await take(database, "me")
    assert await renew(database, old, "me") == []
    await release(database, old, "me")
    assert await renew(database, new, "me") != []


async def test_a_lease_that_ran_out_is_not_renewed_even_if_nobody_took_it(database: Database) -> None:
    mine = await take(database, "me")
    await database.write(run_out)
    assert await renew(database, mine, "me") == []


async def test_a_lease_that_was_given_back_is_free_at_once(database: Database) -> None:
    await release(database, await take(database, "me"), "me")
    assert await take(database, "you") != []


async def test_of_many_names_those_that_are_free_are_taken_and_no_more_than_wanted(database: Database) -> None:
    names = [f"{number:02}" for number in range(20)]
    await take(database, "you", names[:5])
    assert [held.name for held in await take(database, "me", names, 4)] == names[5:9]
    assert len(await take(database, "me", names[9:])) == 11


async def test_a_lease_that_is_ours_without_our_knowing_is_taken_again(database: Database) -> None:
    """Its caller was cancelled while the database gave it."""
    lost = await take(database, "me")
    again = await take(database, "me")
    assert [held.epoch for held in again] == [lost[0].epoch + 1]
    assert await renew(database, lost, "me") == []


async def test_who_knows_to_be_alone_takes_it_whoever_holds_it(database: Database) -> None:
    yours = await take(database, "you")
    mine = await database.write(lambda connection: lease.acquire(connection, ["a"], "me", force=True, times=TIMES))
    assert [held.epoch for held in mine] == [2]
    assert await renew(database, yours, "you") == []


async def test_many_that_take_at_once_share_without_overlap(database: Database) -> None:
    names = [f"{number}" for number in range(40)]
    taken: list[list[Lease]] = await asyncio.gather(*(take(database, f"w{n}", names, 5) for n in range(8)))
    found = [held.name for each in taken for held in each]
    assert len(found) == len(set(found))
    assert all(len(each) <= 5 for each in taken)
    assert await owners(database) == {
        **dict.fromkeys(names, ""),
        **{held.name: f"w{number}" for number, each in enumerate(taken) for held in each},
    }


async def test_an_owner_believes_less_long_than_the_database_counted_from_before_it_asked(database: Database) -> None:
    before = boot_time()
    (mine,) = await take(database, "me")
    assert before + TIMES.held - TIMES.margin <= mine.until <= boot_time() + TIMES.held - TIMES.margin
    before = boot_time()
    (again,) = await renew(database, [mine], "me")
    assert mine.until <= again.until
    assert before + TIMES.held - TIMES.margin <= again.until


def test_an_owner_that_slept_past_the_end_stops_believing() -> None:
    assert Lease("a", 1, boot_time() + 60).held
    assert not Lease("a", 1, boot_time() - 0.001).held


def test_our_clock_goes_on_while_the_machine_sleeps_where_it_can() -> None:
    if hasattr(time, "CLOCK_BOOTTIME"):
        assert abs(boot_time() - time.clock_gettime(time.CLOCK_BOOTTIME)) < 60
    assert boot_time() <= boot_time()


# --- who is alive


def worker(name: str, role: str = "worker") -> Worker:
    return Worker(name, "host", 1, role)


def lives(who: Worker) -> Callable[[Connection], list[Worker]]:
    return lambda connection: lease.alive(connection, who, TIMES)


async def test_who_says_so_is_alive_until_its_word_is_old(database: Database) -> None:
    assert await database.write(lives(worker("a"))) == [worker("a")]
    assert await database.write(lives(worker("b", "edge"))) == [worker("a"), worker("b", "edge")]
    await database.write(run_out)
    assert await database.read(lease.living) == []
    assert await database.write(lives(worker("b"))) == [worker("b")]


async def test_who_leaves_is_gone_at_once(database: Database) -> None:
    await database.write(lives(worker("a")))
    await database.write(lives(worker("b")))
    await database.write(lambda connection: lease.leave(connection, "a"))
    assert await database.read(lease.living) == [worker("b")]


# --- a duty


class Work:
    """Goes on until it is told to end; says whether it is being done."""

    def __init__(self) -> None:
        self.began, self.ended, self.end = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.error: Exception | None = None

    async def __call__(self) -> None:
        self.began.set()
        try:
            await self.end.wait()
            if self.error:
                raise self.error
        finally:
            self.ended.set()


def duty(database: Database, owner: str, times: LeaseTimes = QUICK, *, force: bool = False) -> Duty:
    return Duty(database, "listen", owner, force=force, times=times)


async def test_a_duty_is_done_by_one_and_then_by_the_next(database: Database) -> None:
    first, second = Work(), Work()
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        group.create_task(duty(database, "me").run(first))
        await first.began.wait()
        group.create_task(duty(database, "you").run(second))
        for _ in range(20):
            await database.read(owners_now)
            assert not second.began.is_set()
        first.end.set()
        await second.began.wait()
        assert first.ended.is_set()
        second.end.set()
    assert await owners(database) == {"listen": ""}


def owners_now(connection: Connection) -> list[str]:
    return list(connection.execute(select(leases.c.owner)).scalars())


async def test_a_duty_whose_lease_was_stolen_ends_at_once_and_leaves_the_lease_to_the_thief(database: Database) -> None:
    work = Work()
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        task = group.create_task(duty(database, "me").run(work))
        await work.began.wait()
        await database.write(lambda connection: lease.acquire(connection, ["listen"], "thief", force=True))
        await task
    assert work.ended.is_set()
    assert await owners(database) == {"listen": "thief"}


async def test_a_duty_ends_when_the_database_falls_silent(database: Database) -> None:
    moody, work = Moody(database), Work()
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        task = group.create_task(duty(moody, "me", LeaseTimes(held=2.0, renew=0.02, margin=1.0)).run(work))
        await work.began.wait()
        moody.answers.clear()
        await work.ended.wait()
        moody.answers.set()
        await task


async def test_a_duty_ends_when_the_database_refuses_for_too_long_and_not_before(database: Database) -> None:
    moody, work = Moody(database), Work()
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        task = group.create_task(duty(moody, "me", LeaseTimes(held=2.0, renew=0.02, margin=1.0)).run(work))
        await work.began.wait()
        moody.refuses = True
        await work.ended.wait()
        await task


async def test_a_short_refusal_costs_a_duty_nothing(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    moody, work = Moody(database), Work()
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        group.create_task(duty(moody, "me").run(work))
        await work.began.wait()
        moody.refuses = True
        while "could not be renewed" not in caplog.text:
            await asyncio.sleep(0.01)
        moody.refuses = False
        assert not work.ended.is_set()
        work.end.set()


async def test_the_error_of_the_work_is_the_dutys_and_the_lease_is_given_back(database: Database) -> None:
    work = Work()
    work.error = LookupError("gone")
    work.end.set()
    with pytest.raises(LookupError) as raised:
        await duty(database, "me").run(work)
    assert raised.value is work.error
    assert await owners(database) == {"listen": ""}


async def test_a_duty_that_is_cancelled_gives_its_lease_back(database: Database) -> None:
    work = Work()
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        task = group.create_task(duty(database, "me").run(work))
        await work.began.wait()
        task.cancel()
    assert work.ended.is_set()
    assert await owners(database) == {"listen": ""}


async def test_a_duty_can_be_done_again(database: Database) -> None:
    mine = duty(database, "me")
    for _ in range(2):
        work = Work()
        work.end.set()
        await mine.run(work)
        assert work.ended.is_set()


async def test_a_process_that_is_alone_does_not_wait_for_a_dead_ones_lease(database: Database) -> None:
    await take(database, "dead", ["listen"])
    work = Work()
    work.end.set()
    async with asyncio.timeout(30):
        await duty(database, "me", force=True).run(work)
    assert work.began.is_set()
