"""What people do about a long conversation themselves: compress it, look at that, take it back."""

from __future__ import annotations

import re

import pytest

from gateway.agent.context.beginnings import SUMMARY
from gateway.agent.context.settings import CompressionSettings
from gateway.contracts.context import View
from gateway.llm.faults import ModelUnknown
from gateway.sessions import store
from gateway.sessions.settings import SharingSettings
from gateway.storage.database import Connection
from gateway.storage.tables import COMPRESSION
from gateway.types import ChatType
from tests.fakes.counting import held_writer
from tests.fakes.platform import FakePlatform
from tests.flow.conftest import House
from tests.flow.long import PARAGRAPH, model, prepared, talk

WINDOW = 40_000


@pytest.fixture
def house(house: House) -> House:
    return prepared(house, WINDOW)


@pytest.fixture
def small(small: House) -> House:
    return prepared(small, WINDOW)


async def say(chat: FakePlatform, words: str, place: str = "ann", **more: str | ChatType) -> str:
    """Say something, and return the next message of the chat."""
    before = len(chat.texts(place))
    chat.say(words, place, **more)  # type: ignore[arg-type]
    await chat.until(lambda: len(chat.texts(place)) > before, f"an answer to {words}")
    await chat.is_quiet()
    return chat.texts(place)[-1]


def seen(house: House) -> str:
    """Return all that the model was shown last."""
    return "\n".join(message.content for message in model(house).asked[-1])


# --- /compact


async def test_compact_sums_up_what_is_old_and_says_what_that_won(house: House) -> None:
    async with house.running() as chat:
        await talk(house, 0, 20)
        said = await say(chat, "/compact")
        assert re.match(r"Compressed: 1\dk → \d+k tokens, 40 → \d\d messages\.", said)
        assert "counting wrote the summary." in said
        chat.say("and now? #now")
        await chat.sees("heard now")
    assert seen(house).count(SUMMARY) == 1
    assert f"{PARAGRAPH} #5" not in seen(house)
    assert seen(house).endswith("and now? #now")


@pytest.mark.parametrize("words", ["/compress", "/COMPACT"])
async def test_compress_is_another_name_of_compact(small: House, words: str) -> None:
    async with small.running() as chat:
        await talk(small, 0, 20)
        assert (await say(chat, words)).startswith("Compressed: ")


@pytest.mark.parametrize("focus", ["the tax form", "税务表格的第二页", "here is what matters: the form", "النموذج"])
async def test_what_stands_behind_compact_is_what_the_summary_keeps_above_all(small: House, focus: str) -> None:
    async with small.running() as chat:
        await talk(small, 0, 20)
        await say(chat, f"/compact {focus}")
    assert f'FOCUS TOPIC: "{focus}"' in model(small).summed_up[0]


async def test_here_keeps_the_last_exchanges_to_the_letter(house: House) -> None:
    async with house.running() as chat:
        await talk(house, 0, 8)
        said = await say(chat, "/compact here 3")
        assert "16 → " in said
        chat.say("go on #on")
        await chat.sees("heard on")
    people = [message.content for message in model(house).asked[-1] if message.role == "user"]
    assert [words.rpartition("#")[2] for words in people] == ["5", "6", "7", "on"]
    assert SUMMARY in people[0]


@pytest.mark.parametrize("number", ["0", "101", "-1", "two", "2.5", "9" * 5_000])
async def test_a_number_that_is_none_is_told_in_a_sentence_and_nothing_changes(small: House, number: str) -> None:
    async with small.running() as chat:
        await talk(small, 0, 6)
        said = await say(chat, f"/compact here {number}")
    assert said.endswith("a number from 1 to 100.")
    assert model(small).summed_up == []


async def test_a_preview_says_what_would_go_and_asks_no_model(house: House) -> None:
    async with house.running() as chat:
        await talk(house, 0, 20)
        asked = len(model(house).asked)
        said = await say(chat, "/compact --preview")
        again = await say(chat, "/compact here 2 —dry-run")
        chat.say("and now? #now")
        await chat.sees("heard now")
    assert "Would be summed up: " in said
    assert "From: “The letter about the tax form" in said
    assert "Nothing was changed" in said
    assert "Would stay as said: 4 messages" in again
    assert model(house).summed_up == []
    assert len(model(house).asked) == asked + 1
    assert seen(house).count(PARAGRAPH.strip()) == 20


async def test_an_option_there_is_not_changes_nothing(small: House) -> None:
    async with small.running() as chat:
        await talk(small, 0, 6)
        said = await say(chat, "/compact --preveiw")
    assert said.startswith("There is no option `--preveiw`")
    assert model(small).summed_up == []


async def test_where_there_is_nothing_to_compress_one_hears_why_and_what_to_do(small: House) -> None:
    async with small.running() as chat:
        assert await say(chat, "/compact") == "Nothing has been said in this conversation yet."
        await talk(small, 0, 1)
        short = await say(chat, "/compact")
        whole = await say(chat, "/compact here 5")
    assert short.startswith("Nothing was compressed: ")
    assert "/new starts afresh" in short
    assert "there are only 1 exchange in view, and you want to keep 5" in whole
    assert model(small).summed_up == []


async def test_compact_waits_for_the_turn_that_runs(house: House) -> None:
    async with house.running() as chat:
        await talk(house, 0, 12)
        model(house).gate.clear()
        model(house).begun.clear()
        chat.say("a long story #story")
        await model(house).begun.wait()
        chat.say("/compact")
        model(house).gate.set()
        await chat.sees("Compressed: ")
        assert [text.partition(":")[0] for text in chat.texts()[-2:]] == ["heard story", "Compressed"]


async def test_a_summary_that_no_model_writes_is_told_with_the_way_out(small: House) -> None:
    model(small).summarise = lambda prompt: ModelUnknown("there is no such model")
    async with small.running() as chat:
        await talk(small, 0, 20)
        said = await say(chat, "/compact")
        undone = await say(chat, "/compaction undo")
    assert "an extract stands for it" in said
    assert "/compaction undo brings it back" in said
    assert undone.startswith("Taken back (")


async def test_where_it_fails_nothing_is_changed_and_it_is_told_every_time(small: House) -> None:
    small.change(compression=CompressionSettings(abort_on_summary_failure=True))
    model(small).summarise = lambda prompt: "## Goal\n" + "It goes on and on about the form. " * 9_000
    async with small.running() as chat:
        await talk(small, 0, 20)
        first, second = await say(chat, "/compact"), await say(chat, "/compact")
        chat.say("and now? #now")
        await chat.sees("heard now")
    for said in (first, second):
        assert said.startswith("This conversation could not be compressed (")
        assert "Nothing was changed. /compact tries again, /new starts afresh." in said
    assert seen(small).count(PARAGRAPH.strip()) == 20


async def test_a_stop_while_compact_works_leaves_the_conversation_as_it_was(house: House) -> None:
    writer = held_writer()
    house.writers.append(writer)
    async with house.running() as chat:
        await talk(house, 0, 12)
        chat.say("/compact")
        await writer.begun.wait()
        chat.say("/stop")
        await chat.sees("Stopped.")
        await chat.is_quiet()
        writer.gate.set()
        chat.say("go on #on")
        await chat.sees("heard on")
        assert (await say(chat, "/retry")) == "heard on"
    assert seen(house).count(PARAGRAPH.strip()) == 12
    assert "/compact" not in seen(house)
    assert "[stopped]" not in seen(house)


async def test_a_compact_whose_process_died_is_done_by_the_next_one_once(small: House) -> None:
    writer = held_writer()
    small.writers.append(writer)
    async with small.running(kill=True) as chat:
        await talk(small, 0, 20)
        chat.say("/compact")
        await writer.begun.wait()
    writer.gate.set()
    async with small.running() as chat:
        await chat.sees("Compressed: ")
        listed = await say(chat, "/compaction")
    assert listed.startswith("- 1: ")
    assert sum("Compressed: " in text for text in chat.texts()) == 1


# --- /compaction


async def test_compaction_lists_what_was_done_and_shows_the_newest_summary(house: House) -> None:
    async with house.running() as chat:
        await talk(house, 0, 1)
        assert await say(chat, "/compaction") == "This conversation was never compressed."
        assert await say(chat, "/compaction show") == "No summary stands for a part of this conversation."
        await talk(house, 1, 12)
        await say(chat, "/compact here 6")
        await talk(house, 13, 6)
        await say(chat, "/compact here 2")
        listed = (await say(chat, "/compaction")).splitlines()
        shown = await say(chat, "/compaction show")
    assert re.match(r"- 2: \d+ s ago, since somebody asked for it: ", listed[0])
    assert listed[1].startswith("- 1: ")
    assert "summary by counting" in listed[0]
    assert shown.startswith("## ")
    assert "CONTEXT" not in shown


async def test_undo_brings_back_what_was_said_and_holds_the_next_until_it_is_needed(house: House) -> None:
    async with house.running() as chat:
        await talk(house, 0, 20)
        await say(chat, "/compact")
        said = await say(chat, "/compaction undo")
        assert said.startswith("Taken back (1")
        assert re.search(r"about 1\dk of 40k tokens", said)
        chat.say("and now? #now")
        await chat.sees("heard now")
        again = await say(chat, "/compaction undo")
        listed = await say(chat, "/compaction")
    assert seen(house).count(PARAGRAPH.strip()) == 20
    assert SUMMARY not in seen(house)
    assert again.startswith("There is no compression to undo")
    assert "taken back" in listed


async def test_of_several_compressions_the_newest_goes_first_and_the_one_before_stands_again(house: House) -> None:
    async with house.running() as chat:
        await talk(house, 0, 12)
        await say(chat, "/compact here 6")
        chat.say("first #first")
        await chat.sees("heard first")
        once = seen(house)
        await talk(house, 13, 6)
        await say(chat, "/compact here 2")
        await say(chat, "/compaction undo")
        chat.say("second #second")
        await chat.sees("heard second")
        twice = seen(house)
        await say(chat, "/compaction undo")
        chat.say("third #third")
        await chat.sees("heard third")
    assert twice.startswith(once)
    assert SUMMARY not in seen(house)
    assert seen(house).count(PARAGRAPH.strip()) == 18


async def test_an_undo_that_would_not_fit_is_refused_with_the_figures(house: House) -> None:
    async with house.running() as chat:
        await talk(house, 0, 40)
        await say(chat, "/compact here 2")
        await talk(house, 40, 25)
        model(house).window = model(house).real = 30_000
        said = await say(chat, "/compaction undo")
        chat.say("and now? #now")
        await chat.sees("heard now")
    assert said.startswith("It is not taken back: as it was said this conversation takes about 4")
    assert "counting has room for 30k" in said
    assert seen(house).count(SUMMARY) == 1


async def test_after_an_undo_nothing_is_compressed_until_the_endpoint_counts_too_much(house: House) -> None:
    async with house.running() as chat:
        await talk(house, 0, 45)
        await say(chat, "/compact here 2")
        await say(chat, "/compaction undo")
        model(house).window = model(house).real = 32_000
        written = len(model(house).summed_up)
        chat.say("one #one")
        await chat.sees("heard one")
        assert len(model(house).summed_up) == written
        chat.say("two #two")
        await chat.sees("heard two")
        assert len(model(house).summed_up) == written + 1


async def test_what_was_counted_before_an_undo_does_not_end_the_hold(small: House) -> None:
    small.change(compression=CompressionSettings(threshold_tokens=20_000))
    async with small.running() as chat:
        await talk(small, 0, 10)
        await say(chat, "/compact here 2")
        await talk(small, 10, 14)
        model(small).factor = 1.9
        await talk(small, 24, 1)
        assert model(small).tokens(model(small).asked[-1]) > 20_000
        written = len(model(small).summed_up)
        assert (await say(chat, "/compaction undo")).startswith("Taken back (")
        chat.say("one #one")
        await chat.sees("heard one")
        assert len(model(small).summed_up) == written
        chat.say("two #two")
        await chat.sees("heard two")
        assert len(model(small).summed_up) == written + 1


async def test_a_session_that_goes_on_as_another_is_undone_in_that_one(house: House) -> None:
    house.change(compression=CompressionSettings(in_place=False))
    async with house.running() as chat:
        await talk(house, 0, 20)
        before = await say(chat, "/status")
        await say(chat, "/compact")
        child = await say(chat, "/status")
        await say(chat, "/compaction undo")
        chat.say("and now? #now")
        await chat.sees("heard now")
        after = await say(chat, "/status")
    assert before.splitlines()[0] != child.splitlines()[0] == after.splitlines()[0]
    assert seen(house).count(PARAGRAPH.strip()) == 20


async def test_undo_with_words_behind_it_or_other_words_is_explained(small: House) -> None:
    async with small.running() as chat:
        await talk(small, 0, 1)
        assert await say(chat, "/compaction undo 3") == await say(chat, "/compaction help")
        assert "/compaction undo takes the newest compression back" in chat.texts()[-1]


async def test_in_a_group_that_shares_its_conversation_anybody_compresses_it_and_nobody_is_shown_the_summary(
    small: House,
) -> None:
    small.change(sharing=SharingSettings(group_sessions_per_user=False))
    async with small.running() as chat:
        for number in range(20):
            chat.say(f"{PARAGRAPH} #{number}", "team", sender="ann", kind=ChatType.GROUP)
            await chat.sees(f"heard {number}", "team")
        said = await say(chat, "/compact", "team", sender="bob", kind=ChatType.GROUP)
        shown = await say(chat, "/compaction show", "team", sender="ann", kind=ChatType.GROUP)
        undone = await say(chat, "/compaction undo", "team", sender="bob", kind=ChatType.GROUP)
    assert said.startswith("Compressed: ")
    assert "private chats only" in shown
    assert undone.startswith("Taken back (")


# --- /retry and /context


async def test_retry_of_a_turn_that_a_summary_stands_for_asks_for_an_undo_first(house: House) -> None:
    async with house.running() as chat:
        await talk(house, 0, 8)
        await say(chat, "/compact here 1")
        assert await say(chat, "/retry") == "heard 7"
        id = await _session(house)
        await house.database.write(lambda connection: _hide_all(connection, id))
        refused = await say(chat, "/retry")
    assert "/compaction undo" in refused


async def _session(house: House) -> str:
    return (await house.database.read(lambda connection: store.summaries(connection, 1)))[0].id


def _hide_all(connection: Connection, id: str) -> None:
    ids = frozenset(row.id for row in store.load(connection, id).rows)
    store.add_view(connection, id, View(hidden=ids, summary="all of it"), COMPRESSION)


async def test_context_shows_what_fills_the_window_and_when_it_is_compressed(house: House) -> None:
    async with house.running() as chat:
        assert await say(chat, "/context") == "Nothing has been said in this conversation yet."
        await talk(house, 0, 20)
        before = await say(chat, "/context")
        await say(chat, "/compact")
        after = await say(chat, "/context")
        await say(chat, "/compaction undo")
        undone = await say(chat, "/context")
    assert re.search(r"Window of counting: about 1\dk of 40k tokens \(3", before)
    assert "\n  - identity: " in before
    assert "(built in, since the home had no SOUL.md)" in before
    assert "the endpoint counted 1" in before
    assert "People: 12k in 20 messages" in before
    assert "Answers: " in before
    assert "Compressed at 34k tokens: 85% of 40,000 tokens" in before
    assert "Engine: compressor" in before
    assert "Compressions so far: 0" in before
    assert "Summary: " in after
    assert "Compressions so far: 1" in after
    assert "Compressions so far: 0" in undone
    assert "held after an undo" in undone


async def test_context_says_that_nothing_is_compressed_by_itself_where_that_is_so(small: House) -> None:
    small.change(compression=CompressionSettings(enabled=False))
    async with small.running() as chat:
        await talk(small, 0, 2)
        assert "Compressed by itself: never (compression.enabled is false)" in await say(chat, "/context")
