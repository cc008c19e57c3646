"""What the crash tests found, each as one short scene."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gateway.agent.history import INTERRUPTED, NO_ANSWER
from gateway.bus import letters
from gateway.contracts.model import Completed
from gateway.delivery import outbox
from gateway.errors import AdapterError, Ambiguous, Unacceptable
from gateway.messages import Message, ToolCall
from gateway.storage.database import Connection
from gateway.toolkit.function import tool
from gateway.types import Address, Part, Receipt, Rendered
from tests.fakes.counting import CountingModel, held_writer
from tests.fakes.model import DrivenModel
from tests.fakes.platform import FakePlatform
from tests.flow.conftest import KINDS, House


@dataclass
class SlowPlatform(FakePlatform):
    """Takes no message before it is `awake`; `reached` says that a request has come."""

    awake: bool = False
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, target: Address, part: Part) -> Receipt:
        self.reached.set()
        if not self.awake:
            await asyncio.Event().wait()
        return await super().send(target, part)


async def test_an_answer_comes_though_two_kills_cut_off_its_sending_before_the_platform_took_it(
    house_of: Callable[[str], House],
) -> None:
    house = house_of(KINDS[0])
    house.platform = slow = SlowPlatform()
    async with house.running(kill=True) as chat:
        chat.say("hello")
        await slow.reached.wait()
    slow.reached.clear()
    async with house.running(kill=True):
        await slow.reached.wait()
    slow.awake = True
    async with house.running() as chat:
        await chat.sees_exactly(["↻\n\nyou said: hello"])


@dataclass
class PrimPlatform(FakePlatform):
    """Refuses whatever has markup."""

    def render(self, markdown: str) -> Rendered:
        return Rendered(markdown, len(markdown), {"markup": True})


async def test_a_second_copy_of_what_had_to_go_plain_is_plain_too(house_of: Callable[[str], House]) -> None:
    lost = [True]

    def refuse(what: str, target: Address, part: Part) -> AdapterError | None:
        return Unacceptable("can't parse entities") if part.body.extra else None

    house = house_of(KINDS[0])
    house.platform = PrimPlatform(
        fault=refuse, after=lambda what, target, part: Ambiguous("connection lost") if lost and lost.pop() else None
    )
    async with house.running() as chat:
        chat.say("hello")
        await chat.sees_exactly(["you said: hello", "↻\n\nyou said: hello"])


async def test_what_a_given_up_turn_was_showing_does_not_look_unfinished_for_ever(
    house_of: Callable[[str], House],
) -> None:
    house = house_of(KINDS[0])
    house.models[""] = DrivenModel(lambda messages: f"one two {len(messages)}")
    house.model.midway.clear()
    for attempt in range(3):
        async with house.running(kill=True) as chat:
            if not attempt:
                chat.say("count")
            await house.model.begun.wait()
            await chat.sees("one two ▌")
            while not await house.database.read(lambda connection: outbox.live_at(connection, "fake:ann")):
                pass
        house.model.begun.clear()
    house.model.midway.set()
    async with house.running() as chat:
        await chat.sees("I tried three times")
        chat.say("again")
        await chat.sees("one two 2")
        assert [text.split()[0] for text in chat.texts()] == ["I", "one"]


async def given_up(house: House) -> None:
    """Three kills, of which the first cut a call off."""
    began = asyncio.Event()

    @tool()
    async def dig() -> str:
        """Dig."""
        began.set()
        await asyncio.Event().wait()
        return "treasure"

    def answer(messages: Sequence[Message]) -> Completed | str:
        fresh = len(messages) == 2 and not began.is_set()
        return Completed("", (ToolCall("1", "dig", "{}"),)) if fresh else f"you said: {messages[-1].content}"

    house.give_tools([dig])
    house.models[""] = DrivenModel(answer)
    async with house.running(kill=True) as chat:
        chat.say("dig")
        await began.wait()
    house.model.gate.clear()
    for _ in range(2):
        house.model.begun.clear()
        async with house.running(kill=True):
            await house.model.begun.wait()
    house.model.gate.set()
    house.model.asked.clear()


async def revive(house: House) -> None:
    def job(connection: Connection) -> list[int]:
        return letters.revive(connection, [letter.id for letter in letters.dead(connection)])

    assert await house.database.write(job)


def heard(house: House) -> list[list[str]]:
    """What the model was shown with each request."""
    return [[message.content for message in asked if message.role != "system"] for asked in house.model.asked]


async def test_a_dead_letter_revived_after_new_is_answered_in_the_new_conversation(small: House) -> None:
    await given_up(small)
    async with small.running() as chat:
        await chat.sees("I tried three times")
        chat.say("/new")
        await chat.sees("A new conversation begins.")
        await revive(small)
        chat.say("and fill it in")
        await chat.sees("you said: and fill it in")
        assert "you said: dig" in chat.texts()
    assert heard(small) == [["dig"], ["dig", "you said: dig", "and fill it in"]]


async def test_a_dead_letter_revived_in_its_conversation_finds_there_what_its_attempts_did(small: House) -> None:
    await given_up(small)
    async with small.running() as chat:
        await chat.sees("I tried three times")
        await revive(small)
        chat.say("and fill it in")
        await chat.sees("you said: and fill it in")
    assert heard(small)[0] == ["dig", "", INTERRUPTED, NO_ANSWER, "dig"]


async def test_a_command_that_was_given_up_is_no_turn_to_answer_again(small: House) -> None:
    model = CountingModel(lambda messages: f"heard {messages[-1].content[-2:]}")
    small.models[""] = model
    async with small.running() as chat:
        for number in range(3):
            chat.say(f"{'The page is to be filled in again. ' * 160} #{number}")
            await chat.sees(f"heard #{number}")
    for attempt in range(3):
        held = held_writer()
        small.writers = [held]
        async with small.running(kill=True) as chat:
            if not attempt:
                chat.say("/compact")
            await held.begun.wait()
    small.writers = []
    async with small.running() as chat:
        await chat.sees("I tried three times")
        chat.say("/retry")
        await chat.until(lambda: chat.texts().count("heard #2") == 2, "the last answer again")
    assert not any("/compact" in message.content for asked in model.asked for message in asked)
