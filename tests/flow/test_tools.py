"""The agent's hands: calls in order, side by side, cut off by a crash, wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from sqlalchemy import select

from gateway.agent.history import INTERRUPTED, NOT_BEGUN
from gateway.app.process import Mind
from gateway.contracts.model import Completed
from gateway.messages import Message, ToolCall
from gateway.storage.tables import messages
from gateway.toolkit.function import Tool, tool
from gateway.turns import TurnSettings
from gateway.types import Turn
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


@pytest.mark.parametrize("stubborn", [False, True], ids=["a tool that gives way", "a tool that ends all the same"])
async def test_new_cancels_the_tool_that_runs_and_its_late_answer_is_in_neither_conversation(
    house: House, stubborn: bool
) -> None:
    counts: list[str] = []
    began, cancelled = asyncio.Event(), asyncio.Event()

    @tool()
    async def dig() -> str:
        """Dig."""
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            if not stubborn:
                raise
        return "a late treasure"

    house.give_tools([dig, counter(counts)])
    house.models[""] = calling(ToolCall("1", "dig"), ToolCall("2", "count", '{"word":"after"}'))
    async with house.running() as chat:
        chat.say("dig, and count")
        await began.wait()
        chat.say("/new")
        await chat.sees("A new conversation begins. Stopped.")
        await cancelled.wait()
        await chat.is_quiet()
        house.models[""] = DrivenModel()
        chat.say("hello")
        await chat.sees("you said: hello")
        kept = await house.database.read(lambda connection: connection.scalars(select(messages.c.text)).all())
    assert [message.text for message in house.model.asked[-1][1:]] == ["hello"]
    assert "dig, and count" in kept
    assert not any("late treasure" in text or "counted" in text for text in [*kept, *chat.texts()])
    assert counts == []


async def test_a_tool_that_fails_at_once_before_a_model_without_words_still_gets_the_person_a_sentence(
    house: House,
) -> None:
    """PAIR-05."""

    @tool()
    async def look() -> str:
        """Look."""
        raise TimeoutError

    house.give_tools([look])
    answers = [Completed("", (ToolCall("1", "look"),)), Completed("")]
    house.models[""] = DrivenModel(lambda said: answers.pop(0) if answers else "here I am")
    async with house.running() as chat:
        chat.say("look")
        await chat.sees("The model gave an empty answer")
        await chat.is_quiet()
        chat.say("and now?")
        await chat.sees("here I am")
        await chat.is_quiet()
        assert len(chat.texts()) == 2


@dataclass
class RoomyHouse(House):
    """Gives each conversation a folder of its own, as the gateway does; `folders` says which."""

    folders: dict[str, Path] = field(default_factory=dict)

    def _mind(self) -> Mind:
        return replace(
            super()._mind(),
            workspace=lambda session, address: self.folders.setdefault(
                address.chat, self.plans[0].home / address.chat / session
            ),
        )


async def test_each_of_many_turns_that_run_at_once_has_a_tool_see_its_own_conversation(house: House) -> None:
    many, at_once = 100, 50
    roomy = RoomyHouse(house.plans, house.platform, house.models)
    roomy.change(turns=TurnSettings(max_concurrent=at_once), edit_every=None)
    meet = asyncio.Barrier(at_once)

    @tool()
    async def where(turn: Turn, word: str) -> str:
        """Say where we are.

        Args:
            word: Who asks.
        """
        await meet.wait()
        return f"{word} {turn.target.chat} {turn.session_id} {turn.workspace}"

    def answer(said: Sequence[Message]) -> Completed | str:
        last = said[-1]
        if last.role == "tool":
            return last.text
        return Completed("", (ToolCall("1", "where", f'{{"word":"{last.text}"}}'),))

    roomy.give_tools([where])
    roomy.models[""] = DrivenModel(answer)
    chats = [f"chat{number}" for number in range(many)]
    async with roomy.running() as chat:
        for name in chats:
            chat.say(f"of-{name}", name)
        await chat.until(lambda: all(chat.texts(name) for name in chats), "an answer in each chat")
    for name in chats:
        folder = roomy.folders[name]
        assert " ".join(chat.texts(name)) == f"of-{name} {name} {folder.name} {folder}"
    assert len({folder.name for folder in roomy.folders.values()}) == many
