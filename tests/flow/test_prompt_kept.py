"""What a conversation began with stays to the byte, whatever goes wrong in it and whatever changes around it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from gateway.agent.prompt.chat import day_of
from gateway.contracts.model import Completed
from gateway.messages import ToolCall
from gateway.toolkit.function import tool
from gateway.types import Address, Event, Sender
from tests.fakes.model import DrivenModel
from tests.flow.conftest import House


def prompts(house: House) -> set[str]:
    return {asked[0].content for asked in house.model.asked}


def soul(house: House, text: str) -> None:
    (house.plans[0].home / "SOUL.md").write_text(text)
    (house.plans[0].home / "AGENTS.md").write_text(f"Rule of {text}")


async def test_a_crash_within_the_first_turn_changes_nothing(small: House) -> None:
    reached, never = asyncio.Event(), asyncio.Event()

    @tool(repeatable=True)
    async def look() -> str:
        """Look."""
        if not reached.is_set():
            reached.set()
            await never.wait()
        return "blue"

    small.give_tools([look])
    small.models[""] = DrivenModel(
        lambda said: "it is blue" if said[-1].role == "tool" else Completed("Let me look.", (ToolCall("1", "look"),))
    )
    soul(small, "one")
    async with small.running(kill=True) as chat:
        chat.say("what colour?")
        await reached.wait()
    soul(small, "two")
    async with small.running() as chat:
        await chat.sees("it is blue")
    soul(small, "three")
    async with small.running() as chat:
        chat.say("again")
        await chat.until(lambda: len(small.model.asked) == 4, "the next turn")
    assert len(prompts(small)) == 1


async def test_a_model_that_fails_and_is_asked_again_reads_the_same(small: House) -> None:
    fails = iter([True, False, False])

    def answer(_: object) -> str:
        if next(fails):
            raise RuntimeError("a bug")
        return "well"

    small.models[""] = DrivenModel(answer)
    soul(small, "one")
    async with small.running() as chat:
        chat.say("hello")
        await chat.until(lambda: len(small.model.asked) == 1, "the first attempt")
        soul(small, "two")
        await chat.sees("well")
        chat.say("more")
        await chat.until(lambda: len(small.model.asked) == 3, "the next turn")
    assert len(prompts(small)) == 1


async def test_a_prompt_that_is_made_later_says_when_the_conversation_began(small: House) -> None:
    small.models["gpt-5"] = DrivenModel(name="gpt-5")
    began = datetime.now(UTC) - timedelta(days=3)
    ann = Address(platform="fake", chat="ann")
    first = Event(id="e1", origin=ann, sender=Sender("ann", "Ann"), text="hello", at=began)
    async with small.running() as chat:
        await small.gateways[0].intake.accept(first)
        await chat.sees("you said: hello")
        chat.say("/model gpt-5")
        await chat.sees("Model: `gpt-5`.")
        chat.say("and now?")
        await chat.until(lambda: len(small.models["gpt-5"].asked) == 1, "the other model")
    told, said = small.models["gpt-5"].asked[0][0].content, small.models["gpt-5"].asked[0][-1].content
    assert f"Conversation started: {day_of(began.date())}\n" in told
    assert 'Model: "gpt-5"' in told
    assert said.startswith("[Today is ")
