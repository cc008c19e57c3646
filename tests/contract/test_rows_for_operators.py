"""What an operator asks of the rows, and a session that goes to another chat, on both databases."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import text

from gateway.agent import journal
from gateway.bus import bindings, letters, reports
from gateway.bus.letters import Which
from gateway.delivery import outbox
from gateway.delivery.outbox import Outgoing, Taken
from gateway.errors import ConfigError, StorageError
from gateway.messages import Message
from gateway.sessions import store
from gateway.storage import figures, lease
from gateway.storage.database import Connection, Database
from gateway.storage.inspection import inspect
from gateway.types import Address, Button, Part, Rendered
from tests.contract.lane import Lane, key

CHAT = Address(platform="fake", chat="1")


@pytest.fixture
def lane(database: Database) -> Lane:
    return Lane(database)


@pytest.mark.parametrize(
    ("which", "said"),
    [("all", ["waits", "buried", "done"]), ("due", ["waits", "buried"]), ("dead", ["buried"])],
)
async def test_events_are_listed_by_what_became_of_them(lane: Lane, which: Which, said: list[str]) -> None:
    await lane.says("done")
    await lane.settle(await lane.claimed())
    buried = await lane.says("buried")
    await lane.database.write(lambda connection: letters.bury(connection, [buried.id or 0], "no"))
    await lane.says("waits")
    listed = await lane.database.read(lambda connection: letters.arrivals(connection, which, 10))
    assert [one.event.text for one in listed] == said
    assert [one.state for one in listed] == [{"waits": "waiting", "buried": "dead"}.get(text, text) for text in said]
    assert await lane.database.read(lambda connection: letters.arrivals(connection, which, 1)) == listed[:1]


@pytest.mark.parametrize(
    ("which", "said"),
    [("all", ["waits", "refused", "sent"]), ("due", ["waits", "refused"]), ("dead", ["refused"])],
)
async def test_parts_are_listed_by_what_became_of_them(database: Database, which: Which, said: list[str]) -> None:
    def fill(connection: Connection) -> None:
        for words in ("sent", "refused", "waits"):
            outbox.add(connection, [Outgoing(CHAT, Part(Rendered(words, len(words)), words))])
        ids = {one.text: one.id for one in outbox.listed(connection, "all", 10)}
        outbox.sent(connection, ids["sent"], "m1")
        outbox.refuse(connection, ids["refused"], "blocked")

    await database.write(fill)
    listed = await database.read(lambda connection: outbox.listed(connection, which, 10))
    assert [one.text for one in listed] == said
    assert await database.read(lambda connection: outbox.listed(connection, which, 1)) == listed[:1]


async def test_a_button_with_half_a_character_is_kept_and_sent_without_it(database: Database) -> None:
    part = Part(Rendered("choose", 6), "choose", buttons=(Button("half \ud83d", "v\0"),))
    await database.write(lambda connection: outbox.add(connection, [Outgoing(CHAT, part)]))
    taken = await database.write(lambda connection: outbox.take(connection, CHAT.queue))
    assert isinstance(taken, Taken)
    assert taken.part.buttons == (Button("half \ufffd", "v"),)


@pytest.mark.parametrize(("ended", "kept"), [("stopped", False), ("done", True)])
async def test_only_a_stop_tells_a_live_message_to_end(database: Database, ended: str, kept: bool) -> None:
    def job(connection: Connection) -> list[bool]:
        outbox.begin_live(connection, "t1", CHAT)
        before = outbox.keep_live(connection, "t1", CHAT, "m1", "so far")
        journal.finish(connection, "t1", "lane", "s1", journal.Ending(ended))
        outbox.end_live(connection, "t1")
        return [before, outbox.keep_live(connection, "t1", CHAT, "m1", "so far and")]

    assert await database.write(job) == [True, kept]


async def test_the_fate_of_an_event_follows_it(lane: Lane) -> None:
    async def fate() -> tuple[str, str, str] | None:
        found = await lane.database.read(lambda connection: reports.fate(connection, "e-fate"))
        return (found.state, found.reason, found.problem) if found else None

    assert await fate() is None
    await lane.says("hi", id="e-fate")
    assert await fate() == ("waiting", "", "")
    claimed = await lane.claimed()
    assert await fate() == ("claimed", "", "")
    await lane.fail(claimed, "it broke")
    assert await fate() == ("waiting", "it broke", "")


async def test_counts_are_of_this_moment(lane: Lane) -> None:
    await lane.says("running")
    await lane.claimed()
    await lane.says("waits")
    await lane.database.write(
        lambda connection: outbox.add(connection, [Outgoing(CHAT, Part(Rendered("x", 1), "x"))] * 2)
    )
    counted = await lane.database.read(figures.figures)
    assert counted == figures.Figures(sessions=1, waiting=1, running=1, dead=0, undelivered=2, refused=0)


async def test_only_leases_that_are_held_are_listed(database: Database) -> None:
    held = await database.write(lambda connection: lease.acquire(connection, ["a", "b"], "me", force=False))
    await database.write(lambda connection: lease.release(connection, held[:1], "me"))
    assert await database.read(figures.holdings) == {"b": "me"}


async def test_a_transcript_marks_what_is_hidden_until_it_is_seen_again(lane: Lane) -> None:
    await lane.says("hi")
    claimed = await lane.claimed("s1")

    def talk(connection: Connection) -> None:
        store.append(connection, "s1", claimed.turn, [Message("user", "hi"), Message("assistant", "ho")])
        store.hide_turn(connection, "s1", claimed.turn, "retry")
        store.append(connection, "s1", "t2", [Message("user", "again")])

    await lane.database.write(talk)
    read = partial(lane.database.read, lambda connection: store.transcript(connection, "s1", 10))
    lines = await read()
    assert [(line.message.text, line.hidden) for line in lines] == [("hi", "retry"), ("ho", "retry"), ("again", "")]
    newest = await lane.database.read(lambda connection: store.transcript(connection, "s1", 1))
    assert newest == lines[-1:]
    await lane.database.write(lambda connection: connection.execute(text("UPDATE views SET undone = 1.0")))
    assert {line.hidden for line in await read()} == {""}


# --- a session that goes to another chat


async def test_a_session_that_a_chat_holds_cannot_be_taken(lane: Lane) -> None:
    await lane.says("hi")
    await lane.settle(await lane.claimed("s1"))
    write = lane.database.write
    assert not await write(lambda connection: bindings.take_session(connection, key("2"), "s1"))
    assert await lane.database.read(lambda connection: bindings.holder(connection, "s1")) == str(key("1"))
    assert not await write(lambda connection: bindings.take_session(connection, key("2"), "s-none"))
    assert await lane.database.read(lambda connection: bindings.holder(connection, "s-none")) == ""


async def test_a_session_that_no_chat_holds_is_taken_with_a_version_nobody_has_seen(lane: Lane) -> None:
    await lane.says("hi")
    seen = await lane.settle(await lane.claimed("s1"))
    await lane.database.write(lambda connection: bindings.leave_session(connection, lane.key))
    other = Lane(lane.database, "2")
    assert await lane.database.write(lambda connection: bindings.take_session(connection, other.key, "s1"))
    assert await lane.database.read(lambda connection: bindings.holder(connection, "s1")) == str(other.key)
    summary = await lane.database.read(lambda connection: store.summary(connection, "s1"))
    assert summary is not None
    assert (summary.lane, summary.ended) == (str(other.key), 0.0)
    await other.says("go on")
    claimed = await other.claimed("s-new")
    assert (claimed.session_id, claimed.fresh) == ("s1", False)
    assert claimed.version > seen


# --- a look that changes nothing


async def test_a_look_tells_the_schema(schema_url: str, tmp_path: Path) -> None:
    found = inspect(schema_url, tmp_path, thorough=True)
    assert found.exists
    assert found.schema == found.newest
    assert not found.newer


def test_a_look_at_nothing_makes_nothing(tmp_path: Path) -> None:
    found = inspect("sqlite:///state.db", tmp_path)
    assert (found.exists, found.schema) == (False, "")
    assert not list(tmp_path.iterdir())


async def test_an_empty_database_has_no_schema_and_gets_none(postgres_url: str, tmp_path: Path) -> None:
    for _ in range(2):
        found = inspect(postgres_url, tmp_path)
        assert (found.exists, found.schema) == (True, "")


def test_a_server_that_is_not_there_is_one_sentence_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as caught:
        inspect("postgresql://me:hush-hush@127.0.0.1:9/db", tmp_path)
    assert "\n" not in str(caught.value)
    assert "hush-hush" not in str(caught.value)
    with pytest.raises(ConfigError):
        inspect("mysql://me@127.0.0.1/db", tmp_path)
