"""Compressions that do no good are not made again and again; the guards hold over restarts and let go in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from gateway.agent.context.guards import LONGEST, PROBE, Guards, packed, unpacked
from gateway.agent.context.settings import CompressionSettings
from gateway.contracts.context import Compressed, ContextEngine, Kept, Order, Past, View
from gateway.contracts.model import Completed
from gateway.errors import AuthFailed, ModelBusy
from gateway.messages import Message, ToolCall
from gateway.toolkit.function import tool
from gateway.toolkit.toolset import FunctionTools
from gateway.types import Turn
from tests.fakes.counting import CountingModel, summary
from tests.unit.agent.context.talks import PARAGRAPH, Talk

GIANT = "An entry of the log that nobody will ever read again, and which goes on in the next line.\n" * 1_500
"""About 30,000 tokens."""


def fine(messages: Sequence[Message]) -> str:
    return "fine"


def model(**options: object) -> CountingModel:
    return CountingModel(fine, **options)  # type: ignore[arg-type]


async def talk(talk: Talk, count: int) -> None:
    for number in range(count):
        await talk.say(f"{PARAGRAPH} #{number}")
        talk.clock += 5
        talk.check()


DONE = Compressed(view=View(), rows=(), outcome="summary")


def test_two_compressions_that_won_too_little_block_the_third_and_a_probe_comes_after_five_minutes() -> None:
    guards = Guards()
    for _ in range(2):
        assert guards.block(1_000) == ""
        guards = guards.begun(1_000).compressed(DONE, 1_000).counted(900, 800)
    assert guards.ineffective == 2
    assert guards.block(1_001) == "ineffective"
    assert guards.block(1_000 + PROBE - 1) == "ineffective"
    assert guards.block(1_000 + PROBE) == ""
    probing = guards.begun(1_000 + PROBE)
    assert probing.block(1_001 + PROBE) == "ineffective"
    assert probing.counted(700, 800).block(1_001 + PROBE) == ""


def test_two_fallbacks_block_the_third_and_a_summary_lets_go() -> None:
    fallback = replace(DONE, outcome="fallback", cause="timeout", reason="slow")
    guards = Guards().begun(1_000).compressed(fallback, 1_000).begun(1_000).compressed(fallback, 1_000)
    assert guards.fallbacks == 2
    assert guards.failures == 2
    assert guards.block(1_001) == "fallbacks"
    assert guards.compressed(DONE, 1_400).block(1_401) == ""


def test_a_pause_ends_and_no_clock_makes_it_longer_than_the_longest() -> None:
    guards = Guards().kept(Kept(reason="slow", failed=True, cause="timeout", pause=60), 1_000)
    assert guards.block(1_059) == "pause"
    assert guards.block(1_061) == ""
    assert guards.left(0) == LONGEST
    assert guards.asked().block(1_001) == ""
    assert guards.kept(Kept(reason="there is nothing"), 1_000) == guards


def test_any_count_below_the_threshold_takes_the_strikes_back() -> None:
    guards = replace(Guards(), ineffective=1)
    assert guards.counted(700, 800).ineffective == 0
    assert guards.counted(900, 800).ineffective == 1


@pytest.mark.parametrize(
    "guards", [Guards(), Guards(3, "timeout", "slow 東京", 2, 1e9, 1, 1, 5.5, True, True, "pause")]
)
def test_guards_are_stored_and_read_as_they_are(guards: Guards) -> None:
    assert unpacked(packed(guards)) == guards


async def test_a_tail_that_is_above_the_threshold_alone_is_not_compressed_on_every_turn() -> None:
    """COMP-05."""
    chat = Talk(model(window=40_000, factor=1.0), CompressionSettings(threshold_tokens=9_000))
    await talk(chat, 6)
    await chat.say(f"read this: {GIANT}")
    chat.check()
    made = len(chat.model.summed_up)
    for number in range(10):
        chat.clock += 5
        await chat.say(f"and? {number}")
        chat.check()
    assert len(chat.model.summed_up) <= made + 2
    assert chat.model.tokens(chat.model.asked[-1]) < 9_000


async def test_a_giant_result_that_the_person_still_talks_about_is_shortened() -> None:
    """COMP-05."""

    @tool()
    async def read_log(turn: Turn) -> str:
        """Read the log."""
        return GIANT

    def work(messages: Sequence[Message]) -> Completed | str:
        return "read" if messages[-1].role == "tool" else Completed("", (ToolCall("c1", "read_log"),))

    chat = Talk(CountingModel(work, window=32_000), tools=FunctionTools([read_log]))
    for number in range(3):
        finished = await chat.say(f"read it {number}")
        assert finished.text == "read"
        chat.check()
    assert len(chat.model.summed_up) <= 4


async def test_without_a_count_from_the_endpoint_our_own_estimate_decides() -> None:
    """COMP-15."""
    chat = Talk(model(window=8_000, counts=False))
    await talk(chat, 20)
    assert chat.done
    assert chat.model.refused == 0


async def test_a_small_window_stops_with_a_sentence_and_not_in_a_circle() -> None:
    """COMP-15."""
    chat = Talk(model(window=4_096))
    finished = await chat.say("word " * 6_000)
    assert "does not fit the model's window of 4096 tokens" in finished.text
    assert len(chat.model.summed_up) <= 1
    assert (await chat.say("hi")).text == "fine"
    chat.check()


async def test_a_summariser_that_fails_is_asked_less_and_less_and_the_person_is_told_once() -> None:
    chat = Talk(model(summarise=lambda prompt: ModelBusy("silent")))
    await talk(chat, 40)
    assert len(chat.model.summed_up) <= 4
    assert len([text for text in chat.told if "/compact" in text]) <= 3
    assert len(chat.told) == len(set(chat.told))


async def test_a_refused_key_changes_nothing_however_often_it_is_tried() -> None:
    chat = Talk(model(summarise=lambda prompt: AuthFailed("no credit")))
    await talk(chat, 20)
    assert all(not view.summary for view in chat.rows.views)
    assert len([row for row in chat.rows.said if row.message.role == "user"]) == 20
    assert len(chat.model.summed_up) <= 3


async def test_the_guards_hold_after_a_restart() -> None:
    chat = Talk(model(summarise=lambda prompt: ModelBusy("silent")))
    await talk(chat, 14)
    asked = len(chat.model.summed_up)
    assert asked
    chat.restart()
    assert chat.conversation.guards.block(chat.clock)
    await chat.say("go on")
    assert len(chat.model.summed_up) == asked


async def test_an_undone_compression_is_not_made_again_until_the_endpoint_counts_too_much() -> None:
    chat = Talk(model(window=8_000))
    while not chat.done:
        await talk(chat, 1)
    assert chat.undo()
    chat.model.window = chat.model.real = 16_000
    summed_up = len(chat.model.summed_up)
    await talk(chat, 1)
    assert len(chat.model.summed_up) == summed_up
    assert chat.conversation.guards.held
    await talk(chat, 14)
    assert len(chat.model.summed_up) > summed_up
    assert not chat.conversation.guards.held


async def test_idle_time_alone_compresses_a_conversation_of_some_length() -> None:
    chat = Talk(model(window=16_000), CompressionSettings(idle_compact_after_seconds=3_600))
    await talk(chat, 6)
    assert not chat.done
    chat.conversation.spoken = chat.clock - 3_601
    await chat.say("good morning")
    assert [record.occasion for record in chat.done] == ["idle"]


async def test_old_results_are_shortened_early_where_that_is_wanted_and_once() -> None:
    @tool()
    async def read_log(turn: Turn) -> str:
        """Read the log."""
        return GIANT[:40_000]

    def work(messages: Sequence[Message]) -> Completed | str:
        number = len([message for message in messages if message.role == "user"])
        return "read" if messages[-1].role == "tool" else Completed("", (ToolCall(f"c{number}", "read_log"),))

    settings = CompressionSettings(proactive_prune_tokens=15_000, protect_last_n=3)
    chat = Talk(CountingModel(work, window=200_000), settings, FunctionTools([read_log]))
    for number in range(6):
        await chat.say(f"read it {number}")
        chat.check()
    assert {record.occasion for record in chat.done} == {"prune"}
    assert chat.model.summed_up == []
    assert chat.model.tokens(chat.model.asked[-1]) < 45_000


async def test_a_failure_is_told_once_and_its_pause_not_again() -> None:
    """COMP-08."""
    chat = Talk(model(window=16_000, summarise=lambda prompt: AuthFailed("no credit")))
    while not chat.told:
        await talk(chat, 1)
    await talk(chat, 3)
    assert len(chat.told) == 1
    assert "could not be compressed (no credit)" in chat.told[0]


async def test_a_summary_that_failed_once_is_made_once_the_pause_is_over() -> None:
    """COMP-09: first a 504, then fine."""
    failures = [ModelBusy("the endpoint has trouble of its own (504)")]
    chat = Talk(model(summarise=lambda prompt: failures.pop() if failures else summary(prompt)))
    while not chat.done:
        await talk(chat, 1)
    assert [record.outcome for record in chat.done] == ["fallback"]
    assert chat.conversation.guards.block(chat.clock) == "pause"
    chat.clock += 61
    while len(chat.done) < 2:
        await talk(chat, 1)
    assert chat.done[-1].outcome == "summary"
    assert chat.conversation.guards.fallbacks == 0
    assert chat.conversation.guards.failures == 0


async def test_what_is_over_its_limit_and_not_compressed_is_said_once_with_the_ways_out() -> None:
    chat = Talk(model(window=8_000))
    while chat.meter.counted < 6_200:
        await talk(chat, 1)
    chat.conversation.guards = replace(Guards(), ineffective=2, tried=chat.clock)
    while not chat.told:
        await talk(chat, 1)
    await talk(chat, 2)
    (told,) = [text for text in chat.told if "over its limit" in text]
    assert "the last compressions won too little" in told
    assert "/compact" in told
    assert "/new" in told


async def test_a_pause_that_nobody_was_told_of_is_told_with_the_time_left() -> None:
    chat = Talk(model(window=8_000))
    while chat.meter.counted < 6_200:
        await talk(chat, 1)
    chat.conversation.guards = replace(Guards(), until=chat.clock + 300, reason="no credit", cause="refused")
    while not chat.told:
        await talk(chat, 1)
    assert "compressing it failed (no credit); next try in 5 min" in chat.told[0]


async def test_a_turn_tries_no_more_than_it_may() -> None:
    """Failures count, and each turn begins anew."""
    settings = CompressionSettings(max_attempts=2, threshold_tokens=3_000)
    broken = Broken()
    chat = Talk(model(window=100_000), settings, engine=broken)
    await talk(chat, 6)
    assert broken.tried
    window = chat.window()
    before = broken.tried
    for _ in range(6):
        chat.clock += 1_000
        said = [Message("user", PARAGRAPH), Message("assistant", PARAGRAPH)]
        chat.conversation.add(said)
        await chat.rows.write(said)
        async for _ in window.make_room("after answer", 0):
            pass
    assert broken.tried == before + 2


class Broken(ContextEngine):
    """Fails each time."""

    name = "broken"
    due = 3_000
    tried = 0

    async def compress(self, past: Past, order: Order) -> Kept:
        self.tried += 1
        return Kept(reason="broken", failed=True, cause="broken")


async def test_the_log_holds_what_operators_look_for(caplog: pytest.LogCaptureFixture) -> None:
    chat = Talk(model(summarise=lambda prompt: ModelBusy("silent")))
    with caplog.at_level("INFO"):
        while not chat.done:
            await talk(chat, 1)
    said = [record.getMessage() for record in caplog.records]
    assert any(text.startswith("Summary generation was unavailable") for text in said)
    assert any("compression (before turn, fallback) took" in text for text in said)
