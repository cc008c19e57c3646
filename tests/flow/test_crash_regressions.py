"""What the crash tests found, each as one short scene."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from gateway.delivery import outbox
from gateway.errors import AdapterError, Ambiguous, Unacceptable
from gateway.types import Address, Part, Receipt, Rendered
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
