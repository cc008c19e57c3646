"""Sessions as rows: what was said stays to the letter, views hide and show it, a journal survives a crash."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from sqlalchemy import Connection, select, update

from gateway.agent import journal
from gateway.agent.journal import Ending
from gateway.bus import lanes
from gateway.bus.lanes import Claimed
from gateway.messages import Message, ToolCall, Usage
from gateway.sessions import store
from gateway.storage.clock import now
from gateway.storage.database import Database
from gateway.storage.tables import messages, sessions, turns, views
from tests.contract.lane import Lane, key, say

LANE = str(key())


async def begin(database: Database, session: str = "s1", lane: str = LANE, created: float = 1.0) -> None:
    await database.write(
        lambda connection: connection.execute(sessions.insert().values(id=session, lane=lane, created=created))
    )


async def turn(
    database: Database, name: str, said: Sequence[Message], *, session: str = "s1", state: str = "done"
) -> None:
    def job(connection: Connection) -> None:
        journal.begin(connection, name, LANE, session, "model")
        store.append(connection, session, name, said)
        if state != "open":
            journal.finish(connection, name, LANE, session, Ending(state))

    await database.write(job)


async def history(database: Database, *without: str, session: str = "s1") -> tuple[Message, ...]:
    stored = await database.read(lambda connection: store.load(connection, session, without=frozenset(without)))
    return tuple(row.message for row in stored.rows)


def exchange(number: int) -> list[Message]:
    return [Message("user", f"question {number}"), Message("assistant", f"answer {number}")]


# --- messages


async def test_what_was_said_comes_back_to_the_letter_and_in_order(database: Database) -> None:
    said = [
        Message("user", "find it", api_content="[In reply to your message:]\n> q\n\nfind it"),
        Message("assistant", "", (ToolCall("c1", "read", '{"path":  "a b", "n": 1.0}'), ToolCall("c2", "list"))),
        Message("tool", "text 東京 \u202e", call_id="c1", name="read"),
        Message("tool", "", call_id="c2", name="list"),
        Message("assistant", "x" * 300_000),
        Message("user", "again", api_content=""),
    ]
    await begin(database)
    await turn(database, "t1", said)
    assert await history(database) == tuple(said)


async def test_what_no_database_takes_is_stored_clean(database: Database) -> None:
    await begin(database)
    await turn(
        database,
        "t1",
        [Message("user", "a\0b\ud800"), Message("assistant", "", (ToolCall("c\ud800", "na\0me", '{"\udfff": 1}'),))],
    )
    stored = await history(database)
    assert stored[0].text == "ab\ufffd"
    assert stored[1].calls == (ToolCall("c\ufffd", "name", '{"\ufffd": 1}'),)


async def test_a_session_holds_only_its_own_messages(database: Database) -> None:
    await begin(database, "s1")
    await begin(database, "s2")
    await turn(database, "t1", exchange(1), session="s1")
    await turn(database, "t2", exchange(2), session="s2")
    assert await history(database, session="s1") == tuple(exchange(1))
    assert await history(database, session="s2") == tuple(exchange(2))
    assert await history(database, session="nobody's") == ()


async def test_the_turns_that_are_left_out_are_left_out(database: Database) -> None:
    await begin(database)
    for number in range(3):
        await turn(database, f"t{number}", exchange(number))
    assert await history(database, "t1") == (*exchange(0), *exchange(2))
    assert await history(database, "t0", "t2", "") == tuple(exchange(1))


async def test_nothing_is_appended_by_an_empty_turn(database: Database) -> None:
    await begin(database)
    await turn(database, "t1", [])
    assert await history(database) == ()


async def test_a_prompt_comes_back_to_the_byte_with_its_outline(database: Database) -> None:
    await begin(database)
    await database.write(lambda connection: store.keep_prompt(connection, "s1", "You are Ann 東京.\r\n ", "[1]", "p1"))
    stored = await database.read(lambda connection: store.load(connection, "s1"))
    assert (stored.prompt, stored.outline) == ("You are Ann 東京.\r\n ", "[1]")


# --- views


async def test_a_turn_that_is_hidden_is_out_of_view_and_nothing_is_deleted(database: Database) -> None:
    await begin(database)
    for number in range(3):
        await turn(database, f"t{number}", exchange(number))
    await database.write(lambda connection: store.hide_turn(connection, "s1", "t2", "retry"))
    assert await history(database) == (*exchange(0), *exchange(1))
    rows = await database.read(lambda connection: connection.execute(select(messages.c.text)).scalars().all())
    assert len(rows) == 6


async def test_a_view_that_is_undone_shows_again_what_it_hid(database: Database) -> None:
    await begin(database)
    await turn(database, "t1", exchange(1))
    await database.write(lambda connection: store.hide_turn(connection, "s1", "t1", "retry"))
    assert await history(database) == ()
    await database.write(lambda connection: connection.execute(update(views).values(undone=now())))
    assert await history(database) == tuple(exchange(1))


async def test_a_turn_without_messages_can_be_hidden(database: Database) -> None:
    await begin(database)
    await turn(database, "t1", [])
    await database.write(lambda connection: store.hide_turn(connection, "s1", "t1", "retry"))
    assert await history(database) == ()


async def test_hiding_a_turn_of_another_session_hides_nothing(database: Database) -> None:
    await begin(database, "s1")
    await begin(database, "s2")
    await turn(database, "t1", exchange(1))
    await database.write(lambda connection: store.hide_turn(connection, "s2", "t1", "retry"))
    assert await history(database) == tuple(exchange(1))


async def test_the_last_turn_is_the_newest_that_ended_and_is_in_view(database: Database) -> None:
    async def last() -> str:
        return await database.read(lambda connection: store.last_turn(connection, "s1"))

    await begin(database)
    assert await last() == ""
    await turn(database, "t1", exchange(1))
    await turn(database, "t2", exchange(2), state="failed")
    await turn(database, "t3", exchange(3), state="open")
    await database.write(
        lambda connection: [
            connection.execute(update(turns).where(turns.c.id == f"t{n}").values(ended=n)) for n in (1, 2)
        ]
    )
    assert await last() == "t2"
    await database.write(lambda connection: store.hide_turn(connection, "s1", "t2", "retry"))
    assert await last() == "t1"
    await database.write(lambda connection: store.hide_turn(connection, "s1", "t1", "retry"))
    assert await last() == ""


async def test_the_last_turn_of_a_lane_is_not_that_of_its_next_session(database: Database) -> None:
    await begin(database, "s1")
    await begin(database, "s2")
    await turn(database, "t1", exchange(1), session="s1")
    assert await database.read(lambda connection: store.last_turn(connection, "s2")) == ""


# --- lists


async def test_sessions_are_listed_newest_first_with_what_they_hold(database: Database) -> None:
    for number in range(3):
        await begin(database, f"s{number}", created=float(number))
    await turn(database, "t1", exchange(1), session="s1")
    await database.write(lambda connection: store.title(connection, "s1", "Of cats \0and 東京"))
    found = await database.read(lambda connection: store.summaries(connection, 2))
    assert [(one.id, one.title, one.messages) for one in found] == [("s2", "", 0), ("s1", "Of cats and 東京", 2)]
    assert await database.read(lambda connection: store.summary(connection, "s1")) == found[1]
    assert await database.read(lambda connection: store.summary(connection, "nobody's")) is None


# --- the journal of a turn


async def claimed(database: Database) -> Claimed:
    found = await database.write(lambda connection: lanes.claim(connection, key(), "s1", "/home"))
    assert isinstance(found, Claimed)
    return found


async def test_a_journal_is_found_by_the_next_attempt(database: Database) -> None:
    """DESIGN §5: the call and its start are stored before it runs, its result when it ends."""
    await Lane(database).says("find it")
    mine = await claimed(database)
    call = Message("assistant", "", (ToolCall("c1", "read"), ToolCall("c2", "write")))

    def before(connection: Connection) -> None:
        lanes.fence(connection, mine.lane, mine.generation)
        journal.begin(connection, mine.turn, LANE, mine.session_id, "model")
        store.append(connection, mine.session_id, mine.turn, [Message("user", "find it"), call])
        journal.start_calls(connection, mine.turn, ["c1"])

    def after(connection: Connection) -> None:
        lanes.fence(connection, mine.lane, mine.generation)
        store.append(connection, mine.session_id, mine.turn, [Message("tool", "found", call_id="c1", name="read")])
        journal.end_calls(connection, mine.turn, ["c1"])
        journal.start_calls(connection, mine.turn, ["c2"])

    await database.write(before)
    await database.write(after)
    heir = await claimed(database)
    assert heir.turn == mine.turn
    said = await database.read(lambda connection: store.of_turn(connection, heir.turn))
    assert [message.role for message in said] == ["user", "assistant", "tool"]
    assert await database.read(lambda connection: journal.started_calls(connection, heir.turn)) == {"c1", "c2"}


async def test_a_turn_that_begins_twice_is_one_turn(database: Database) -> None:
    await begin(database)
    await turn(database, "t1", exchange(1)[:1], state="open")
    await turn(database, "t1", exchange(1)[1:], state="open")
    assert await database.read(lambda connection: store.of_turn(connection, "t1")) == tuple(exchange(1))


async def test_a_turn_that_is_not_known_has_no_journal(database: Database) -> None:
    assert await database.read(lambda connection: store.of_turn(connection, "nobody's")) == ()
    assert await database.read(lambda connection: journal.started_calls(connection, "nobody's")) == frozenset()


@pytest.mark.parametrize("journalled", [True, False], ids=["with a journal", "in one transaction"])
async def test_how_a_turn_ended_and_what_it_cost_is_stored(database: Database, journalled: bool) -> None:
    await begin(database)
    if journalled:
        await turn(database, "t1", [], state="open")
    ending = Ending("failed", "other", Usage(100, 20, 80), asked=3, problem="it broke")
    await database.write(lambda connection: journal.finish(connection, "t1", LANE, "s1", ending))
    row = await database.read(lambda connection: connection.execute(select(turns)).mappings().one())
    expected = {
        "id": "t1", "lane": LANE, "session_id": "s1", "state": "failed", "model": "other", "prompt_tokens": 100,
        "completion_tokens": 20, "cached_tokens": 80, "calls": 3, "problem": "it broke",
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert row["ended"] >= row["created"] > 0


async def test_the_events_of_a_turn_are_found_to_answer_them_again(database: Database) -> None:
    def job(connection: Connection) -> str:
        say(connection, "one")
        say(connection, "two")
        found = lanes.claim(connection, key(), "s1", "/home")
        assert isinstance(found, Claimed)
        journal.finish(connection, found.turn, LANE, "s1", Ending("done"))
        return found.turn

    answered = await database.write(job)
    events = await database.read(lambda connection: lanes.of_turn(connection, answered))
    assert [event.text for event in events] == ["one", "two"]
