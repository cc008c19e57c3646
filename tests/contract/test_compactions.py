"""Compressions taken back: rows, guards and lanes on both databases."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import pytest
from sqlalchemy import Connection

from gateway.agent import journal
from gateway.agent.context.assembly import viewed
from gateway.agent.context.frame import framed
from gateway.agent.context.guards import Guards, packed, unpacked
from gateway.agent.context.looked import Measure, Open
from gateway.agent.context.meter import Meter
from gateway.agent.prompt.prompt import Prompt
from gateway.bus import bindings, lanes
from gateway.bus.lanes import Claimed
from gateway.commands.compact import ContextRooms, compact
from gateway.commands.compaction import compaction, summary, undo, weigh
from gateway.commands.registry import Asked
from gateway.contracts.context import Record, View
from gateway.errors import Fenced
from gateway.llm.tokens.calibration import Calibrations
from gateway.messages import Message
from gateway.sessions import compressions, store
from gateway.sessions.search import pages
from gateway.sessions.store import Stored
from gateway.storage.database import Database
from gateway.types import Role
from tests.contract.lane import Lane, key
from tests.fakes.model import DrivenModel

RECORD = Record(
    occasion="command",
    outcome="summary",
    engine="compressor",
    model="driven",
    writer="driven",
    tokens=(84_000, 31_000),
    messages=(6, 3),
    score=0.9,
)


@pytest.fixture
async def claimed(database: Database) -> Claimed:
    """The turn of a command in a lane whose session holds three exchanges."""
    lane = Lane(database)
    await lane.says("/compaction undo", command=True)
    found = await lane.claimed()
    exchanges = [(f"question {number}", f"answer {number}") for number in range(3)]
    said = [message for asks, says in exchanges for message in (Message("user", asks), Message("assistant", says))]
    await database.write(lambda connection: store.append(connection, "s1", "t", said))
    return replace(found, fresh=False)


def compress(connection: Connection, hides: int, before: Guards, *, session: str = "s1") -> None:
    """Let a summary stand for the first rows in view, and count that."""
    rows = store.load(connection, session).rows
    view = View(frozenset(row.id for row in rows[:hides]), summary=framed(f"## Goal\nTo have {hides} hidden."))
    compressions.keep(connection, session, "t", replace(RECORD, guards=packed(before)), view)
    store.keep_guards(connection, session, packed(replace(before, compressions=before.compressions + 1)))


def measure(window: int = 100_000) -> Measure:
    model = DrivenModel()
    model.window = window
    return Measure(model, (), Meter(Calibrations(), "driven"))


def take_back(connection: Connection, session: str = "s1") -> None:
    found = compressions.newest(connection, session)
    assert found is not None
    undo(connection, session_id=session, found=found)


async def loaded(database: Database, session: str = "s1", undoing: int = 0) -> Stored:
    return await database.read(lambda connection: store.load(connection, session, undoing=undoing))


def texts(stored: Stored) -> list[str]:
    return [row.message.text for row in viewed(stored.rows, stored.views) if not row.summary]


async def test_an_undo_shows_all_that_was_hidden_and_what_the_guards_knew_before(
    database: Database, claimed: Claimed
) -> None:
    before = await loaded(database)
    guards = Guards(compressions=4, ineffective=1, cause="empty", failures=2)
    await database.write(lambda connection: compress(connection, 4, guards))
    await database.write(take_back)
    after = await loaded(database)
    assert after.rows == before.rows
    assert after.views == ()
    assert unpacked(after.guards) == replace(guards, held=True)


async def test_the_newest_goes_first_and_then_the_one_before_stands_for_what_it_did(
    database: Database, claimed: Claimed
) -> None:
    await database.write(lambda connection: compress(connection, 2, Guards()))
    once = await loaded(database)
    await database.write(lambda connection: compress(connection, 2, Guards(compressions=1)))
    assert texts(await loaded(database)) == ["question 2", "answer 2"]
    await database.write(take_back)
    again = await loaded(database)
    assert (again.rows, again.views) == (once.rows, once.views)
    assert await database.read(lambda connection: summary(connection, "s1")) == "## Goal\nTo have 2 hidden."
    await database.write(take_back)
    assert len(texts(await loaded(database))) == 6
    assert await database.read(lambda connection: compressions.newest(connection, "s1")) is None


async def test_what_an_undo_would_show_is_known_before_and_it_is_refused_where_that_does_not_fit(
    database: Database, claimed: Claimed
) -> None:
    await database.write(lambda connection: compress(connection, 2, Guards()))
    await database.write(lambda connection: compress(connection, 2, Guards()))
    tight = await database.read(lambda connection: weigh(connection, measure=measure(20), session_id="s1"))
    wide = await database.read(lambda connection: weigh(connection, measure=measure(), session_id="s1"))
    assert tight is not None
    assert wide is not None
    assert "driven has room for 20" in tight.refusal
    assert wide.refusal == ""
    foreseen = await loaded(database, undoing=wide.found.view)
    await database.write(take_back)
    after = await loaded(database)
    assert (after.rows, after.views) == (foreseen.rows, foreseen.views)
    assert measure().fill(Prompt(after.prompt), viewed(after.rows, after.views)).total == wide.tokens


async def test_rows_that_were_only_shortened_are_whole_again(database: Database, claimed: Claimed) -> None:
    before = await loaded(database)
    shortened = View(shown={before.rows[0].id: Message("user", "q")})
    record = replace(RECORD, outcome="pruned", occasion="prune")
    await database.write(lambda connection: compressions.keep(connection, "s1", "t", record, shortened))
    assert texts(await loaded(database))[0] == "q"
    await database.write(take_back)
    assert texts(await loaded(database)) == texts(before)


async def test_a_session_that_goes_on_from_a_compressed_one_stays_and_shows_it_all(
    database: Database, claimed: Claimed
) -> None:
    def go_on(connection: Connection) -> None:
        compress(connection, 4, Guards())
        store.follow(connection, "s1", "s2")
        bindings.rebind(connection, claimed.lane, "s2")
        store.append(connection, "s2", "u", [Message("user", "more"), Message("assistant", "yes")])

    await database.write(go_on)
    assert await database.read(lambda connection: store.follower(connection, "s1")) == "s2"
    assert await database.read(lambda connection: store.follower(connection, "s2")) == ""
    await database.write(lambda connection: take_back(connection, "s2"))
    after = await loaded(database, "s2")
    assert len(texts(after)) == 8
    assert unpacked(after.guards).held
    assert await database.read(lambda connection: bindings.holder(connection, "s2")) == str(claimed.lane)


async def test_a_turn_that_went_on_in_a_session_after_its_compression_has_one_journal_and_one_compression(
    database: Database, claimed: Claimed
) -> None:
    def go_on(connection: Connection) -> None:
        journal.begin(connection, claimed.turn, str(claimed.lane), "s1", "model")
        store.append(connection, "s1", claimed.turn, [Message("user", "look"), Message("assistant", "step 1")])
        compressions.keep(connection, "s1", claimed.turn, RECORD, View(summary="all of it"))
        store.follow(connection, "s1", "s2")
        store.append(connection, "s2", claimed.turn, [Message("assistant", "step 2")])

    await database.write(go_on)
    said = await database.read(lambda connection: store.of_turn(connection, claimed.turn))
    tried = await database.read(lambda connection: compressions.of_turn(connection, "s2", claimed.turn))
    assert [message.text for message in said] == ["look", "step 1", "step 2"]
    assert tried is not None


async def test_what_was_retried_after_a_session_went_on_as_another_is_out_of_view_in_both(
    database: Database, claimed: Claimed
) -> None:
    def retried(connection: Connection) -> None:
        said = [Message("user", "which?"), Message("assistant", "that one")]
        store.append(connection, "s1", "u", said)
        store.follow(connection, "s1", "s2")
        store.hide_turn(connection, "s2", "u", "retry")
        compress(connection, 2, Guards(), session="s2")

    await database.write(retried)
    assert "that one" not in texts(await loaded(database, "s2"))
    page, _ = await database.read(lambda connection: pages.ends(connection, "s1", 20, 0))
    assert [line.text for line in page.lines if line.text in {"which?", "that one"}] == []
    lines = await database.read(lambda connection: store.transcript(connection, "s1", 20))
    assert [line.hidden for line in lines] == [*["compression"] * 2, *[""] * 4, *["retry"] * 2]


async def test_what_was_retried_meanwhile_stays_out_of_view(database: Database, claimed: Claimed) -> None:
    await database.write(lambda connection: store.append(connection, "s1", "gone", [Message("user", "never mind")]))
    await database.write(lambda connection: compress(connection, 4, Guards()))
    await database.write(lambda connection: store.hide_turn(connection, "s1", "gone", "retry"))
    await database.write(take_back)
    assert "never mind" not in texts(await loaded(database))
    assert len(texts(await loaded(database))) == 6


async def test_whoever_overtakes_a_lane_fences_off_a_turn_that_a_dead_process_had(
    database: Database, claimed: Claimed
) -> None:
    await database.write(lambda connection: lanes.overtake(connection, claimed.lane))
    with pytest.raises(Fenced):
        await database.write(lambda connection: lanes.fence(connection, claimed.lane, claimed.generation))


async def test_a_lane_that_has_no_row_yet_can_be_overtaken(database: Database) -> None:
    await database.write(lambda connection: lanes.overtake(connection, key("nobody")))


# --- commands that run again after a crash


def never(claimed: Claimed) -> AbstractAsyncContextManager[Open]:
    raise AssertionError("the conversation is not looked at again")


def asking(claimed: Claimed, rest: str) -> Asked:
    return Asked(claimed.lane, claimed.events[-1], Role.MEMBER, rest, claimed.ids[-1], claimed)


async def test_a_compact_whose_process_died_once_it_was_stored_tells_what_it_did(
    database: Database, claimed: Claimed
) -> None:
    def stored(connection: Connection) -> None:
        compressions.keep(connection, "s1", claimed.turn, RECORD, View(summary=framed("All of it.")))

    await database.write(stored)
    again = replace(claimed, again=True)
    said = await compact(ContextRooms(database, never), asking(again, ""))
    assert said.text == "Compressed: 84k → 31k tokens, 6 → 3 messages. driven wrote the summary."
    assert await database.read(lambda connection: compressions.count(connection, "s1")) == 1


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (replace(RECORD, score=0.5), "a check found 50% of what seemed to matter"),
        (replace(RECORD, outcome="fallback", reason="model: it has trouble"), "an extract stands for it"),
        (replace(RECORD, reason="model: it has trouble"), "The model for summaries failed (it has trouble)"),
        (replace(RECORD, outcome="pruned", messages=(6, 6)), "84k → 31k tokens. Only old results of tools"),
        (
            replace(RECORD, outcome="kept", reason="auth: a key is missing"),
            "could not be compressed (a key is missing)",
        ),
    ],
)
async def test_how_a_compression_came_about_is_told(
    database: Database, claimed: Claimed, record: Record, words: str
) -> None:
    view = None if record.outcome == "kept" else View(summary=framed("All of it."))
    await database.write(lambda connection: compressions.keep(connection, "s1", claimed.turn, record, view))
    said = await compact(ContextRooms(database, never), asking(replace(claimed, again=True), ""))
    assert words in said.text


async def test_the_commands_of_a_lane_that_has_just_begun_look_at_nothing(database: Database, claimed: Claimed) -> None:
    rooms, fresh = ContextRooms(database, never), replace(claimed, fresh=True)
    for rest in ("", "show", "undo"):
        assert "Nothing has been said" in (await compaction(rooms, asking(fresh, rest))).text
    assert "Nothing has been said" in (await compact(rooms, asking(fresh, ""))).text
