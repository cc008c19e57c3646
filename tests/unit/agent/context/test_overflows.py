"""A request that was too long is made shorter and asked again, in whatever way an endpoint says so."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

import pytest

from gateway.agent.context.settings import CompressionSettings
from gateway.agent.context.window import LEFT_OUT
from gateway.contracts.model import Completed, ModelPiece
from gateway.contracts.tool import ToolSpec
from gateway.errors import AuthFailed, BadResponse, ContextOverflow, ModelBusy, ModelError
from gateway.llm.faults import ModelUnreachable
from gateway.messages import Message, Usage
from tests.fakes.counting import CountingModel
from tests.unit.agent.context.talks import PARAGRAPH, Talk


def fine(messages: Sequence[Message]) -> str:
    return "fine"


class Blunt(CountingModel):
    """An endpoint whose window is smaller than it says, and that tells so in its own way."""

    def __init__(self, way: ModelError | Completed) -> None:
        super().__init__(fine, window=12_000, counts=False)
        self.way, self.told = way, 0

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> AsyncGenerator[ModelPiece, None]:
        if messages[0].role == "system" and self.tokens(messages, tools) > 8_500:
            self.told += 1
            if isinstance(self.way, ModelError):
                raise self.way
            yield self.way
            return
        async for piece in super().stream(messages, tools):
            yield piece


WAYS: dict[str, ModelError | Completed] = {
    "words": ContextOverflow("the conversation does not fit the window"),
    "a page that says 500": ModelBusy("the endpoint has trouble of its own (500)"),
    "an answer that is none": BadResponse("the endpoint broke off its answer"),
    "no room for an answer": Completed("", ending="length", usage=Usage(8_500, 0)),
}


@pytest.mark.parametrize("way", WAYS)
async def test_the_conversation_is_compressed_and_the_message_answered(way: str) -> None:
    """TOK-01: however the endpoint says that the request was too long."""
    model = Blunt(WAYS[way])
    talk = Talk(model)
    for number in range(16):
        assert (await talk.say(f"{PARAGRAPH} #{number}")).text == "fine"
        talk.check()
    assert model.told >= 1
    assert {record.occasion for record in talk.done} >= {"overflow"}
    assert talk.told == []


@pytest.mark.parametrize("error", [ModelUnreachable("there was no connection"), AuthFailed("no credit")])
async def test_what_has_nothing_to_do_with_the_length_compresses_nothing(error: ModelError) -> None:
    talk = Talk(Blunt(error))
    for number in range(15):
        finished = await talk.say(f"{PARAGRAPH} #{number}")
    assert finished.problem
    assert talk.done == []


async def test_trouble_with_a_short_conversation_compresses_nothing() -> None:
    def broken(messages: Sequence[Message]) -> str:
        raise ModelBusy("the endpoint has trouble of its own (500)")

    talk = Talk(CountingModel(broken))
    finished = await talk.say("hi")
    assert "trouble of its own" in finished.text
    assert talk.rows.records == []


async def test_where_it_is_off_even_an_overflow_compresses_nothing() -> None:
    talk = Talk(Blunt(WAYS["words"]), CompressionSettings(enabled=False))
    for number in range(15):
        finished = await talk.say(f"{PARAGRAPH} #{number}")
    assert "does not fit" in finished.text
    assert "/compact" in finished.text
    assert talk.rows.records == []


async def test_where_nothing_can_be_compressed_the_newer_half_is_sent_and_one_is_told_once() -> None:
    """A key that is refused for summaries leaves everything as it is, and the person has an answer all the same."""
    talk = Talk(CountingModel(fine, summarise=lambda prompt: AuthFailed("no credit")))
    for number in range(24):
        assert (await talk.say(f"{PARAGRAPH} #{number}")).text == "fine"
        talk.clock += 1
    assert talk.told.count(LEFT_OUT) == 1
    assert len(talk.told) <= 3
    assert not any(view.summary for view in talk.rows.views)


async def test_a_conversation_from_a_larger_model_is_compressed_for_a_smaller_one() -> None:
    """COMP-12: longer than the window of whoever writes the summary, too."""
    talk = Talk(CountingModel(fine, window=100_000))
    for number in range(60):
        await talk.say(f"{PARAGRAPH} #{number}")
    assert talk.done == []
    talk.model = CountingModel(fine, window=8_000, name="small")
    talk.restart()
    assert (await talk.say("hi")).text == "fine"
    assert talk.model.asked[-1][-1].content == "hi"
    assert [record.outcome for record in talk.done] == ["summary"]
    assert talk.model.refused == 0
    talk.check()


async def test_one_paste_that_fills_the_window_is_answered_and_then_summed_up() -> None:
    """COMP-12."""
    talk = Talk(CountingModel(fine, window=100_000))
    assert (await talk.say("a line of the log\n" * 12_000)).text == "fine"
    assert (await talk.say("hi")).text == "fine"
    talk.check()
    assert talk.model.tokens(talk.model.asked[-1]) < 75_000


@pytest.mark.parametrize("error", [ModelBusy("503"), BadResponse("nonsense")])
async def test_an_outage_changes_nothing_of_a_long_conversation(error: ModelError) -> None:
    """What an endpoint does not explain may be the length; but where no summary can be had either, it is an outage."""
    out: list[ModelError] = []

    def working(messages: Sequence[Message]) -> str:
        if out:
            raise out[0]
        return "fine"

    talk = Talk(CountingModel(working, window=12_000, summarise=lambda prompt: out[0]))
    while talk.meter.counted < 9_000:
        await talk.say(f"{PARAGRAPH} #{len(talk.model.asked)}")
    out.append(error)
    finished = await talk.say("are you there?")
    assert str(error) in finished.text
    assert talk.rows.records == []
    assert talk.told == []
    out.clear()
    assert (await talk.say("and now?")).text == "fine"
    assert talk.done == []
    talk.check()
