"""The agent's hands: calls in order, side by side, cut off by a crash, wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from gateway.agent.history import INTERRUPTED, NOT_BEGUN
from gateway.contracts.model import Completed
from gateway.messages import Message, ToolCall
from gateway.toolkit.function import Tool, tool
from tests.fakes.model import DrivenModel
from tests.flow.conftest import House


def calling(*calls: ToolCall, then: str = "done") -> DrivenModel:
    """A model that calls once, and then tells what it got."""

    def answer(messages: Sequence[Message]) -> Completed | str:
        results = [message.text for message in messages if message.role == "tool"]
        return f"{then}: {' | '.join(results)}" if results else Completed("Let me look.", calls)

    return DrivenModel(answer)


def counter(counts: list[str], *, parallel: bool = False, repeatable: bool = False, name: str = "count") -> Tool:
    """A tool that remembers how often it really ran."""

    @tool(name=name, parallel=parallel, repeatable=repeatable)
    async def count(word: str) -> str:
        """Count a word.

        Args:
            word: The word.
        """
        counts.append(word)
        return f"counted {word}"

    return count


async def test_calls_run_in_order_and_their_results_reach_the_model(house: House) -> None:
    counts: list[str] = []
    house.give_tools([counter(counts)])
    house.models[""] = calling(ToolCall("1", "count", '{"word":"a"}'), ToolCall("2", "count", '{"word":"b"}'))
    async with house.running() as chat:
        chat.say("count")
        await chat.sees("done: counted a | counted b")
        chat.say("again")
        await chat.until(lambda: len(house.model.asked) == 3, "the second turn")
    assert counts == ["a", "b"]


async def test_calls_that_are_safe_side_by_side_run_so_and_keep_their_order(house: House) -> None:
    both = asyncio.Barrier(2)

    @tool(parallel=True)
    async def meet(word: str) -> str:
        """Wait for the other."""
        await both.wait()
        if word == "a":
            await asyncio.sleep(0.02)
        return f"met {word}"

    house.give_tools([meet])
    house.models[""] = calling(ToolCall("1", "meet", '{"word":"a"}'), ToolCall("2", "meet", '{"word":"b"}'))
    async with house.running() as chat:
        chat.say("meet")
        await chat.sees("done: met a | met b")
    async with house.running() as chat:
        chat.say("again")
        await chat.until(lambda: len(house.model.asked) == 3, "the turn after a restart")
    assert house.model.asked[2][: len(house.model.asked[1])] == house.model.asked[1]


async def test_unknown_tools_and_wrong_arguments_are_answers_that_say_what_to_do(house: House) -> None:
    house.give_tools([counter([])])
    house.models[""] = calling(
        ToolCall("1", "cuont", "{}"), ToolCall("2", "count", '{"wrong":1}'), ToolCall("3", "count", "not json")
    )
    async with house.running() as chat:
        chat.say("count")
        await chat.sees("done: ")
    results = [message.text for message in house.model.asked[-1] if message.role == "tool"]
    assert "count" in results[0]
    assert "word" in results[1]
    assert "JSON" in results[2]


async def test_a_model_that_repeats_call_ids_leaves_a_history_that_can_be_replayed(house: House) -> None:
    counts: list[str] = []
    house.give_tools([counter(counts)])

    def answer(messages: Sequence[Message]) -> Completed | str:
        results = sum(message.role == "tool" for message in messages)
        return "done" if results == 2 else Completed("", (ToolCall("call_0", "count", '{"word":"a"}'),))

    house.models[""] = DrivenModel(answer)
    async with house.running() as chat:
        chat.say("count")
        await chat.sees("done")
    assert counts == ["a", "a"]


async def test_at_the_step_limit_the_model_is_asked_once_more_without_tools_for_a_summary(house: House) -> None:
    house.change(max_steps=3)
    house.give_tools([counter([])])

    def answer(messages: Sequence[Message]) -> Completed | str:
        if "used all 3 steps" in messages[-1].content:
            return "I counted three times; the rest is left."
        return Completed("", (ToolCall(f"c{len(messages)}", "count", '{"word":"a"}'),))

    house.models[""] = DrivenModel(answer)
    async with house.running() as chat:
        chat.say("count for ever")
        await chat.sees("I counted three times; the rest is left.")
        chat.say("hello")
        await chat.until(lambda: len(house.model.asked) > 4, "the next turn")
    assert [message.text for message in house.model.asked[-1] if message.role == "user"] == ["count for ever", "hello"]


async def test_a_call_cut_off_by_a_crash_is_not_run_again_and_the_others_are(house: House) -> None:
    counts: list[str] = []
    reached, never = asyncio.Event(), asyncio.Event()

    @tool()
    async def slow() -> str:
        """Take for ever."""
        counts.append("slow")
        reached.set()
        await never.wait()
        return "never"

    house.give_tools([counter(counts, name="before"), slow, counter(counts, name="after")])
    house.models[""] = calling(
        ToolCall("1", "before", '{"word":"a"}'), ToolCall("2", "slow"), ToolCall("3", "after", '{"word":"b"}')
    )
    async with house.running(kill=True) as chat:
        chat.say("do it")
        await reached.wait()
    async with house.running() as chat:
        await chat.sees("counted b")
        await chat.is_quiet()
        assert "done: counted a | [interrupted" in "".join(chat.texts())
    assert counts == ["a", "slow", "b"]


async def test_a_repeatable_call_cut_off_by_a_crash_runs_again(house: House) -> None:
    counts: list[str] = []
    reached, never = asyncio.Event(), asyncio.Event()

    @tool(repeatable=True)
    async def look() -> str:
        """Look."""
        counts.append("look")
        if len(counts) == 1:
            reached.set()
            await never.wait()
        return "blue"

    house.give_tools([look])
    house.models[""] = calling(ToolCall("1", "look"))
    async with house.running(kill=True) as chat:
        chat.say("which colour is the sky?")
        await reached.wait()
    async with house.running() as chat:
        await chat.sees("done: blue")
    assert counts == ["look", "look"]


async def test_stop_between_two_calls_leaves_a_history_that_can_be_used_at_once(house: House) -> None:
    reached, never = asyncio.Event(), asyncio.Event()

    @tool()
    async def slow() -> str:
        """Take for ever."""
        reached.set()
        await never.wait()
        return "never"

    house.give_tools([counter([]), slow])
    house.models[""] = calling(ToolCall("1", "count", '{"word":"a"}'), ToolCall("2", "slow"), then="later")
    async with house.running() as chat:
        chat.say("do it")
        await reached.wait()
        chat.say("/stop")
        await chat.sees("Stopped.")
        chat.say("hello")
        await chat.sees("later: counted a | [interrupted")


async def test_a_tool_with_a_bug_is_an_answer_and_not_the_end_of_the_turn(house: House) -> None:
    @tool()
    async def broken() -> str:
        """Fail."""
        raise ZeroDivisionError

    house.give_tools([broken])
    house.models[""] = calling(ToolCall("1", "broken"))
    async with house.running() as chat:
        chat.say("do it")
        await chat.sees("done: ")


async def test_stop_tells_a_call_that_was_cut_off_from_one_that_never_began(house: House) -> None:
    began = asyncio.Event()

    @tool()
    async def dig(word: str) -> str:
        """Dig.

        Args:
            word: Where.
        """
        began.set()
        await asyncio.Event().wait()
        return word

    house.give_tools([dig])
    house.models[""] = calling(ToolCall("1", "dig", '{"word":"here"}'), ToolCall("2", "dig", '{"word":"there"}'))
    async with house.running() as chat:
        chat.say("dig here and there")
        await began.wait()
        chat.say("/stop")
        await chat.sees("Stopped.")
        chat.say("what happened?")
        await chat.sees(f"done: {INTERRUPTED} | {NOT_BEGUN}")
