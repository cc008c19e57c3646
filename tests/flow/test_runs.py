"""What a caller that comes back hears of what it has sent."""

from __future__ import annotations

import pytest

from gateway.app.runs import run_of
from gateway.contracts.adapter import Run
from gateway.errors import ModelRefused
from gateway.types import Address, Event, Sender
from tests.fakes.model import DrivenModel
from tests.flow.conftest import House


async def test_a_run_is_followed_to_its_answer(house: House) -> None:
    house.model.gate.clear()
    async with house.running() as chat:
        id = chat.say("hello")
        await house.model.begun.wait()
        assert await run_of(house.database, "fake", id) == Run("running")
        house.model.gate.set()
        await chat.sees("you said: hello")
        assert await run_of(house.database, "fake", id) == Run("done", "you said: hello")
        assert await run_of(house.database, "fake", "never") is None


async def test_a_run_without_an_answer_says_why(small: House) -> None:
    def refuse(_: object) -> str:
        raise ModelRefused("the model is asleep")

    small.models[""] = DrivenModel(refuse)
    async with small.running() as chat:
        id = chat.say("hello")
        await chat.sees("the model is asleep")
        run = await run_of(small.database, "fake", id)
    assert run is not None
    assert (run.state, run.answer) == ("failed", "")
    assert "the model is asleep" in run.problem


async def test_a_run_that_was_dropped_says_so(small: House) -> None:
    small.model.gate.clear()
    async with small.running() as chat:
        id = chat.say("a long story")
        await small.model.begun.wait()
        chat.say("/stop")
        await chat.sees("Stopped.")
        run = await run_of(small.database, "fake", id)
        small.model.gate.set()
    assert run is not None
    assert run.state == "dropped"
    assert run.problem


@pytest.mark.parametrize("text", ["hello", "/status"])
async def test_whoever_brings_an_event_hears_whether_it_is_new(small: House, text: str) -> None:
    event = Event(id="e1", origin=Address(platform="fake", chat="ann"), sender=Sender("ann", "Ann"), text=text)
    async with small.running():
        accept = small.gateways[0].intake.accept
        assert [await accept(event), await accept(event)] == [True, False]
