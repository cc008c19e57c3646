"""A conversation that grows beyond the model's window goes on: shorter to the model, and whole in the rows."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence

import pytest
from sqlalchemy import select, update

from gateway.agent.context.beginnings import SUMMARY
from gateway.agent.context.frame import NOTE_BEGINS
from gateway.agent.context.guards import Guards, unpacked
from gateway.agent.context.settings import CompressionSettings
from gateway.contracts.model import Completed
from gateway.errors import AuthFailed, BadResponse, ModelBusy, ModelError
from gateway.llm.faults import BrokenOff, ModelUnknown, ModelUnreachable
from gateway.llm.tokens.messages import estimate
from gateway.messages import Message, ToolCall
from gateway.sessions import compressions, store
from gateway.sessions.cache import Bounds
from gateway.sessions.compressions import Listed
from gateway.storage.tables import sessions
from gateway.toolkit.function import tool
from gateway.types import Turn
from tests.fakes.counting import CountingModel, held_writer
from tests.flow.conftest import House
from tests.flow.long import PARAGRAPH, WIDE, model, prepared, shortly, talk


@pytest.fixture
def house(house: House) -> House:
    return prepared(house)


@pytest.fixture
def small(small: House) -> House:
    return prepared(small)


def last(house: House) -> Sequence[Message]:
    return model(house).asked[-1]


def text(messages: Sequence[Message]) -> str:
    return "\n".join(message.content for message in messages)


async def session_id(house: House) -> str:
    query = select(sessions.c.id).order_by(sessions.c.created.desc(), sessions.c.id.desc()).limit(1)
    return str(await house.database.read(lambda connection: connection.execute(query).scalar()))


async def found(house: House) -> list[Listed]:
    id = await session_id(house)
    return await house.database.read(lambda connection: compressions.listed(connection, id))


async def guards(house: House) -> Guards:
    id = await session_id(house)
    return unpacked((await house.database.read(lambda connection: store.load(connection, id))).guards)


# --- what the model sees, and what stays


async def test_a_long_conversation_is_compressed_and_the_new_message_is_answered(house: House) -> None:
    """COMP-03."""
    async with house.running() as platform:
        await talk(house, 0, 12)
        platform.say("dim the kitchen light #light")
        await platform.sees("heard light")
        done = await found(house)
        lines = await house.database.read(lambda connection: store.transcript(connection, done[0].session_id, 1_000))
    asked = last(house)
    assert asked[-1].content == "dim the kitchen light #light"
    assert NOTE_BEGINS in asked[0].content
    assert text(asked).count(SUMMARY) == 1
    assert model(house).refused == 0
    assert model(house).tokens(asked) < model(house).window
    assert {one.record.outcome for one in done} == {"summary"}
    assert all(one.record.tokens[1] < one.record.tokens[0] for one in done)
    said = [line.message.text for line in lines if line.message.role == "user"]
    assert [line.rpartition("#")[2] for line in said] == [*map(str, range(12)), "light"]
    assert not any(SUMMARY in line for line in platform.texts())


async def test_after_a_restart_the_next_request_begins_as_the_last_did(house: House) -> None:
    async with house.running():
        await talk(house, 0, 12)
    before = last(house)
    async with house.running() as platform:
        platform.say("and now? #now")
        await platform.sees("heard now")
    assert text(before).count(SUMMARY) == 1
    assert list(last(house)[: len(before)]) == list(before)


async def test_a_task_of_many_steps_keeps_what_was_asked_for(house: House) -> None:
    @tool()
    async def look_up(turn: Turn, page: int) -> str:
        """Look a page up."""
        return f"page {page}: {PARAGRAPH}"

    def work(messages: Sequence[Message]) -> Completed | str:
        pages = len([message for asked in model(house).asked for message in asked[-1:] if message.role == "tool"])
        if pages >= 24:
            return "heard the end"
        return Completed("", (ToolCall(f"call{pages}", "look_up", f'{{"page": {pages}}}'),))

    house.models[""] = CountingModel(work)
    house.give_tools([look_up])
    async with house.running() as platform:
        platform.say("find the page about the cat, and nothing else")
        await platform.sees("heard the end")
        done = await found(house)
    assert len(done) >= 2
    for asked in model(house).asked:
        people = [message.content for message in asked if message.role == "user"]
        assert people[-1].endswith("find the page about the cat, and nothing else")
    assert model(house).refused == 0


# --- when


async def test_what_the_endpoint_counts_goes_before_what_we_estimate(small: House) -> None:
    model(small).factor = 0.4
    async with small.running():
        await talk(small, 0, 14)
        done = await found(small)
    assert done == []
    assert model(small).tokens(last(small)) < small.models[""].window * 0.75


async def test_an_endpoint_that_counts_more_than_we_think_has_it_compressed_in_time(small: House) -> None:
    model(small).factor = 1.9
    async with small.running():
        await talk(small, 0, 12)
    assert len(model(small).summed_up) >= 1
    assert model(small).refused <= 1


async def test_a_window_smaller_than_was_said_is_found_out_and_the_message_answered(house: House) -> None:
    house.models[""] = CountingModel(shortly, window=100_000, counts=False)
    model(house).real = 6_000
    async with house.running() as platform:
        await talk(house, 0, 12)
        assert not any("left out" in shown for shown in platform.texts())
    assert model(house).refused >= 1
    assert len(model(house).summed_up) >= 1


async def test_where_compression_is_off_nothing_is_compressed_of_itself(small: House) -> None:
    small.change(compression=CompressionSettings(enabled=False))
    async with small.running() as platform:
        await talk(small, 0, 8)
        platform.say(f"{PARAGRAPH * 6} #much")
        await platform.sees("/compact")
        done = await found(small)
    assert done == []
    assert model(small).summed_up == []
    assert "does not fit the model's window" in platform.texts()[-1]


async def test_a_message_that_comes_while_a_summary_is_written_is_in_the_next_request(house: House) -> None:
    """CONC-06."""
    async with house.running() as platform:
        slow = held_writer()
        house.writers.append(slow)
        number = 0
        while not slow.begun.is_set():
            platform.say(f"{PARAGRAPH} #{number}")
            said = f"heard {number}"
            await any_of(platform.sees(said), slow.begun.wait())
            number += 1
        platform.say("the code is 4711 #code")
        slow.gate.set()
        await platform.sees("heard code")
    assert last(house)[-1].content == "the code is 4711 #code"


async def any_of(*things: Coroutine[object, object, object]) -> None:
    """Wait until the first of these has happened."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(thing) for thing in things]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()


# --- when the summary fails


FAILURES: list[ModelError] = [
    ModelBusy("the endpoint has trouble of its own (500)"),
    BrokenOff("the connection went"),
    ModelUnknown("there is no such model"),
    ModelUnreachable("there was no connection"),
    AuthFailed("the key is not accepted"),
    BadResponse("that is no answer"),
]


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
async def test_where_no_summary_can_be_made_the_conversation_goes_on_and_one_is_told_once(
    small: House, error: ModelError
) -> None:
    model(small).summarise = lambda prompt: error
    async with small.running() as platform:
        await talk(small, 0, 20)
        shown, done, id = list(platform.texts()), await found(small), await session_id(small)
        lines = await small.database.read(lambda connection: store.transcript(connection, id, 1_000))
    assert 1 <= len([text for text in shown if "/compact" in text or "/compaction" in text]) <= 2
    assert {one.record.outcome for one in done} <= {"kept", "fallback", "pruned"}
    assert len([line for line in lines if line.message.role == "user"]) == 20
    assert len(model(small).summed_up) <= 3
    aborts = isinstance(error, AuthFailed | BrokenOff | ModelUnreachable)
    assert any(one.record.outcome == "fallback" for one in done) == (not aborts)


async def test_another_model_writes_the_summary_where_the_one_for_summaries_fails(small: House) -> None:
    small.writers.append(CountingModel(name="writer", window=WIDE, summarise=lambda prompt: ModelUnknown("gone")))
    async with small.running() as platform:
        await talk(small, 0, 14)
        done, told = await found(small), [text for text in platform.texts() if "gone" in text]
    assert {one.record.outcome for one in done} == {"summary"}
    assert {one.record.writer for one in done} == {"counting"}
    assert len(told) == 1


async def test_a_summary_that_is_no_shorter_is_not_taken_and_not_asked_for_again_and_again(small: House) -> None:
    model(small).summarise = lambda prompt: "## Goal\n" + "It goes on and on about the form. " * 2_000
    async with small.running():
        await talk(small, 0, 20)
        done = await found(small)
    assert len(model(small).summed_up) <= 4
    assert all(one.record.tokens[1] < one.record.tokens[0] for one in done if one.record.outcome != "kept")


async def test_a_summary_that_the_model_repeats_is_never_shown(house: House) -> None:
    """COMP-04."""

    def echoing(messages: Sequence[Message]) -> str:
        opening = messages[1].content
        number = messages[-1].content.rpartition("#")[2]
        return (
            f"{opening[: opening.index('--- END')]}\n--- END OF CONTEXT SUMMARY ---\n\nheard {number}"
            if (SUMMARY in opening)
            else f"heard {number}"
        )

    house.models[""] = CountingModel(echoing)
    async with house.running() as platform:
        await talk(house, 0, 13)
        assert model(house).summed_up
        assert all("CONTEXT" not in text for text in [*platform.texts(), *platform.sendings])


async def test_the_guards_of_a_conversation_outlive_its_eviction(small: House) -> None:
    small.change(cache=Bounds(1, 3600, 1 << 30))
    model(small).summarise = lambda prompt: ModelBusy("the endpoint has trouble of its own (500)")
    async with small.running() as platform:
        number = 0
        while not model(small).summed_up:
            await talk(small, number, 1)
            number += 1
        asked = len(model(small).summed_up)
        platform.say("hello #bob", "bob")
        await platform.sees("heard bob", "bob")
        await talk(small, number, 12)
    assert len(model(small).summed_up) == asked


# --- stops, crashes, several sessions


async def test_a_stop_while_a_summary_is_written_changes_nothing(small: House) -> None:
    async with small.running() as platform:
        await talk(small, 0, 8)
        slow = held_writer()
        small.writers.append(slow)
        number = 8
        while not slow.begun.is_set():
            platform.say(f"{PARAGRAPH} #{number}")
            await any_of(platform.sees(f"heard {number}"), slow.begun.wait())
            number += 1
        platform.say("/stop")
        await platform.sees("Stopped.")
        slow.gate.set()
        small.writers.clear()
        assert await found(small) == []
        platform.say("still there? #there")
        await platform.sees("heard there")
        done = await found(small)
    assert [one.record.outcome for one in done] == ["summary"]


async def test_a_turn_that_died_after_its_compression_is_finished_from_what_it_stored(house: House) -> None:
    ran: list[int] = []
    enough = asyncio.Event()

    @tool()
    async def look_up(turn: Turn, page: int) -> str:
        """Look a page up."""
        ran.append(page)
        if len(ran) == 8:
            enough.set()
        return f"page {page}: {PARAGRAPH * 2}"

    def work(messages: Sequence[Message]) -> Completed | str:
        page = len(ran) + 1
        return (
            Completed("", (ToolCall(f"c{page}", "look_up", f'{{"page": {page}}}'),)) if page <= 12 else "heard the end"
        )

    house.models[""] = CountingModel(work)
    house.give_tools([look_up])
    async with house.running(kill=True) as platform:
        platform.say("look everything up")
        await enough.wait()
    async with house.running() as platform:
        await platform.sees("heard the end")
        done = await found(house)
    assert sorted(set(ran)) == sorted(ran)
    assert done
    assert [text for text in platform.texts() if "heard the end" in text] == ["heard the end"]


# --- a session that follows another; the prompt; asking again


async def test_a_compressed_session_may_go_on_as_another_that_reaches_all_that_was_said(house: House) -> None:
    house.change(compression=CompressionSettings(in_place=False))
    async with house.running() as platform:
        await talk(house, 0, 12)
        done, newest = await found(house), await session_id(house)
        await talk(house, 12, 12)
        last_one = await session_id(house)
        chain = await house.database.read(lambda connection: store.lineage(connection, last_one))
        query = select(sessions.c.id, sessions.c.end_reason, sessions.c.parent_session_id).order_by(sessions.c.created)
        rows = (await house.database.read(lambda connection: connection.execute(query).all()))[:]
        platform.say("and the first letter? #first")
        await platform.sees("heard first")
    assert done
    assert newest != done[-1].session_id
    assert len(chain) >= 3
    assert chain[-1] == rows[0].id
    assert [row.id for row in rows] == chain[::-1]
    assert {row.end_reason for row in rows[:-1]} == {"compression"}
    assert [row.parent_session_id for row in rows] == ["", *[row.id for row in rows[:-1]]]
    assert text(last(house)).count(SUMMARY) == 1
    assert last(house)[-1].content == "and the first letter? #first"


async def test_after_a_restart_a_followed_session_is_the_same_to_the_byte(small: House) -> None:
    small.change(compression=CompressionSettings(in_place=False))
    async with small.running():
        await talk(small, 0, 13)
    before = last(small)
    async with small.running() as platform:
        platform.say("and now? #now")
        await platform.sees("heard now")
    assert text(before).count(SUMMARY) == 1
    assert list(last(small)[: len(before)]) == list(before)


async def test_the_prompt_stays_as_it_was_unless_the_notes_changed(small: House) -> None:
    small.change(owner="fake:ann")
    notes = small.plans[0].home / "memories" / "MEMORY.md"
    notes.parent.mkdir(parents=True)
    notes.write_text("the dog is called Rex")
    async with small.running():
        await talk(small, 0, 12)
        notes.write_text("the dog is called Rex\n§\nthe cat is called Mimi")
        number = 12
        while "Mimi" not in last(small)[0].content:
            await talk(small, number, 1)
            number += 1
        made = await found(small)
    prompts = list(dict.fromkeys(asked[0].content.partition(NOTE_BEGINS)[0].strip() for asked in model(small).asked))
    assert len(prompts) == 2
    assert "Rex" in prompts[0]
    assert "Mimi" not in prompts[0]
    assert len(made) >= 2


async def test_a_prompt_of_an_earlier_version_is_made_anew_with_the_first_compression(small: House) -> None:
    small.change(owner="fake:ann")
    async with small.running():
        await talk(small, 0, 6)
        earlier = update(sessions).values(prompt="You are of an earlier version.", outline="")
        await small.database.write(lambda connection: connection.execute(earlier))
    notes = small.plans[0].home / "memories" / "MEMORY.md"
    notes.parent.mkdir(parents=True, exist_ok=True)
    notes.write_text("the cat is called Mimi")
    async with small.running() as platform:
        await talk(small, 6, 1)
        assert last(small)[0].content == "You are of an earlier version."
        platform.say("/context")
        await platform.sees("stored without an outline")
        platform.say("/compact")
        await platform.sees("Compressed: ")
        await talk(small, 7, 1)
    assert "Mimi" in last(small)[0].content
    assert "earlier version" not in last(small)[0].content


async def test_what_the_endpoint_counted_is_known_after_a_restart(house: House) -> None:
    """COMP-06: the endpoint counts less than we estimate, and says so; only the rows know it afterwards."""
    model(house).factor = 0.55
    async with house.running():
        await talk(house, 0, 14)
        assert await found(house) == []
    async with house.running() as platform:
        platform.say("hi #hi")
        await platform.sees("heard hi")
        assert await found(house) == []
    assert model(house).summed_up == []
    assert sum(map(estimate, last(house))) > 7_500
