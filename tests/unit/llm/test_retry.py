"""When a model is asked again, after how long, and what is shown meanwhile."""

from __future__ import annotations

from contextlib import aclosing

import pytest

from gateway.contracts.model import Completed, ModelPiece
from gateway.errors import AuthFailed, BadResponse, ContextOverflow, ModelBusy, ModelError, ModelRefused
from gateway.llm.retry import RetryingModel
from gateway.llm.scripted import Breaks, Line, ScriptedModel
from gateway.messages import Message, Retracted, TextDelta, ToolCall, Usage

HELLO = [Message("user", "hello")]
YES = Completed("well yes", usage=Usage(10, 2, 5))


class Asked:
    """A retrying model over a script, whose pauses are noted instead of waited for; chance is always the most."""

    def __init__(self, *script: Line, tries: int = 3) -> None:
        self.script = ScriptedModel(*script)
        self.pauses: list[float] = []
        self.model = RetryingModel(self.script, tries, sleep=self._sleep, chance=lambda top: top)

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    async def heard(self) -> list[ModelPiece]:
        return [piece async for piece in self.model.stream(HELLO)]


def texts(pieces: list[ModelPiece]) -> list[str]:
    return [piece.text if isinstance(piece, TextDelta) else type(piece).__name__ for piece in pieces]


async def test_what_goes_well_is_passed_on_as_it_is() -> None:
    asked = Asked(YES)
    assert await asked.heard() == [TextDelta("well"), TextDelta(" yes"), YES]
    assert asked.pauses == []


async def test_pauses_grow_with_full_jitter() -> None:
    asked = Asked(ModelBusy("a"), ModelBusy("b"), ModelBusy("c"), YES, tries=4)
    assert texts(await asked.heard()) == ["well", " yes", "Completed"]
    assert asked.pauses == [0.5, 1.0, 2.0]


async def test_the_endpoints_own_time_is_honoured_with_jitter_on_top() -> None:
    asked = Asked(ModelBusy("a", retry_after=20.0), ModelBusy("b", retry_after=0.0), YES)
    await asked.heard()
    assert asked.pauses == [20.5, 1.0]


async def test_a_time_too_long_is_not_waited_for() -> None:
    asked = Asked(ModelBusy("come back tomorrow", retry_after=3600.0), YES)
    with pytest.raises(ModelBusy, match="tomorrow"):
        await asked.heard()
    assert asked.pauses == []


async def test_the_last_failure_goes_up() -> None:
    asked = Asked(ModelBusy("first"), BadResponse("second"), ModelBusy("third"))
    with pytest.raises(ModelBusy, match="third"):
        await asked.heard()
    assert len(asked.script.asked) == 3


async def test_what_was_shown_is_taken_back_before_asking_again() -> None:
    asked = Asked(Breaks("well n", BadResponse("cut off")), YES)
    assert await asked.heard() == [
        TextDelta("well"),
        TextDelta(" n"),
        Retracted("cut off"),
        TextDelta("well"),
        TextDelta(" yes"),
        YES,
    ]


async def test_where_nothing_was_shown_nothing_is_taken_back() -> None:
    asked = Asked(BadResponse("cut off"), YES)
    assert texts(await asked.heard()) == ["well", " yes", "Completed"]


async def test_an_empty_answer_is_asked_for_once_more_and_its_tokens_count() -> None:
    asked = Asked(Completed("", usage=Usage(10, 0)), YES, tries=5)
    assert (await asked.heard())[-1] == Completed("well yes", usage=Usage(20, 2, 5), read=10)


async def test_a_second_empty_answer_is_the_answer() -> None:
    asked = Asked(Completed("\n"), Completed(" "), YES, tries=5)
    assert await asked.heard() == [
        TextDelta("\n"),
        Retracted("the answer was empty"),
        TextDelta(" "),
        Completed(" "),
    ]


@pytest.mark.parametrize(
    "answer",
    [Completed("", ending="filter"), Completed("", ending="length"), Completed("", (ToolCall("1", "t"),))],
)
async def test_an_answer_without_text_that_would_come_again_is_not_asked_for_again(answer: Completed) -> None:
    asked = Asked(answer)
    assert await asked.heard() == [answer]


@pytest.mark.parametrize("error", [AuthFailed("x"), ModelRefused("x"), ContextOverflow("x")])
async def test_what_asking_again_cannot_help_goes_up_at_once(error: ModelError) -> None:
    asked = Asked(error, YES)
    with pytest.raises(type(error)):
        await asked.heard()
    assert len(asked.script.asked) == 1


async def test_leaving_the_stream_leaves_the_model_behind_it() -> None:
    left: list[bool] = []

    class Watched(ScriptedModel):
        async def stream(self, messages, tools=()):  # type: ignore[no-untyped-def]
            try:
                yield TextDelta("a")
                yield TextDelta("b")
            finally:
                left.append(True)

    async with aclosing(RetryingModel(Watched()).stream(HELLO)) as stream:
        await anext(stream)
        assert not left
    assert left == [True]


async def test_the_model_behind_is_entered_left_and_shown() -> None:
    class Late(ScriptedModel):
        async def __aenter__(self) -> Late:
            self.name, self.window = "found", 77
            return self

        async def __aexit__(self, *_: object) -> None:
            self.name = "left"

    inner = Late()
    async with RetryingModel(inner) as model:
        assert (model.name, model.window, model.demo) == ("found", 77, False)
    assert inner.name == "left"


async def test_a_window_that_shrank_by_an_overflow_is_seen_at_once() -> None:
    asked = Asked(ContextOverflow("x", limit=4096))
    asked.script.window = 4096
    with pytest.raises(ContextOverflow):
        await asked.heard()
    assert asked.model.window == 4096
