"""When the next model is asked, and what is shown meanwhile."""

from __future__ import annotations

import pytest

from gateway.contracts.model import Completed
from gateway.errors import AuthFailed, BadResponse, ContextOverflow, ModelBusy, ModelError, ModelRefused
from gateway.llm.fallback import FallbackModel
from gateway.llm.faults import ModelUnknown
from gateway.llm.scripted import Breaks, ScriptedModel
from gateway.messages import Message, Retracted, TextDelta

HELLO = [Message("user", "hello")]
YES = Completed("yes")


@pytest.mark.parametrize("error", [ModelBusy("x"), AuthFailed("x"), BadResponse("x"), ModelUnknown("x")])
async def test_the_next_is_asked_where_it_may_do_better(error: ModelError) -> None:
    first, second = ScriptedModel(error), ScriptedModel(YES)
    assert await FallbackModel(first, second).complete(HELLO) == YES
    assert second.asked == [tuple(HELLO)]


@pytest.mark.parametrize("error", [ModelRefused("x"), ContextOverflow("x")])
async def test_the_next_is_not_asked_what_it_would_refuse_too(error: ModelError) -> None:
    second = ScriptedModel(YES)
    with pytest.raises(type(error)):
        await FallbackModel(ScriptedModel(error), second).complete(HELLO)
    assert second.asked == []


async def test_what_the_first_has_shown_is_taken_back() -> None:
    model = FallbackModel(ScriptedModel(Breaks("no wait", BadResponse("cut"))), ScriptedModel(YES))
    assert [piece async for piece in model.stream(HELLO)] == [
        TextDelta("no"),
        TextDelta(" wait"),
        Retracted("cut"),
        TextDelta("yes"),
        YES,
    ]


async def test_what_was_taken_back_already_is_not_taken_back_again() -> None:
    class Fickle(ScriptedModel):
        async def stream(self, messages, tools=()):  # type: ignore[no-untyped-def]
            yield TextDelta("a")
            yield Retracted("again")
            raise ModelBusy("x")

    pieces = [piece async for piece in FallbackModel(Fickle(), ScriptedModel(YES)).stream(HELLO)]
    assert pieces == [TextDelta("a"), Retracted("again"), TextDelta("yes"), YES]


async def test_the_next_call_begins_with_the_first_again() -> None:
    first, second = ScriptedModel(ModelBusy("x"), Completed("first")), ScriptedModel(YES)
    model = FallbackModel(first, second)
    assert (await model.complete(HELLO)).text == "yes"
    assert (await model.complete(HELLO)).text == "first"


async def test_where_all_fail_the_last_failure_goes_up() -> None:
    model = FallbackModel(*(ScriptedModel(ModelBusy(word)) for word in ("one", "two", "three")))
    with pytest.raises(ModelBusy, match="three"):
        await model.complete(HELLO)


def test_its_name_and_window_are_the_firsts() -> None:
    model = FallbackModel(ScriptedModel(name="big", window=100_000), ScriptedModel(name="small", window=10))
    assert (model.name, model.window) == ("big", 100_000)


async def test_all_are_entered_and_left() -> None:
    doors: list[str] = []

    class Door(ScriptedModel):
        async def __aenter__(self) -> Door:
            doors.append(f"in {self.name}")
            return self

        async def __aexit__(self, *_: object) -> None:
            doors.append(f"out {self.name}")

    async with FallbackModel(Door(name="a"), Door(name="b")):
        assert doors == ["in a", "in b"]
    assert doors == ["in a", "in b", "out b", "out a"]


async def test_a_window_of_the_first_that_shrank_by_an_overflow_is_seen_at_once() -> None:
    first = ScriptedModel(ContextOverflow("x", limit=4096))
    model = FallbackModel(first, ScriptedModel(YES))
    first.window = 4096
    with pytest.raises(ContextOverflow):
        await model.complete(HELLO)
    assert model.window == 4096
