"""Calls and results stay together, whatever is cut, stopped, compressed and undone, in whatever order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import aclosing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.agent.context.settings import CompressionSettings
from gateway.agent.history import closing
from gateway.contracts.model import Completed
from gateway.errors import AuthFailed, BadResponse, ContextOverflow, ModelBusy
from gateway.llm.faults import BrokenOff
from gateway.messages import Message, ToolCall, ToolFinished
from gateway.toolkit.function import Tool, tool
from gateway.toolkit.toolset import FunctionTools
from gateway.types import Turn
from tests.fakes.counting import CountingModel, Summarise, summary
from tests.unit.agent.context.talks import Talk

WORDS = ("word ", "天气很好。", "東京 и Москва ", '{"key": 1}\n', "data:image/png;base64," + "iVBORw0KGgo" * 40 + " ")


def saying(sort: str, length: int) -> str:
    return (sort * (1 + length // len(sort)))[:length]


MODES: dict[str, Summarise] = {
    "good": summary,
    "busy": lambda prompt: ModelBusy("silent"),
    "broken off": lambda prompt: BrokenOff("gone"),
    "malformed": lambda prompt: BadResponse("what is this"),
    "refused": lambda prompt: AuthFailed("no credit"),
    "too long": lambda prompt: ContextOverflow("too long"),
    "empty": lambda prompt: "  \n",
    "thoughts alone": lambda prompt: "<think>hm</think>",
    "cut short": lambda prompt: Completed("## Goal\nto", ending="length"),
    "longer": lambda prompt: "## Goal\n" + "on and on " * 20_000,
    "echo": lambda prompt: prompt,
}


def tools_of(seed: random.Random, sizes: Sequence[int]) -> list[Tool]:
    @tool(parallel=True)
    async def look_up(turn: Turn, page: int) -> str:
        """Look a page up."""
        return f"page {page}: {saying(seed.choice(WORDS), seed.choice(sizes))}"

    @tool()
    async def write_down(turn: Turn, text: str) -> str:
        """Write something down."""
        return f"wrote {len(text)}"

    return [look_up, write_down]


class Busy:
    """An agent that calls a drawn number of tools before it answers."""

    def __init__(self, seed: random.Random, rounds: Sequence[int]) -> None:
        self._seed, self._rounds = seed, rounds
        self._left = -1
        self._calls = 0

    def __call__(self, messages: Sequence[Message]) -> Completed | str:
        if messages[-1].role == "user" or self._left < 0:
            self._left = self._seed.choice(self._rounds)
        self._left -= 1
        if self._left < 0:
            return f"done {self._calls}"
        calls = [self._call() for _ in range(self._seed.choice([1, 1, 1, 2, 4]))]
        return Completed(self._seed.choice(["", "", "let me see"]), tuple(calls))

    def _call(self) -> ToolCall:
        self._calls += 1
        if self._seed.random() < 0.7:
            return ToolCall(f"call_{self._calls}", "look_up", f'{{"page": {self._calls}}}')
        return ToolCall(f"call_{self._calls}", "write_down", f'{{"text": "{"x" * self._seed.choice([3, 3_000])}"}}')


def made(seed: int, mode: str, *, window: int, rounds: Sequence[int], sizes: Sequence[int], **more: object) -> Talk:
    chance = random.Random(seed)
    model = CountingModel(Busy(chance, rounds), window=window, summarise=MODES[mode], **more)  # type: ignore[arg-type]
    return Talk(model, CompressionSettings(max_attempts=10), FunctionTools(tools_of(chance, sizes)))


# --- whole conversations; the model refuses whatever a strict provider would, and whatever does not fit


LONG = {
    "coding": {"rounds": [4, 12, 30], "sizes": [200, 3_000, 9_000]},
    "chat": {"rounds": [0, 0, 1], "sizes": [100]},
    "storm": {"rounds": [60, 100], "sizes": [50, 400, 2_000]},
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", LONG)
async def test_a_long_conversation_is_gone_on_with_however_summaries_fail(kind: str, mode: str) -> None:
    talk = made(7, mode, window=24_000, **LONG[kind])
    people = []
    for number in range(12 if kind == "chat" else 5):
        said = f"{saying('请看这封信，第二页要再填一次。', 3_000) if kind == 'chat' else 'do the next thing'} #{number}"
        people.append(said)
        finished = await talk.say(said)
        talk.clock += 400
        assert finished.text
        assert [asked[-1] for asked in talk.model.asked if asked[-1].role == "user"][-1].content.endswith(said)
        talk.check()
    if mode in {"good", "busy", "malformed"} and kind != "chat":
        assert talk.done
    assert [row.message.text for row in talk.rows.said if row.message.role == "user"] == people
    for asked in talk.model.asked:
        words = [message.content for message in asked if message.role == "user"]
        assert words[-1].endswith(tuple(people))


async def test_three_hundred_calls_in_one_turn_fit_a_window_of_32_thousand() -> None:
    talk = made(1, "good", window=32_000, rounds=[300], sizes=[300, 1_500, 6_000])
    finished = await talk.say("look everything up")
    assert finished.text.endswith(f"done {len([row for row in talk.rows.said if row.message.role == 'tool'])}")
    assert len(talk.model.asked) > 300
    assert talk.model.refused <= 1
    assert all(
        [message.content for message in asked if message.role == "user"][-1].endswith("look everything up")
        for asked in talk.model.asked
    )
    talk.check()


# --- anything in any order


STEPS = st.sampled_from(["say", "say", "say", "crash", "stop", "compact", "keep", "undo", "restart", "later", "mode"])


@settings(max_examples=60)
@given(st.data(), st.integers(0, 10_000))
async def test_no_order_of_turns_compressions_crashes_and_undos_breaks_a_conversation(
    data: st.DataObject, seed: int
) -> None:
    mode = data.draw(st.sampled_from(list(MODES)), "summaries")
    talk = made(seed, mode, window=6_000, rounds=[0, 1, 3, 9], sizes=[20, 900, 4_000, 12_000], counts=seed % 2 == 0)
    for number, step in enumerate(data.draw(st.lists(STEPS, min_size=4, max_size=14), "steps")):
        words = f"{saying(random.Random(seed + number).choice(WORDS), 1_500)} #{number}"
        before = [row.message for row in talk.rows.said]
        match step:
            case "say":
                finished = await talk.say(words)
                assert finished.text
            case "crash":
                begun = await _broken(talk, words, data)
                talk.restart(open_end=bool(begun))
                assert (await talk.say(words, resumed=begun)).text
            case "stop":
                begun = await _broken(talk, words, data)
                calls = {call.id for message in begun for call in message.calls}
                said = [*([] if begun else [Message("user", words)]), *closing(begun, calls)]
                await talk.rows.write([*said, Message("assistant", "[stopped]")])
                talk.restart()
            case "compact":
                await talk.command("the page")
            case "keep":
                await talk.command(keep=data.draw(st.integers(0, 3), "keep"))
            case "undo":
                tail = talk.rows.messages[-1:]
                talk.undo()
                assert talk.rows.messages[-1:] == tail
            case "restart":
                talk.restart()
            case "later":
                talk.clock += data.draw(st.sampled_from([1, 61, 301, 1_000]), "seconds")
            case _:
                _changed(talk, step, data)
        assert [row.message for row in talk.rows.said[: len(before)]] == before
        assert all(record.tokens[1] < record.tokens[0] for record in talk.done)
        talk.check()


def _changed(talk: Talk, step: str, data: st.DataObject) -> None:
    """Have summaries come out otherwise from now on, or old results shortened early."""
    if step == "mode":
        talk.model.summarise = MODES[data.draw(st.sampled_from(list(MODES)), "summaries")]
        return
    wanted = {
        "proactive_prune_tokens": data.draw(st.sampled_from([0, 1, 3_000]), "prune"),
        "proactive_prune_min_result_chars": 500,
        "proactive_prune_min_reclaim_tokens": 100,
    }
    talk.settings = talk.settings.model_copy(update=wanted)
    talk.restart()


async def _broken(talk: Talk, words: str, data: st.DataObject) -> list[Message]:
    """Begin a turn and break it off after some results; return what of it is stored."""
    results = data.draw(st.integers(0, 4), "results")
    before = len(talk.rows.said)
    async with aclosing(talk.running(words)) as report:
        async for progress in report:
            results -= isinstance(progress, ToolFinished)
            if results < 0:
                break
    return [row.message for row in talk.rows.said[before:]]


async def test_results_that_lost_their_call_ids_are_told_apart_by_their_turn() -> None:
    """Some models begin to count their calls anew with every answer."""

    def work(messages: Sequence[Message]) -> Completed | str:
        if messages[-1].role == "user":
            return Completed("", (ToolCall("call_0", "look_up", '{"page": 1}'), ToolCall("call_0", "look_up", "{}")))
        return "done"

    talk = made(3, "good", window=6_000, rounds=[1], sizes=[4_000])
    talk.model._answer = work
    for number in range(12):
        await talk.say(f"again {number}")
        talk.check()
    assert talk.done


async def test_a_model_that_counts_its_calls_anew_with_every_answer_gets_on_in_a_turn_of_any_length() -> None:
    """Also where the calls that had the same ids are compressed already."""
    done = [0]

    def work(messages: Sequence[Message]) -> Completed | str:
        done[0] += 1
        return Completed("", (ToolCall("call_0", "look_up", '{"page": 1}'),)) if done[0] <= 40 else "done"

    talk = made(3, "good", window=6_000, rounds=[1], sizes=[4_000])
    talk.model._answer = work
    assert (await talk.say("look it all up")).text == "done"
    assert len(talk.rows.begun) == 40
    assert talk.done
    talk.check()


@pytest.mark.parametrize("mode", MODES)
async def test_three_hundred_calls_in_one_turn_come_to_an_end_however_summaries_fail(mode: str) -> None:
    talk = made(1, mode, window=32_000, rounds=[300], sizes=[300, 1_500, 6_000])
    finished = await talk.say("look everything up")
    assert finished.text
    for asked in talk.model.asked:
        assert [message.content for message in asked if message.role == "user"][-1].endswith("look everything up")
    talk.check()
