"""Lanes: a conversation's events, kept once, handed out in order, one turn at a time, until they are settled."""

from __future__ import annotations

import asyncio
import random
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, select, text, update

from gateway.bus import bindings, lanes, letters, reports
from gateway.bus.lanes import Claimed, Later, Put, Stopped
from gateway.bus.order import Dead
from gateway.errors import Fenced
from gateway.sessions import store
from gateway.storage import open_database
from gateway.storage.clock import now
from gateway.storage.database import Database
from gateway.storage.tables import inbox, messages, sessions
from gateway.types import Address, Attachment, Event, Media, Quote, Role, Sender
from tests.contract.lane import Lane, key, say, texts


@pytest.fixture
def lane(database: Database) -> Lane:
    return Lane(database)


# --- in


async def test_an_event_is_kept_once_however_often_it_is_brought(lane: Lane) -> None:
    first = await lane.says("hello", id="same")
    again = await lane.says("hello", id="same")
    elsewhere = await Lane(lane.database, "2").says("hello", id="same")
    assert first.id is not None
    assert again.id is None
    assert elsewhere.id is None
    assert await lane.rows() == [("hello", "waiting", 0)]


async def test_an_event_that_is_long_answered_is_still_a_duplicate(lane: Lane) -> None:
    await lane.says("hello", id="same")
    await lane.settle(await lane.claimed())
    assert (await lane.says("hello", id="same")).id is None
    assert await lane.claim() is None


async def test_the_same_event_brought_by_many_at_once_is_kept_once(lane: Lane) -> None:
    puts = await asyncio.gather(*(lane.says("hello", id="same") for _ in range(20)))
    assert sum(put.id is not None for put in puts) == 1


async def test_more_than_may_wait_is_not_taken_and_counted(lane: Lane) -> None:
    puts = [await lane.says(f"{number}", limit=3) for number in range(5)]
    assert [(put.ahead, put.full) for put in puts] == [(0, False), (1, False), (2, False), (3, True), (3, True)]
    assert texts(await lane.claimed()) == ["0", "1", "2"]


async def test_what_runs_does_not_count_as_waiting(lane: Lane) -> None:
    await lane.says("runs", limit=1)
    await lane.claimed()
    assert await lane.says("waits", limit=1) == Put(2, 0, full=False)
    assert (await lane.says("too many", limit=1)).full


async def test_of_many_at_once_never_more_than_may_wait_are_taken(lane: Lane) -> None:
    puts = await asyncio.gather(*(lane.says(f"{number}", limit=5) for number in range(30)))
    assert sum(not put.full for put in puts) == 5
    assert len(texts(await lane.claimed())) == 5


async def test_an_event_comes_out_as_it_went_in(lane: Lane) -> None:
    said = Event(
        id="x:1",
        origin=Address(platform="fake", account="bot", team="T/1", chat="c:1", thread="ø"),
        sender=Sender("42", "Ünal \u202e"),
        text="text 東京 " + "long " * 60_000,
        attachments=(Attachment(Media.IMAGE, "/tmp/a.png", "a.png", "image/png"),),
        reply_to=Quote("9", "quoted", "somebody", ours=True),
        burst="album",
        deliver=(Address(platform="fake", chat="other"),),
    )
    await lane.database.write(
        lambda connection: lanes.put(connection, lane.key, said.id, said, Role.OWNER, command=False, limit=9)
    )
    await lane.time_passes()
    claimed = await lane.claimed()
    assert claimed.events == (said,)
    assert claimed.role is Role.OWNER


async def test_a_lone_surrogate_anywhere_in_an_event_never_loses_it(lane: Lane) -> None:
    bad = "a\ud800b"
    said = Event(
        id=bad,
        origin=Address(platform="fake", chat=bad, thread=bad),
        sender=Sender(bad, bad),
        text=bad,
        attachments=(Attachment(Media.FILE, bad, bad),),
        reply_to=Quote(bad, bad, bad),
    )
    await lane.database.write(
        lambda connection: lanes.put(connection, lane.key, said.id, said, Role.MEMBER, command=False, limit=9)
    )
    found = (await lane.claimed()).events[0]
    good = "a\ufffdb"
    assert (found.id, found.text, found.origin.thread, found.sender.name) == (good, good, good, good)
    assert found.reply_to == Quote(good, good, good)
    assert found.attachments[0].name == good


# --- out


async def test_nothing_waits_in_a_lane_that_nobody_wrote_to(lane: Lane) -> None:
    assert await lane.claim() is None


async def test_what_was_said_meanwhile_is_one_turn_in_order(lane: Lane) -> None:
    for said in ("one", "two", "three"):
        await lane.says(said)
    claimed = await lane.claimed()
    assert texts(claimed) == ["one", "two", "three"]
    assert (claimed.attempt, claimed.again, claimed.command, claimed.more) == (1, False, False, False)


async def test_a_command_ends_a_turn_and_runs_alone(lane: Lane) -> None:
    for said in ("one", "/model x", "two", "/retry", "/retry"):
        await lane.says(said, command=said.startswith("/"))
    turns = []
    for _ in range(5):
        claimed = await lane.claimed()
        turns.append((texts(claimed), claimed.command, claimed.more))
        await lane.settle(claimed)
    assert turns == [
        (["one"], False, True),
        (["/model x"], True, True),
        (["two"], False, True),
        (["/retry"], True, True),
        (["/retry"], True, False),
    ]
    assert await lane.claim() is None


async def test_messages_of_unequal_rights_are_turns_of_their_own(lane: Lane) -> None:
    said = [("a", Role.MEMBER), ("b", Role.MEMBER), ("c", Role.OWNER), ("d", Role.GUEST), ("e", Role.GUEST)]
    for words, role in said:
        await lane.says(words, role=role)
    turns = []
    while isinstance(found := await lane.claim(), Claimed):
        turns.append((texts(found), found.role))
        await lane.settle(found)
    assert turns == [(["a", "b"], Role.MEMBER), (["c"], Role.OWNER), (["d", "e"], Role.GUEST)]


async def test_the_parts_of_an_album_are_waited_for_and_come_as_one_turn(lane: Lane) -> None:
    def say_and_claim(connection: Connection, part: str) -> Claimed | Later | Dead | None:
        say(connection, part, burst="album")
        return lanes.claim(connection, lane.key, "s1", "/home")

    for part in ("first part", "second part"):
        found = await lane.database.write(partial(say_and_claim, part=part))
        assert isinstance(found, Later)
        assert 0 <= found.seconds <= 1
    await lane.time_passes()
    assert texts(await lane.claimed()) == ["first part", "second part"]


async def test_a_message_behind_an_album_starts_it_at_once(lane: Lane) -> None:
    await lane.says("part", burst="album")
    await lane.says("and?")
    assert texts(await lane.claimed()) == ["part", "and?"]


async def test_a_page_full_of_messages_leaves_more(lane: Lane) -> None:
    def many(connection: Connection) -> None:
        for number in range(lanes.PAGE + 5):
            say(connection, f"{number}", limit=10_000)

    await lane.database.write(many)
    heard: list[str] = []
    while isinstance(found := await lane.claim(), Claimed):
        heard += texts(found)
        await lane.settle(found)
        if not found.more:
            break
    assert heard == [f"{number}" for number in range(lanes.PAGE + 5)]


# --- who may write


async def test_a_later_claim_takes_over_what_a_dead_worker_held_and_shuts_it_out(lane: Lane) -> None:
    await lane.says("hello")
    dead = await lane.claimed()
    heir = await lane.claimed()
    assert (heir.turn, heir.ids, heir.session_id) == (dead.turn, dead.ids, dead.session_id)
    assert (heir.attempt, heir.again, heir.fresh) == (2, True, False)
    assert heir.generation > dead.generation
    for write in (lane.settle, lane.give_back, lane.fail):
        with pytest.raises(Fenced):
            await write(dead)
    await lane.settle(heir)
    assert await lane.rows() == [("hello", "done", 2)]


async def test_what_came_after_a_dead_turn_waits_behind_it(lane: Lane) -> None:
    await lane.says("one")
    await lane.claimed()
    await lane.says("two")
    again = await lane.claimed()
    assert texts(again) == ["one"]
    assert again.more
    await lane.settle(again)
    assert texts(await lane.claimed()) == ["two"]


async def test_a_turn_that_nobody_took_over_may_write_as_often_as_it_likes(lane: Lane) -> None:
    await lane.says("hello")
    claimed = await lane.claimed()
    first = await lane.settle(claimed)
    assert await lane.settle(claimed) == first + 1


async def test_every_write_of_a_turn_raises_the_version_and_the_next_claim_tells_it(lane: Lane) -> None:
    await lane.says("one")
    claimed = await lane.claimed()
    version = await lane.settle(claimed)
    assert version == claimed.version + 1
    await lane.says("two")
    assert (await lane.claimed()).version == version


async def test_a_fenced_transaction_leaves_nothing(lane: Lane) -> None:
    await lane.says("hello")
    dead = await lane.claimed()
    await lane.claimed()

    def job(connection: Connection) -> None:
        store.append(connection, dead.session_id, dead.turn, ())
        connection.execute(insert(messages).values(session_id=dead.session_id, role="user"))
        lanes.fence(connection, dead.lane, dead.generation)

    with pytest.raises(Fenced):
        await lane.database.write(job)
    assert await lane.database.read(lambda connection: connection.execute(select(messages)).all()) == []


async def test_of_two_that_claim_at_once_only_the_later_may_write(lane: Lane) -> None:
    for _ in range(10):
        await lane.says("hello")
        claims = await asyncio.gather(lane.claimed(), lane.claimed())
        assert claims[0].turn == claims[1].turn
        assert {claim.attempt for claim in claims} == {1, 2}
        results = await asyncio.gather(*(lane.settle(claim) for claim in claims), return_exceptions=True)
        assert sorted(isinstance(result, Fenced) for result in results) == [False, True]


# --- attempts


async def test_attempts_survive_crashes_and_the_fourth_claim_finds_a_dead_letter(
    database_url: str, tmp_path: Path
) -> None:
    attempts = []
    for crash in range(3):
        async with open_database(database_url, tmp_path) as database:
            lane = Lane(database)
            if crash == 0:
                await lane.says("poison")
            attempts.append((await lane.claimed()).attempt)
    async with open_database(database_url, tmp_path) as database:
        found = await Lane(database).claim()
    assert attempts == [1, 2, 3]
    assert isinstance(found, Dead)


async def test_a_turn_that_is_given_back_gets_its_attempt_back_however_often(lane: Lane) -> None:
    await lane.says("hello")
    turns = set()
    for _ in range(6):
        claimed = await lane.claimed()
        assert claimed.attempt == 1
        turns.add(claimed.turn)
        await lane.give_back(claimed)
        await lane.give_back(claimed)
        assert await lane.rows() == [("hello", "waiting", 0)]
    assert len(turns) == 1


async def test_a_failed_turn_pauses_two_then_ten_seconds_and_the_third_failure_is_the_last(lane: Lane) -> None:
    await lane.says("poison")
    for pause in (2, 10):
        before = await lane.now()
        assert await lane.fail(await lane.claimed())
        after = await lane.now()
        until = await lane.database.read(lambda connection: connection.execute(select(inbox.c.not_before)).scalar_one())
        assert before + pause - 0.01 <= until <= after + pause + 0.01
        await lane.time_passes()
    last = await lane.claimed()
    assert last.attempt == 3
    assert not await lane.fail(last, "it broke for good")
    found = await lane.claim()
    assert isinstance(found, Dead)
    assert found.ids == last.ids


async def test_a_failed_turn_comes_back_alone_and_whole(lane: Lane) -> None:
    await lane.says("one")
    await lane.says("two")
    await lane.fail(await lane.claimed())
    await lane.says("three")
    await lane.time_passes()
    again = await lane.claimed()
    assert texts(again) == ["one", "two"]
    await lane.settle(again)
    assert texts(await lane.claimed()) == ["three"]


async def test_a_lane_whose_turn_pauses_says_how_long(lane: Lane) -> None:
    def pause(connection: Connection) -> Claimed | Later | Dead | None:
        connection.execute(update(inbox).values(not_before=now() + 9.5))
        return lanes.claim(connection, lane.key, "s1", "/home")

    await lane.says("poison")
    await lane.fail(await lane.claimed())
    found = await lane.database.write(pause)
    assert isinstance(found, Later)
    assert 0 < found.seconds <= 9.5


async def dead_letter(lane: Lane, *said: str) -> tuple[int, ...]:
    for words in said:
        await lane.says(words)
    for _ in range(3):
        await lane.fail(await lane.claimed(), "it broke")
        await lane.time_passes()
    found = await lane.claim()
    assert isinstance(found, Dead)
    await lane.database.write(lambda connection: letters.bury(connection, found.ids))
    return found.ids


async def test_dead_letters_are_listed_newest_first_and_block_nobody(lane: Lane) -> None:
    await dead_letter(lane, "poison")
    await dead_letter(lane, "venom")
    listed = await lane.database.read(letters.dead)
    assert [(letter.event.text, letter.attempts, letter.reason) for letter in listed] == [
        ("venom", 3, "it broke"),
        ("poison", 3, "it broke"),
    ]
    assert await lane.database.read(lambda connection: letters.dead(connection, 1)) == listed[:1]
    await lane.says("next")
    assert texts(await lane.claimed()) == ["next"]


async def test_a_dead_letter_that_is_revived_has_all_its_attempts_again(lane: Lane) -> None:
    ids = await dead_letter(lane, "poison", "more of it")
    await lane.says("next")
    revived = await lane.database.write(lambda connection: letters.revive(connection, ids))
    assert revived == list(ids)
    again = await lane.claimed()
    assert (texts(again), again.attempt) == (["poison", "more of it"], 1)
    await lane.settle(again)
    assert texts(await lane.claimed()) == ["next"]
    assert await lane.database.read(letters.dead) == []


async def test_only_the_dead_can_be_revived(lane: Lane) -> None:
    put = await lane.says("hello")
    assert put.id is not None
    await lane.settle(await lane.claimed())
    assert await lane.database.write(lambda connection: letters.revive(connection, [put.id or 0, 99])) == []
    assert await lane.claim() is None


async def test_a_dead_letter_can_be_discarded_for_good(lane: Lane) -> None:
    ids = await dead_letter(lane, "poison")
    assert await lane.database.write(lambda connection: letters.discard(connection, [*ids, 99], "by hand")) == list(ids)
    assert await lane.database.read(letters.dead) == []
    assert await lane.database.write(lambda connection: letters.revive(connection, ids)) == []


async def test_what_runs_is_not_discarded_by_hand(lane: Lane) -> None:
    await lane.says("hello")
    claimed = await lane.claimed()
    assert await lane.database.write(lambda connection: letters.discard(connection, claimed.ids, "by hand")) == []


async def test_what_was_stopped_before_its_burial_stays_stopped(lane: Lane) -> None:
    put = await lane.says("poison")
    for _ in range(3):
        await lane.fail(await lane.claimed())
        await lane.time_passes()
    found = await lane.claim()
    assert isinstance(found, Dead)
    await stop(lane)
    assert await lane.database.write(lambda connection: letters.bury(connection, [put.id or 0])) == []
    assert await lane.database.read(letters.dead) == []


# --- stop


def stop_now(connection: Connection, chat: str = "1") -> tuple[int, Stopped]:
    asking = Event(id=f"stop-{random.random()}", origin=Address(platform="fake", chat=chat), sender=Sender("1"))
    id = lanes.note(connection, key(chat), asking.id, asking, Role.MEMBER)
    assert id is not None
    return id, lanes.stop(connection, key(chat), id, "/stop")


async def stop(lane: Lane) -> Stopped:
    return (await lane.database.write(lambda connection: stop_now(connection, lane.chat)))[1]


async def test_a_stop_discards_what_was_said_before_and_nothing_that_comes_after(lane: Lane) -> None:
    await lane.says("runs")
    running = await lane.claimed()
    await lane.says("waits")
    await lane.says("waits too")
    stopped = await stop(lane)
    assert (stopped.session_id, stopped.turn) == (running.session_id, running.turn)
    assert [event.text for event in stopped.events] == ["runs"]
    assert len(stopped.waiting) == 2
    with pytest.raises(Fenced):
        await lane.settle(running)
    assert await lane.claim() is None
    await lane.says("after")
    assert texts(await lane.claimed()) == ["after"]
    assert [state for _, state, _ in await lane.rows()] == ["discarded"] * 3 + ["done", "claimed"]


async def test_a_stop_of_an_idle_lane_stops_nothing(lane: Lane) -> None:
    assert await stop(lane) == Stopped("", "", (), ())
    await lane.says("hello")
    await lane.settle(await lane.claimed())
    assert await stop(lane) == Stopped("s1", "", (), ())


async def test_a_stop_while_a_failed_turn_pauses_ends_it(lane: Lane) -> None:
    await lane.says("poison")
    failed = await lane.claimed()
    await lane.fail(failed)
    assert (await stop(lane)).turn == failed.turn
    await lane.time_passes()
    assert await lane.claim() is None


async def test_a_stop_names_the_turn_that_runs_not_an_older_one_that_was_revived(lane: Lane) -> None:
    ids = await dead_letter(lane, "old")
    await lane.says("runs")
    running = await lane.claimed()
    await lane.database.write(lambda connection: letters.revive(connection, ids))
    stopped = await stop(lane)
    assert stopped.turn == running.turn
    assert [event.text for event in stopped.events] == ["runs"]
    assert stopped.waiting == ids


async def test_a_stop_that_races_with_what_is_said_is_exact(lane: Lane) -> None:
    stops: list[tuple[int, Stopped]] = []
    puts: list[Put] = []

    async def talk(number: int) -> None:
        puts.append(await lane.says(f"{number}", limit=10_000))

    async def be_quiet() -> None:
        stops.append(await lane.database.write(stop_now))

    for round_ in range(12):
        talking = [talk(round_ * 12 + number) for number in range(12)]
        work = [*talking[:6], be_quiet(), *talking[6:]]
        await asyncio.gather(*work)
        rows = await lane.database.read(
            lambda connection: connection.execute(
                select(inbox.c.id, inbox.c.state).where(inbox.c.command.is_(False))
            ).all()
        )
        newest = max(id for id, _ in stops)
        assert {row.id for row in rows if row.state == "discarded"} == {
            put.id for put in puts if (put.id or 0) < newest
        }
        assert all(row.state == "waiting" for row in rows if row.id > newest)
    dropped = [id for _, stopped in stops for id in stopped.waiting]
    assert len(dropped) == len(set(dropped))


# --- sessions of a lane


async def test_a_lane_begins_a_session_with_its_first_turn_and_keeps_it(lane: Lane) -> None:
    await lane.says("one")
    first = await lane.claimed("s1")
    await lane.settle(first)
    await lane.says("two")
    second = await lane.claimed("s2")
    assert (first.session_id, first.fresh) == ("s1", True)
    assert (second.session_id, second.fresh) == ("s1", False)
    rows = await lane.database.read(
        lambda connection: connection.execute(select(sessions.c.id, sessions.c.lane, sessions.c.home)).all()
    )
    assert [tuple(row) for row in rows] == [("s1", str(lane.key), "/home")]


async def test_after_leaving_its_session_a_lane_begins_another(lane: Lane) -> None:
    await lane.says("one")
    await lane.settle(await lane.claimed("s1"))
    left = await lane.database.write(lambda connection: bindings.leave_session(connection, lane.key))
    assert left == "s1"
    assert await lane.database.write(lambda connection: bindings.leave_session(connection, lane.key)) == ""
    await lane.says("two")
    claimed = await lane.claimed("s2")
    assert (claimed.session_id, claimed.fresh) == ("s2", True)
    ended = await lane.database.read(
        lambda connection: connection.execute(select(sessions.c.id).where(sessions.c.ended > 0)).scalars().all()
    )
    assert ended == ["s1"]


async def test_a_lane_that_was_never_written_to_has_no_session_to_leave(lane: Lane) -> None:
    assert await lane.database.write(lambda connection: bindings.leave_session(connection, lane.key)) == ""


async def test_the_model_that_was_chosen_comes_with_the_next_claim(lane: Lane) -> None:
    await lane.database.write(lambda connection: bindings.choose_model(connection, lane.key, "big"))
    await lane.says("hello")
    claimed = await lane.claimed()
    assert claimed.model == "big"
    await lane.settle(claimed)
    await lane.database.write(lambda connection: bindings.choose_model(connection, lane.key, ""))
    await lane.says("hello")
    assert (await lane.claimed()).model == ""


# --- lists


async def test_how_a_lane_stands_is_told(lane: Lane) -> None:
    def standing(connection: Connection) -> reports.Standing:
        return reports.standing(connection, lane.key)

    assert await lane.database.read(standing) == reports.Standing("", "", "", None, 0)
    await lane.says("runs", role=Role.OWNER)
    await lane.claimed()
    await lane.says("waits")
    assert await lane.database.read(standing) == reports.Standing("s1", "", "", Role.OWNER, 1)


async def test_lanes_that_wait_are_found_by_their_shard_the_longest_waiting_first(lane: Lane) -> None:
    chats = [f"{number}" for number in range(250)]

    def job(connection: Connection) -> None:
        for chat in chats:
            say(connection, "hello", chat=chat)
        for chat in chats:
            say(connection, "more", chat=chat)

    await lane.database.write(job)
    everything = frozenset(range(lanes.SHARDS))
    found = await lane.database.read(lambda connection: lanes.waiting_lanes(connection, everything))
    assert found == [str(key(chat)) for chat in chats]
    some = frozenset({3, 17})
    mine = await lane.database.read(lambda connection: lanes.waiting_lanes(connection, some))
    assert mine == [name for name in found if lanes.shard_of(name) in some]
    assert await lane.database.read(lambda connection: lanes.waiting_lanes(connection, frozenset())) == []


async def test_a_lane_is_found_while_its_turn_runs_since_the_one_who_runs_it_may_be_dead(lane: Lane) -> None:
    await lane.says("hello")
    claimed = await lane.claimed()
    everything = frozenset(range(lanes.SHARDS))
    assert await lane.database.read(lambda connection: lanes.waiting_lanes(connection, everything)) == [str(lane.key)]
    await lane.settle(claimed)
    assert await lane.database.read(lambda connection: lanes.waiting_lanes(connection, everything)) == []


async def test_of_a_lane_that_is_out_only_what_its_turn_does_not_hold_is_found(lane: Lane) -> None:
    await lane.says("hello")
    await lane.claimed()
    everything, out = frozenset(range(lanes.SHARDS)), frozenset({str(lane.key)})
    assert await lane.database.read(lambda connection: lanes.waiting_lanes(connection, everything, out)) == []
    await lane.says("more")
    found = await lane.database.read(lambda connection: lanes.waiting_lanes(connection, everything, out))
    assert found == [str(lane.key)]


async def test_a_stop_and_a_claim_show_in_the_generations(lane: Lane) -> None:
    async def generation() -> dict[str, int]:
        names = [str(lane.key), "nobody"]
        return await lane.database.read(lambda connection: lanes.generations(connection, names))

    await lane.says("hello")
    claimed = await lane.claimed()
    assert await generation() == {str(lane.key): claimed.generation}
    await stop(lane)
    assert await generation() == {str(lane.key): claimed.generation + 1}


async def test_the_page_of_a_conversation_shows_the_newest_oldest_first(lane: Lane) -> None:
    for number in range(5):
        await lane.says(f"{number}")
    found = await lane.database.read(lambda connection: reports.spoken(connection, lane.key, 3))
    assert [(spoken.text, spoken.state) for spoken in found] == [(f"{number}", "waiting") for number in (2, 3, 4)]


async def test_the_number_of_shards_is_stored_once(database: Database) -> None:
    assert await database.write(lanes.check_shards) == lanes.SHARDS
    await database.write(lambda connection: connection.execute(text("UPDATE facts SET value = '16'")))
    assert await database.write(lanes.check_shards) == 16


async def test_a_text_key_never_reaches_another_lane(database: Database) -> None:
    await database.write(lambda connection: say(connection, "mine", chat="a%' OR '1'='1"))
    assert await Lane(database, "a").claim() is None
    assert (
        await database.write(
            lambda connection: (
                connection.execute(update(inbox).where(inbox.c.lane == "x' OR 'x").values(state="done")).rowcount
            )
        )
        == 0
    )
