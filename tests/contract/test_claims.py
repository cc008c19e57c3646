"""Lanes are handed out to one taker at a time, and none that waits is forgotten."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Set
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from sqlalchemy import update

from gateway.bus import lanes
from gateway.bus.claims import Claims
from gateway.bus.lanes import Claimed
from gateway.bus.memory import MemoryHints
from gateway.bus.order import Dead
from gateway.bus.shards import Shards
from gateway.contracts.bus import Hints
from gateway.errors import StorageError
from gateway.storage import lease
from gateway.storage.database import Database
from gateway.storage.lease import LeaseTimes
from gateway.storage.tables import inbox
from gateway.types import SessionKey
from tests.contract.lane import Lane, key, texts
from tests.contract.silent import Moody

EVERYTHING = frozenset(range(lanes.SHARDS))


@dataclass(frozen=True, slots=True)
class Process:
    claims: Claims
    shards: Shards
    hints: Hints

    async def ready(self) -> SessionKey:
        async with asyncio.timeout(20):
            return await self.claims.ready()

    async def none_ready(self) -> bool:
        """Say that nothing is ready, nor would be if everybody had a say first."""
        task = asyncio.get_running_loop().create_task(self.claims.ready())
        for _ in range(20):
            await asyncio.sleep(0)
        waits = not task.done()
        task.cancel()
        return waits

    async def take(self) -> Claimed:
        found = await self.claims.claim(await self.ready())
        assert isinstance(found, Claimed)
        return found


class Neighbour:
    """Says when shards have come."""

    def __init__(self) -> None:
        self.there = asyncio.Event()

    async def came(self, shards: Set[int]) -> None:
        self.there.set()

    async def leaving(self, shards: Set[int]) -> None: ...

    async def lost(self, shards: Set[int]) -> None: ...


@asynccontextmanager
async def process(
    database: Database, hints: Hints | None = None, *, serves: str = "", alone: bool = True
) -> AsyncIterator[Process]:
    numbers, neighbour, hints = itertools.count(), Neighbour(), hints or MemoryHints()
    async with Shards(database, works=True, alone=alone, times=LeaseTimes(renew=0.05)) as shards:
        shards.tell(neighbour)
        running = asyncio.get_running_loop().create_task(shards.run())
        await neighbour.there.wait()
        claims = Claims(
            database,
            hints,
            shards,
            home=lambda lane: "/home",
            ids=lambda: f"s{next(numbers)}",
            serves=lambda lane: lane.startswith(serves),
        )
        try:
            yield Process(claims, shards, hints)
        finally:
            running.cancel()
            await asyncio.wait([running])


async def test_a_lane_is_handed_out_to_one_until_it_is_released(database: Database) -> None:
    lane = Lane(database)
    async with process(database) as worker:
        await lane.says("one")
        for _ in range(3):
            worker.claims.offer(str(lane.key))
        first = await worker.take()
        assert texts(first) == ["one"]
        await lane.says("two")
        worker.claims.offer(str(lane.key))
        assert await worker.none_ready()
        await lane.settle(first)
        worker.claims.release(lane.key)
        assert texts(await worker.take()) == ["two"]


async def test_what_the_claim_saw_behind_the_turn_is_offered_at_its_end_without_a_hint(database: Database) -> None:
    lane = Lane(database)
    async with process(database) as worker:
        await lane.says("one")
        await lane.says("/model x", command=True)
        worker.claims.offer(str(lane.key))
        first = await worker.take()
        await lane.settle(first)
        worker.claims.release(lane.key)
        assert texts(await worker.take()) == ["/model x"]


async def test_a_lane_with_nothing_left_is_not_handed_out_again(database: Database) -> None:
    lane = Lane(database)
    async with process(database) as worker:
        await lane.says("one")
        worker.claims.offer(str(lane.key))
        await lane.settle(await worker.take())
        worker.claims.release(lane.key)
        assert await worker.none_ready()
        worker.claims.offer(str(lane.key))
        assert await worker.claims.claim(await worker.ready()) is None


async def test_of_many_lanes_that_wait_none_is_stranded(database: Database) -> None:
    chats = [f"{number}" for number in range(250)]
    for chat in chats:
        await Lane(database, chat).says(f"for {chat}")
    async with process(database) as worker:
        await worker.claims.look(EVERYTHING)
        heard = []
        for chat in chats:
            claimed = await worker.take()
            assert claimed.lane == key(chat)
            heard += texts(claimed)
        assert heard == [f"for {chat}" for chat in chats]


async def test_of_many_lanes_that_are_hinted_at_none_is_stranded(database: Database, hints: Hints) -> None:
    chats = [f"{number}" for number in range(250)]

    async def hear() -> None:
        async for lane in hints.hints():
            worker.claims.offer(lane)

    async with process(database, hints) as worker, asyncio.TaskGroup() as group:
        await hints.watch(EVERYTHING)
        hearing = group.create_task(hear())
        for chat in chats:
            await Lane(database, chat).says(f"for {chat}")
            await worker.claims.wake(key(chat))
        heard = [texts(await worker.take())[0] for _ in chats]
        hearing.cancel()
    assert sorted(heard) == sorted(f"for {chat}" for chat in chats)


async def test_what_a_dead_process_held_is_found_by_the_next(database: Database) -> None:
    lane = Lane(database)
    await lane.says("hello")
    async with process(database) as dead:
        dead.claims.offer(str(lane.key))
        await dead.take()
    async with process(database) as heir:
        await heir.claims.look(EVERYTHING)
        again = await heir.take()
    assert (texts(again), again.attempt, again.again) == (["hello"], 2, True)


async def test_a_turn_that_could_not_be_settled_is_handed_out_again(database: Database) -> None:
    moody = Moody(database)
    lane = Lane(moody)
    async with process(database) as worker:
        await lane.says("hello")
        worker.claims.offer(str(lane.key))
        claimed = await worker.take()
        moody.refuses = True
        with pytest.raises(StorageError):
            await lane.settle(claimed)
        moody.refuses = False
        worker.claims.release(lane.key)
        await worker.claims.look(EVERYTHING)
        again = await worker.take()
        assert (again.turn, again.attempt) == (claimed.turn, 2)
        await lane.settle(again)
    assert await lane.rows() == [("hello", "done", 2)]


async def test_a_lane_that_must_wait_is_offered_again_when_it_may(database: Database) -> None:
    lane = Lane(database)
    async with process(database) as worker:
        for part in ("first part", "second part"):
            await lane.says(part, burst="album")
            worker.claims.offer(str(lane.key))
        found = await worker.claims.claim(await worker.ready())
        worker.claims.release(lane.key)
        if found is None:
            found = await worker.take()
        assert isinstance(found, Claimed)
        assert texts(found) == ["first part", "second part"]


async def test_events_that_had_all_their_attempts_are_told(database: Database) -> None:
    lane = Lane(database)
    await lane.says("poison")
    await database.write(lambda connection: connection.execute(update(inbox).values(attempts=3, turn="t")))
    async with process(database) as worker:
        worker.claims.offer(str(lane.key))
        found = await worker.claims.claim(await worker.ready())
    assert isinstance(found, Dead)
    assert found.turn == "t"


async def test_a_lane_of_somebody_elses_shard_is_not_handed_out(database: Database) -> None:
    mine, theirs = Lane(database, "1"), Lane(database, "2")
    stolen = lanes.shard_of(str(theirs.key))
    assert stolen != lanes.shard_of(str(mine.key))
    thief = LeaseTimes(held=3600)
    async with process(database, alone=False) as worker:
        await database.write(
            lambda connection: lease.acquire(connection, [f"shard:{stolen}"], "thief", force=True, times=thief)
        )
        async with asyncio.timeout(20):
            while worker.shards.owns(stolen):
                await asyncio.sleep(0.02)
        for lane in (theirs, mine):
            await lane.says("hello")
            worker.claims.offer(str(lane.key))
        assert await worker.ready() == mine.key
        assert await worker.none_ready()


async def test_a_lane_that_this_process_does_not_serve_is_left_to_others(database: Database) -> None:
    async with process(database, serves="agent:main:cli") as command_line:
        await Lane(database).says("hello")
        command_line.claims.offer(str(key()))
        await command_line.claims.look(EVERYTHING)
        assert await command_line.none_ready()


async def test_a_database_that_refuses_for_a_moment_costs_no_lane(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    moody = Moody(database)
    await Lane(database).says("hello")
    async with process(moody) as worker:
        moody.refuses = True
        await worker.claims.look(EVERYTHING)
        assert "could not be read" in caplog.text
        assert await worker.none_ready()
        moody.refuses = False
        await worker.claims.look(EVERYTHING)
        assert await worker.ready() == key()
