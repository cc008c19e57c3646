"""Failures that users of such gateways reported about long conversations, as one person meets them; codes by case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from gateway.agent.context.beginnings import SUMMARY
from gateway.agent.memory.settings import MemorySettings
from gateway.agent.tools.files import file_tools
from gateway.contracts.model import Completed
from gateway.messages import Message, ToolCall
from gateway.toolkit.function import tool
from gateway.types import Turn
from tests.fakes.counting import CountingModel
from tests.flow.conftest import House

SENTENCE = "The letter about the tax form says that the second page has to be filled in again, and by hand. "
TASK = "Steps: 1 read, 2 compare, 3 write, 4 check, 5 report. Do all of plan OSTRICH."


def asked_for(messages: Sequence[Message]) -> bool:
    """Say whether the task is there as the person's words: alone, or behind the summary that stands before it."""
    return any(message.role == "user" and message.content.endswith(TASK) for message in messages)


def worker(steps: int) -> CountingModel:
    """Looks two pages up at each step of the task, says so in the end, and else repeats the end of what was said."""
    done = 0

    def answer(messages: Sequence[Message]) -> Completed | str:
        nonlocal done
        if not asked_for(messages):
            return f"heard {messages[-1].content[-20:].strip()}"
        if done < steps:
            done += 1
            calls = (ToolCall(f"{done}a", "look_up", '{"page": 1}'), ToolCall(f"{done}b", "look_up", '{"page": 2}'))
            return Completed("", calls)
        return "all done" if messages[-1].role == "tool" else f"heard {messages[-1].content[-20:].strip()}"

    return CountingModel(answer)


@tool()
async def look_up(turn: Turn, page: int) -> str:
    """Look a page up."""
    return f"page {page}: {SENTENCE * 12}"


@pytest.fixture
def small(small: House) -> House:
    small.platform.limits = replace(small.platform.limits, text=400_000)
    small.change(memory=MemorySettings(nudge_interval=0, flush_min_turns=0), edit_every=None)
    small.give_tools([look_up, *file_tools()])
    return small


def take(house: House, model: CountingModel) -> CountingModel:
    house.models[""] = model
    return model


async def test_one_question_and_sixty_steps_are_compressed_again_and_again_and_the_question_stays(small: House) -> None:
    """COMP-02, PAIR-01: every request is checked by the strict model, which refuses unmatched ids and no question."""
    model = take(small, worker(steps=60))
    async with small.running() as platform:
        platform.say(TASK)
        await platform.sees("all done")
        platform.say("/compact here 1")
        await platform.until(lambda: len(platform.texts()) == 2, "what became of /compact")
    async with small.running() as platform:
        platform.say("and after a restart?")
        await platform.sees("heard and after a restart?")
    assert len(model.summed_up) >= 2
    assert model.refused == 0
    assert all(asked_for(asked) for asked in model.asked[:61])


async def test_a_summary_that_forgets_the_steps_leaves_the_task_and_the_newest_results_as_they_were(
    small: House,
) -> None:
    """COMP-13."""
    model = take(small, worker(steps=8))
    model.summarise = lambda prompt: "Some things were talked about."
    async with small.running() as platform:
        for number in range(5):
            platform.say(f"{SENTENCE * 30} old {number}")
            await platform.sees(f"old {number}")
        platform.say(TASK)
        await platform.sees("all done")
    last = model.asked[-1]
    assert any(SUMMARY in message.content for message in last)
    assert asked_for(last)
    assert SENTENCE * 12 in last[-1].content
    assert "## Completed Actions" in model.summed_up[0]
    assert "## Active Task" in model.summed_up[0]


async def test_a_paste_longer_than_the_window_is_told_and_what_is_said_next_is_answered(small: House) -> None:
    """COMP-12."""
    model = take(small, worker(steps=0))
    async with small.running() as platform:
        platform.say(f"{SENTENCE * 3_000} sum this up")
        await platform.sees("does not fit the model's window")
        platform.say("hi there")
        await platform.sees("heard hi there")
        platform.say("/compress")
        platform.say("hi again")
        await platform.sees("heard hi again")
    assert model.tokens(model.asked[-1]) < model.window


async def test_a_file_larger_than_the_window_costs_no_answer(small: House) -> None:
    """MEDIA-05: a megabyte at a window of 8,000 tokens; the kinds of files are in tests/unit/agent/references."""
    model = take(small, worker(steps=0))
    (small.plans[0].home / "big.txt").write_text(SENTENCE * 10_500)
    async with small.running() as platform:
        platform.say("@file:big.txt what is it about?")
        await platform.sees("only their beginnings were attached")
        await platform.until(lambda: len(platform.texts()) == 2, "the answer")
    assert model.asked[-1][-1].content.startswith("@file:big.txt what is it about?")
    assert SENTENCE in model.asked[-1][-1].content
    assert model.refused == 0
