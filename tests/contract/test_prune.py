"""Rows that have done their work go, a page at a time; what an operator or a person may still ask for stays."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Connection, Table, select, update

from gateway.agent import journal
from gateway.app.upkeep import is_shown, prune_by_and_by
from gateway.bus import lanes, letters
from gateway.delivery import outbox
from gateway.delivery.outbox import Outgoing
from gateway.sessions.keys import private_key
from gateway.storage import prune
from gateway.storage.database import Database
from gateway.storage.tables import calls, inbox, turns
from gateway.storage.tables import outbox as parts
from gateway.supervise import beside
from gateway.types import Address, Part, Rendered
from gateway.web.chat.adapter import address_of
from tests.contract.lane import Lane

DAY = 86_400.0
WEEK = 7 * DAY
CHAT = Address(platform="fake", chat="1")


@pytest.fixture
def lane(database: Database) -> Lane:
    return Lane(database)


async def answered(lane: Lane, *said: str) -> None:
    """Each of these had a turn of its own."""
    for text in said:
        await lane.says(text, id=text)
        claimed = await lane.claimed(f"s{lane.chat}")

        def end(connection: Connection, turn: str = claimed.turn) -> None:
            journal.finish(connection, turn, str(lane.key), "s", journal.Ending("done"))

        await lane.database.write(end)
        await lane.settle(claimed)


async def days_pass(database: Database, days: float) -> None:
    def job(connection: Connection) -> None:
        for table, names in ((inbox, ["created"]), (parts, ["created", "sent"]), (turns, ["created", "ended"])):
            passed: dict[str, Any] = {name: table.c[name] - days * DAY for name in names}
            connection.execute(update(table).where(table.c.created > 0).values(passed))

    await database.write(job)


async def states(database: Database, table: Table) -> list[str]:
    return list(
        await database.read(
            lambda connection: connection.execute(select(table.c.state).order_by(table.c[0])).scalars().all()
        )
    )


async def send(database: Database, *texts: str) -> dict[str, int]:
    """Put these into the outbox; return their ids."""

    def job(connection: Connection) -> dict[str, int]:
        outbox.add(connection, [Outgoing(CHAT, Part(Rendered(text, len(text)), text)) for text in texts])
        return {one.text: one.id for one in outbox.listed(connection, "all", 100)}

    return await database.write(job)


async def test_an_answered_event_is_known_again_for_as_long_as_it_is_kept(lane: Lane) -> None:
    await answered(lane, "one", "two")
    await days_pass(lane.database, 6.9)
    assert await prune.prune(lane.database, WEEK) == 0
    assert (await lane.says("one", id="one")).id is None
    await days_pass(lane.database, 0.2)
    assert await prune.prune(lane.database, WEEK) == 1
    assert (await lane.says("one", id="one")).id is not None


async def test_the_newest_turn_of_a_chat_can_be_answered_again_however_old_it_is(lane: Lane) -> None:
    await answered(lane, "one", "two")
    await days_pass(lane.database, 100)
    await prune.prune(lane.database, WEEK)
    assert [text for text, _, _ in await lane.rows()] == ["two"]


async def test_what_waits_runs_or_was_given_up_stays(lane: Lane) -> None:
    await lane.says("given up")
    dead = await lane.claimed()
    await lane.database.write(lambda connection: letters.bury(connection, dead.ids, "no"))
    await lane.says("dropped")
    await lane.database.write(lambda connection: lanes.stop(connection, lane.key, 100, "/stop"))
    await lane.says("runs")
    await lane.claimed()
    await lane.says("waits")
    await days_pass(lane.database, 100)
    assert await prune.prune(lane.database, WEEK) == 1
    assert await states(lane.database, inbox) == ["dead", "claimed", "waiting"]


async def test_delivered_parts_go_and_refused_ones_stay(database: Database) -> None:
    ids = await send(database, "sent", "refused", "discarded", "waits", "on its way")

    def fates(connection: Connection) -> None:
        outbox.sent(connection, ids["sent"], "m1")
        outbox.refuse(connection, ids["refused"], "blocked")
        outbox.refuse(connection, ids["discarded"], "blocked")
        outbox.discard(connection, [ids["discarded"]])
        outbox.take(connection, CHAT.queue)

    await database.write(fates)
    await days_pass(database, 6.9)
    assert await prune.prune(database, WEEK) == 0
    await days_pass(database, 0.2)
    assert await prune.prune(database, WEEK) == 2
    assert await states(database, parts) == ["refused", "sending", "waiting"]


async def test_a_part_that_was_delivered_late_is_kept_as_long_as_any_other(database: Database) -> None:
    ids = await send(database, "late")
    await days_pass(database, 100)
    await database.write(lambda connection: outbox.sent(connection, ids["late"], "m1"))
    assert await prune.prune(database, WEEK) == 0


async def test_the_calls_of_ended_turns_go_and_those_of_open_ones_stay(database: Database) -> None:
    def work(connection: Connection) -> None:
        for turn in ("ended", "open"):
            journal.begin(connection, turn, "lane", "s1", "model")
            journal.start_calls(connection, turn, ["a", "b"])
        journal.finish(connection, "ended", "lane", "s1", journal.Ending("done"))

    await database.write(work)
    await days_pass(database, 8)
    assert await prune.prune(database, WEEK) == 2
    assert await database.read(lambda connection: journal.started_calls(connection, "ended")) == frozenset()
    assert await database.read(lambda connection: journal.started_calls(connection, "open")) == {"a", "b"}
    assert await states(database, calls) == ["started", "started"]


async def test_what_a_place_keeps_is_kept(lane: Lane) -> None:
    other = Lane(lane.database, "2")
    await answered(lane, "one", "two")
    await answered(other, "three", "four")
    await days_pass(lane.database, 100)
    await prune.prune(lane.database, WEEK, lambda place: place == str(other.key))
    assert [text for text, _, _ in await lane.rows()] == ["two"]
    assert [text for text, _, _ in await other.rows()] == ["three", "four"]


async def test_a_table_of_many_pages_is_pruned_to_its_end(database: Database) -> None:
    count = 2 * prune.PAGE + 1
    ids = await send(database, *(f"part {number}" for number in range(count)))
    await database.write(lambda connection: connection.execute(update(parts).values(state="sent")))
    await database.write(lambda connection: outbox.refuse(connection, min(ids.values()), "no"))
    await days_pass(database, 8)
    await send(database, "new")
    assert await prune.prune(database, WEEK) == count - 1
    assert await states(database, parts) == ["refused", "waiting"]


async def test_a_gateway_does_it_by_itself(database: Database) -> None:
    ids = await send(database, "sent")
    await database.write(lambda connection: outbox.sent(connection, ids["sent"], "m1"))
    await days_pass(database, 8)
    async with beside(prune_by_and_by(database, "me", WEEK, alone=False, first=0)):
        while await states(database, parts):
            pass


def test_what_the_page_of_the_web_chat_shows_is_kept() -> None:
    assert is_shown(str(address_of("ann")))
    assert is_shown(str(private_key(address_of("ann"))))
    assert not is_shown(str(CHAT))
    assert not is_shown(str(private_key(CHAT)))
