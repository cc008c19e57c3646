"""The cache of live things: the least recently used goes first, what is in use stays, a thing is built once."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field

import pytest

from gateway.metrics import CacheFigures
from gateway.sessions.cache import Bounds, Cache

ROOMY = Bounds(entries=100, idle_seconds=1000.0, bytes=10**9)


@dataclass(slots=True, eq=False)
class Thing:
    name: str
    weight: int = 1


@dataclass(slots=True)
class Shelf:
    """A cache of things, the time it lives in, and what it let go."""

    bounds: Bounds = ROOMY
    time: float = 0.0
    built: list[str] = field(default_factory=list)
    flushed: list[str] = field(default_factory=list)
    cache: Cache[str, Thing] = field(init=False)

    def __post_init__(self) -> None:
        self.cache = Cache(self.bounds, lambda thing: thing.weight, self.flush, lambda: self.time)

    async def flush(self, thing: Thing) -> None:
        await asyncio.sleep(0)
        self.flushed.append(thing.name)

    def builds(self, name: str, weight: int = 1) -> Callable[[], Awaitable[Thing]]:
        async def build() -> Thing:
            await asyncio.sleep(0)
            self.built.append(name)
            return Thing(name, weight)

        return build

    async def touch(self, *names: str, weight: int = 1) -> None:
        for name in names:
            async with self.cache.use(name, self.builds(name, weight)):
                pass

    @property
    def kept(self) -> set[str]:
        return {name for name in map(chr, range(97, 123)) if name in self.cache}


async def test_what_was_built_is_found_again() -> None:
    shelf = Shelf()
    async with shelf.cache.use("a", shelf.builds("a")) as first:
        pass
    async with shelf.cache.use("a", shelf.builds("a")) as second:
        assert first is second
    assert shelf.built == ["a"]


async def test_the_least_recently_used_goes_first_and_is_flushed() -> None:
    shelf = Shelf(Bounds(3, 1000, 10**9))
    await shelf.touch("a", "b", "c", "a", "d")
    assert shelf.kept == {"a", "c", "d"}
    assert shelf.flushed == ["b"]
    await shelf.touch("b")
    assert shelf.kept == {"a", "b", "d"}
    assert shelf.built == ["a", "b", "c", "d", "b"]


async def test_what_is_in_use_stays_whatever_the_bounds_and_goes_afterwards() -> None:
    shelf = Shelf(Bounds(1, 10, 1))
    async with shelf.cache.use("a", shelf.builds("a", 100)):
        await shelf.touch("b", "c")
        shelf.time = 1000
        await shelf.cache.tidy()
        assert shelf.kept == {"a"}
    assert shelf.kept == set()


async def test_what_two_use_stays_until_both_are_done() -> None:
    shelf = Shelf(Bounds(0, 1000, 10**9))
    async with AsyncExitStack() as second:
        async with shelf.cache.use("a", shelf.builds("a")) as one:
            two = await second.enter_async_context(shelf.cache.use("a", shelf.builds("a")))
            assert one is two
        assert "a" in shelf.cache
        assert shelf.flushed == []
    assert "a" not in shelf.cache
    assert shelf.flushed == ["a"]


async def test_what_is_idle_too_long_goes_when_somebody_tidies() -> None:
    shelf = Shelf(Bounds(100, 60, 10**9))
    await shelf.touch("a")
    shelf.time = 30
    await shelf.touch("b")
    shelf.time = 61
    await shelf.cache.tidy()
    assert shelf.kept == {"b"}
    await shelf.touch("b")
    shelf.time = 120
    await shelf.cache.tidy()
    assert shelf.kept == {"b"}
    shelf.time = 122
    await shelf.cache.tidy()
    assert shelf.kept == set()
    assert shelf.flushed == ["a", "b"]


async def test_idle_time_counts_from_the_end_of_the_last_use() -> None:
    shelf = Shelf(Bounds(100, 60, 10**9))
    async with shelf.cache.use("a", shelf.builds("a")):
        shelf.time = 500
    shelf.time = 550
    await shelf.cache.tidy()
    assert shelf.kept == {"a"}


async def test_bytes_are_bounded_as_they_grow_with_use() -> None:
    shelf = Shelf(Bounds(100, 1000, 100))
    await shelf.touch("a", "b", weight=40)
    assert shelf.cache.figures.bytes == 80
    async with shelf.cache.use("b", shelf.builds("b")) as thing:
        thing.weight = 70
    assert shelf.kept == {"b"}
    assert shelf.cache.figures.bytes == 70
    async with shelf.cache.use("b", shelf.builds("b")) as thing:
        thing.weight = 10
    assert shelf.cache.figures.bytes == 10


async def test_a_thing_heavier_than_all_bounds_is_given_once_and_not_kept() -> None:
    shelf = Shelf(Bounds(100, 1000, 100))
    await shelf.touch("a", weight=101)
    assert shelf.kept == set()
    assert shelf.cache.figures.bytes == 0


# --- building


async def test_many_who_want_a_thing_at_once_get_one() -> None:
    shelf, go = Shelf(), asyncio.Event()

    async def build() -> Thing:
        shelf.built.append("a")
        await go.wait()
        return Thing("a")

    async def use() -> Thing:
        async with shelf.cache.use("a", build) as thing:
            return thing

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(use()) for _ in range(20)]
        await asyncio.sleep(0)
        go.set()
    assert len({id(task.result()) for task in tasks}) == 1
    assert shelf.built == ["a"]


async def test_building_one_thing_does_not_hold_up_another() -> None:
    shelf, go = Shelf(), asyncio.Event()

    async def slow() -> Thing:
        await go.wait()
        return Thing("slow")

    async with asyncio.TaskGroup() as group:
        group.create_task(use(shelf, "slow", slow))
        await asyncio.sleep(0)
        await shelf.touch("a")
        go.set()


async def use(shelf: Shelf, name: str, build: Callable[[], Awaitable[Thing]]) -> Thing:
    async with shelf.cache.use(name, build) as thing:
        return thing


async def test_a_build_that_fails_is_its_callers_and_the_next_builds_alone() -> None:
    """One waits while the build fails, another comes at that moment: still only one builds at a time."""
    shelf, go, at_once, most = Shelf(), asyncio.Event(), 0, 0

    async def build() -> Thing:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        try:
            shelf.built.append("a")
            await go.wait()
            for _ in range(3):
                await asyncio.sleep(0)
            if len(shelf.built) == 1:
                raise LookupError
            return Thing("a")
        finally:
            at_once -= 1

    async def late() -> Thing:
        while not first.done():
            await asyncio.sleep(0)
        return await use(shelf, "a", build)

    async with asyncio.TaskGroup() as group:
        first = asyncio.get_running_loop().create_task(use(shelf, "a", build))
        await asyncio.sleep(0)
        others = [group.create_task(use(shelf, "a", build)) for _ in range(3)]
        others += [group.create_task(late()) for _ in range(3)]
        go.set()
        with pytest.raises(LookupError):
            await first
    assert most == 1
    assert len({id(task.result()) for task in others}) == 1
    assert shelf.built == ["a", "a"]
    assert shelf.cache.figures.entries == 1


async def test_a_builder_that_is_cancelled_leaves_it_to_the_next() -> None:
    shelf, began = Shelf(), asyncio.Event()

    async def never() -> Thing:
        began.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        first = group.create_task(use(shelf, "a", never))
        await began.wait()
        second = group.create_task(use(shelf, "a", shelf.builds("a")))
        await asyncio.sleep(0)
        first.cancel()
    assert second.result().name == "a"


async def test_an_error_while_it_is_in_use_leaves_it_usable() -> None:
    shelf = Shelf()
    with pytest.raises(LookupError):
        async with shelf.cache.use("a", shelf.builds("a")):
            raise LookupError
    await shelf.touch("a")
    assert shelf.built == ["a"]


# --- dropping


async def test_what_is_dropped_is_forgotten_without_a_flush() -> None:
    shelf = Shelf()
    await shelf.touch("a")
    shelf.cache.drop("a")
    shelf.cache.drop("never there")
    assert shelf.kept == set()
    assert shelf.flushed == []
    assert shelf.cache.figures.bytes == 0


async def test_what_is_dropped_while_in_use_is_built_anew_beside_it() -> None:
    shelf = Shelf()
    async with shelf.cache.use("a", shelf.builds("a", 5)) as old:
        shelf.cache.drop("a")
        async with shelf.cache.use("a", shelf.builds("a", 7)) as new:
            assert new is not old
        assert shelf.cache.figures.bytes == 7
    assert shelf.cache.figures == CacheFigures(entries=1, bytes=7, hits=0, misses=2, evictions=0)
    async with shelf.cache.use("a", shelf.builds("a")) as again:
        assert again is new


async def test_what_matches_is_dropped() -> None:
    shelf = Shelf()
    await shelf.touch("a", "b", "c")
    shelf.cache.drop_where(lambda thing: thing.name in {"a", "c"})
    assert shelf.kept == {"b"}


# --- figures


async def test_the_figures_say_how_it_stands() -> None:
    shelf = Shelf(Bounds(2, 1000, 10**9))
    assert shelf.cache.figures == CacheFigures()
    await shelf.touch("a", "b", "a", "c", weight=3)
    assert shelf.cache.figures == CacheFigures(entries=2, bytes=6, hits=1, misses=3, evictions=1)


# --- everything at once


class Crowd:
    """People who use, drop and tidy the same few things."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.in_use: Counter[int] = Counter()
        self.cache = Cache[str, Thing](Bounds(4, 50, 300), lambda thing: thing.weight, self.flush, lambda: self.time)
        self.time = 0.0

    async def flush(self, thing: Thing) -> None:
        assert not self.in_use[id(thing)]
        await asyncio.sleep(0)

    async def build(self, name: str) -> Thing:
        await self.while_()
        if self.chance.random() < 0.1:
            raise LookupError(name)
        return Thing(name, self.chance.randrange(60))

    async def while_(self) -> None:
        for _ in range(self.chance.randrange(4)):
            await asyncio.sleep(0)

    async def person(self) -> None:
        for _ in range(60):
            with suppress(LookupError):
                await self.use(self.chance.choice("abcdefgh"))
            self.time += self.chance.random() * 10
            if self.chance.random() < 0.1:
                self.cache.drop(self.chance.choice("abcdefgh"))
            if self.chance.random() < 0.1:
                await self.cache.tidy()

    async def use(self, name: str) -> None:
        async with self.cache.use(name, lambda: self.build(name)) as thing:
            assert thing.name == name
            self.in_use[id(thing)] += 1
            await self.while_()
            thing.weight = self.chance.randrange(120)
            self.in_use[id(thing)] -= 1


@pytest.mark.parametrize("seed", range(5))
async def test_whoever_uses_drops_and_tidies_at_once_the_books_are_right(seed: int) -> None:
    crowd = Crowd(seed)
    async with asyncio.timeout(50), asyncio.TaskGroup() as group:
        for _ in range(12):
            group.create_task(crowd.person())
    await crowd.cache.tidy()
    figures = crowd.cache.figures
    assert 0 < figures.entries <= 4
    assert figures.bytes <= 300
    assert figures.evictions > 0
    crowd.cache.drop_where(lambda thing: True)
    assert crowd.cache.figures.entries == crowd.cache.figures.bytes == 0
