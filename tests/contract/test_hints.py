"""Hints wake whoever waits, in this process or another; whatever happens to them, nobody is harmed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from redis.asyncio import Redis

from gateway.bus import open_hints
from gateway.contracts.bus import Hints
from gateway.errors import ConfigError
from tests.contract.cable import Cable

HOSTILE = [
    "agent:main:fake:dm:1",
    "",
    " ",
    "a:b%3Ac",
    "東京 \u202e",
    "\ud800 alone",
    "nul\0inside",
    "x" * 100_000,
    ">queue",
]


async def heard(ears: AsyncIterator[str], count: int) -> list[str]:
    async with asyncio.timeout(20):
        return [await anext(ears) for _ in range(count)]


# --- hints


async def test_a_hint_comes_out_where_its_shard_is_watched(hints: Hints) -> None:
    await hints.watch({3})
    await hints.hint(3, "lane")
    assert await heard(hints.hints(), 1) == ["lane"]


async def test_hints_given_before_anybody_watched_are_found_by_who_takes_over(hints: Hints) -> None:
    await hints.hint(3, "early")
    await hints.hint(4, "early too")
    await hints.watch({3, 4})
    assert set(await heard(hints.hints(), 2)) == {"early", "early too"}


async def test_none_of_many_hints_is_stranded(hints: Hints) -> None:
    names = [f"lane {number}" for number in range(700)]
    await asyncio.gather(*(hints.hint(number % 3, name) for number, name in enumerate(names)))
    await hints.watch({0, 1, 2})
    assert sorted(await heard(hints.hints(), len(names))) == sorted(names)


async def test_who_waits_already_is_woken(hints: Hints) -> None:
    await hints.watch({1})
    ears = hints.hints()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(heard(ears, 3))
        for name in ("a", "b", "c"):
            await hints.hint(1, name)
            await asyncio.sleep(0)
    assert waiting.result() == ["a", "b", "c"]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:20]))
async def test_a_hint_and_a_signal_may_be_any_text(hints: Hints, text: str) -> None:
    await hints.watch({1})
    await hints.hint(1, text)
    assert await heard(hints.hints(), 1) == [text]
    async with hints.signals("topic") as ears:
        await hints.signal("topic", text)
        assert await heard(ears, 1) == [text]


# --- signals


async def test_every_listener_hears_a_signal_of_its_topic_and_no_other(hints: Hints) -> None:
    async with hints.signals("news") as one, hints.signals("news") as two, hints.signals("else") as other:
        await hints.signal("news", "first")
        await hints.signal("else", "not for them")
        await hints.signal("news", "second")
        assert await heard(one, 2) == ["first", "second"]
        assert await heard(two, 2) == ["first", "second"]
        assert await heard(other, 1) == ["not for them"]


async def test_a_signal_nobody_hears_is_lost(hints: Hints) -> None:
    await hints.signal("news", "early")
    async with hints.signals("news") as ears:
        await hints.signal("news", "now")
        assert await heard(ears, 1) == ["now"]


async def test_who_stopped_listening_holds_nobody_up(hints: Hints) -> None:
    async with hints.signals("news"):
        pass
    async with hints.signals("news"):
        async with asyncio.timeout(30):
            for number in range(3000):
                await hints.signal("news", f"{number}")


async def test_a_listener_that_falls_behind_loses_old_news_not_new(hints: Hints) -> None:
    async with hints.signals("news") as ears:
        for number in range(3000):
            await hints.signal("news", f"{number}")
        async with asyncio.timeout(30):
            async for news in ears:
                if news == "2999":
                    return


# --- over Redis


@asynccontextmanager
async def two(url: str, prefix: str) -> AsyncIterator[tuple[Hints, Hints]]:
    async with open_hints(url, prefix) as first, open_hints(url, prefix) as second:
        yield first, second


async def test_what_one_process_says_another_hears(redis_url: str, redis_prefix: str) -> None:
    async with two(redis_url, redis_prefix) as (edge, worker):
        await worker.watch({5})
        await edge.hint(5, "lane")
        assert await heard(worker.hints(), 1) == ["lane"]
        async with worker.signals("news") as ears:
            await edge.signal("news", "hello")
            assert await heard(ears, 1) == ["hello"]


async def test_a_process_hears_only_the_shards_it_watches(redis_url: str, redis_prefix: str) -> None:
    async with two(redis_url, redis_prefix) as (first, second):
        await first.watch({1})
        await second.watch({2})
        await first.hint(2, "for the second")
        await second.hint(1, "for the first")
        assert await heard(first.hints(), 1) == ["for the first"]
        assert await heard(second.hints(), 1) == ["for the second"]


async def test_what_a_dead_process_had_not_read_its_heir_reads(redis_url: str, redis_prefix: str) -> None:
    names = [f"lane {number}" for number in range(250)]
    async with open_hints(redis_url, redis_prefix) as dead:
        await dead.watch({1})
        for name in names:
            await dead.hint(1, name)
    async with open_hints(redis_url, redis_prefix) as heir:
        await heir.watch({1})
        assert await heard(heir.hints(), 250) == names


async def test_a_shard_that_moved_is_not_read_by_its_old_owner(redis_url: str, redis_prefix: str) -> None:
    async with two(redis_url, redis_prefix) as (old, new):
        await old.watch({1, 2})
        ears = old.hints()
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(heard(ears, 1))
            async with Redis.from_url(redis_url) as spy:
                while not any(client["cmd"].startswith("xread") for client in await spy.client_list()):
                    await asyncio.sleep(0.01)
            # The old owner's request is under way and still names the shard that it gives away now.
            await old.watch({2})
            await new.hint(1, "for the new owner")
            await new.watch({1})
            assert await heard(new.hints(), 1) == ["for the new owner"]
            await new.hint(2, "for the old owner")
        assert reading.result() == ["for the old owner"]


async def test_what_was_read_is_deleted(redis_url: str, redis_prefix: str) -> None:
    async with open_hints(redis_url, redis_prefix) as hints, Redis.from_url(redis_url) as spy:
        await hints.watch({1, 2})
        for number in range(20):
            await hints.hint(1 + number % 2, f"{number}")
        await heard(hints.hints(), 20)
        assert [await spy.xlen(f"{redis_prefix}:inbox:{shard}") for shard in (1, 2)] == [0, 0]


async def test_who_watches_nothing_waits_and_hears_what_it_watches_later(redis_url: str, redis_prefix: str) -> None:
    async with open_hints(redis_url, redis_prefix) as hints, asyncio.TaskGroup() as group:
        reading = group.create_task(heard(hints.hints(), 1))
        await hints.hint(1, "lane")
        assert not reading.done()
        await hints.watch({1})
        assert await reading == ["lane"]


async def test_two_gateways_share_one_redis_by_their_prefixes(redis_url: str, redis_prefix: str) -> None:
    async with open_hints(redis_url, f"{redis_prefix}a") as ours, open_hints(redis_url, f"{redis_prefix}b") as theirs:
        await ours.watch({1})
        await theirs.hint(1, "theirs")
        await ours.hint(1, "ours")
        assert await heard(ours.hints(), 1) == ["ours"]


async def test_whoever_empties_redis_costs_only_what_was_in_it(redis_url: str, redis_prefix: str) -> None:
    async with open_hints(redis_url, redis_prefix) as hints, Redis.from_url(redis_url) as spy:
        await hints.watch({1})
        ears = hints.hints()
        await hints.hint(1, "before")
        assert await heard(ears, 1) == ["before"]
        await spy.delete(f"{redis_prefix}:inbox:1")
        await hints.hint(1, "after")
        assert await heard(ears, 1) == ["after"]


# --- while Redis is away


@dataclass(frozen=True, slots=True)
class Line:
    hints: Hints
    cable: Cable


@pytest.fixture
async def line(redis_url: str, redis_prefix: str) -> AsyncIterator[Line]:
    async with Cable(redis_url) as cable, open_hints(cable.url, redis_prefix) as hints:
        yield Line(hints, cable)


async def test_while_redis_is_away_nothing_raises_and_it_is_said_once(
    line: Line, caplog: pytest.LogCaptureFixture
) -> None:
    await line.cable.cut()
    async with asyncio.timeout(30):
        for number in range(50):
            await line.hints.hint(1, f"{number}")
            await line.hints.signal("news", f"{number}")
        async with line.hints.signals("news"):
            pass
    assert [record.levelname for record in caplog.records if "Redis is away" in record.message] == ["WARNING"]


async def test_when_redis_is_back_hints_and_signals_go_on(line: Line, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    await line.hints.watch({1})
    async with line.hints.signals("news") as ears, asyncio.TaskGroup() as group:
        await line.cable.cut()
        hint = group.create_task(heard(line.hints.hints(), 1))
        signal = group.create_task(heard(ears, 1))
        while "Redis is away" not in caplog.text:
            await asyncio.sleep(0.01)
        await line.cable.plug()
        async with asyncio.timeout(30):
            while not (hint.done() and signal.done()):
                await line.hints.hint(1, "again")
                await line.hints.signal("news", "again")
                await asyncio.sleep(0.05)
        assert hint.result() == signal.result() == ["again"]
    assert "Redis is back" in caplog.text


async def test_hints_work_although_redis_was_away_at_the_start(redis_url: str, redis_prefix: str) -> None:
    async with Cable(redis_url) as cable:
        await cable.cut()
        async with open_hints(cable.url, redis_prefix) as hints, asyncio.TaskGroup() as group:
            await hints.watch({1})
            reading = group.create_task(heard(hints.hints(), 1))
            async with hints.signals("news") as ears:
                await cable.plug()
                listening = group.create_task(heard(ears, 1))
                async with asyncio.timeout(30):
                    while not (reading.done() and listening.done()):
                        await hints.hint(1, "lane")
                        await hints.signal("news", "hello")
                        await asyncio.sleep(0.05)


async def test_a_redis_that_hangs_does_not_hold_up_every_message(line: Line) -> None:
    await line.hints.hint(1, "works")
    line.cable.hold()
    async with asyncio.timeout(20):
        await line.hints.hint(1, "hangs")
        connections = line.cable.connections
        for number in range(100):
            await line.hints.hint(1, f"{number}")
        assert line.cable.connections == connections
    line.cable.let_go()


async def test_a_reader_notices_a_redis_that_hangs_and_goes_on_when_it_answers(
    line: Line, caplog: pytest.LogCaptureFixture
) -> None:
    await line.hints.watch({1})
    async with asyncio.TaskGroup() as group, asyncio.timeout(40):
        line.cable.hold()
        reading = group.create_task(heard(line.hints.hints(), 1))
        while "Redis is away" not in caplog.text:
            await asyncio.sleep(0.01)
        line.cable.let_go()
        while not reading.done():
            await line.hints.hint(1, "lane")
            await asyncio.sleep(0.05)
    assert reading.result() == ["lane"]


# --- choosing


@pytest.mark.parametrize("url", ["", "kafka://h", "http://redis", "redis+socket:x"])
def test_a_bus_we_do_not_know_is_an_error_of_the_settings(url: str) -> None:
    with pytest.raises(ConfigError, match=r"gateway\.bus"):
        open_hints(url)


@pytest.mark.parametrize("url", ["redis://:hush@h:port/0", "unix:///x?db=hush", "redis://h?nonsense=hush"])
async def test_a_url_that_cannot_be_read_is_an_error_of_the_settings(url: str) -> None:
    with pytest.raises(ConfigError, match=r"gateway\.bus") as raised:
        async with open_hints(url):
            pass
    assert "hush" not in str(raised.value)
