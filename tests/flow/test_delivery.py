"""Platforms that throttle, refuse, lose answers or have moved; messages that are edited while the agent speaks."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field, replace

import pytest

from gateway.app.assembly import BURST
from gateway.delivery import outbox
from gateway.delivery.prepare import LONG, PAUSED
from gateway.errors import AdapterError, Ambiguous, TargetGone, TargetMoved, Throttled, Unacceptable, Unreachable
from gateway.turns import TurnSettings
from gateway.types import Address, Part, Receipt, Rendered
from tests.fakes.model import DrivenModel
from tests.fakes.platform import LIMITS, FakePlatform
from tests.flow.conftest import House


async def test_an_answer_that_takes_long_is_shown_as_it_grows_and_stands_once_at_the_end(house: House) -> None:
    house.models[""] = DrivenModel(lambda messages: "one two three")
    house.model.midway.clear()
    async with house.running() as chat:
        chat.say("count")
        await chat.sees_exactly(["one two ▌"])
        house.model.midway.set()
        await chat.sees_exactly(["one two three"])


async def test_a_long_streamed_answer_continues_in_new_messages(house: House) -> None:
    text = " ".join(f"word{number}" for number in range(100))
    house.models[""] = DrivenModel(lambda messages: text)
    house.model.midway.clear()
    async with house.running() as chat:
        chat.say("count")
        await chat.sees("▌")
        house.model.midway.set()
        await chat.sees("word99")
        assert " ".join(" ".join(chat.texts()).split()) == text
        assert all(len(shown) <= chat.limits.text for shown in chat.texts())


@dataclass
class LabouringPlatform(FakePlatform):
    """Takes as long to render a long text as somebody else waits for an answer."""

    labours: threading.Event = field(default_factory=threading.Event)
    answered: threading.Event = field(default_factory=threading.Event)
    held: list[int] = field(default_factory=list)

    def render(self, markdown: str) -> Rendered:
        if len(markdown) > LONG:
            self.labours.set()
            if not self.answered.wait(5):
                self.held.append(len(markdown))
        return super().render(markdown)


async def test_a_huge_answer_that_takes_long_to_cut_holds_nobody_else_up(small: House) -> None:
    small.platform = labouring = LabouringPlatform()
    small.models[""] = DrivenModel(lambda messages: "word " * LONG if "much" in messages[-1].content else "ho")
    small.change(edit_every=None)
    async with small.running() as chat:
        chat.say("say much")
        assert await asyncio.to_thread(labouring.labours.wait, 30)
        chat.say("hi", chat="bob")
        await chat.sees("ho", chat="bob")
        labouring.answered.set()
        await chat.sees("word")
    assert not labouring.held


async def test_a_throttled_stranger_does_not_hold_others(house: House) -> None:
    def flood(what: str, target: Address, part: Part) -> AdapterError | None:
        return Throttled(3600) if target.chat == "stranger" else None

    house.platform.fault = flood
    async with house.running() as chat:
        chat.say("hello", chat="stranger")
        chat.say("hello")
        await chat.sees("you said: hello")
        assert chat.texts("stranger") == []


async def test_a_throttled_answer_comes_once_when_the_time_is_over(house: House) -> None:
    waits = [0.05, 0.05, 0.05]
    house.platform.fault = lambda what, target, part: Throttled(waits.pop()) if waits else None
    async with house.running() as chat:
        chat.say("hello")
        await chat.sees_exactly(["you said: hello"])
    assert chat.sendings == ["you said: hello"]


async def test_waiting_for_a_closed_account_uses_up_nothing_of_what_may_go_at_once(small: House) -> None:
    small.platform.limits = replace(small.platform.limits, per_chat=1 / 3600)
    small.change(edit_every=None)
    lines = [f"line {number} " + "of an answer with as many messages as may go at once " * 3 for number in range(BURST)]
    small.models[""] = DrivenModel(lambda messages: "\n\n".join(lines))
    closed = asyncio.Event()

    def close_once(what: str, target: Address, part: Part) -> AdapterError | None:
        if closed.is_set():
            return None
        closed.set()
        return Throttled(1, everywhere=True)

    small.platform.fault = close_once
    async with small.running() as chat:
        chat.say("/whoami", chat="bob")
        await closed.wait()
        chat.say("tell me")
        await chat.sees(f"line {BURST - 1} ")
        assert len(chat.texts()) == BURST


async def test_throttled_edits_cost_only_intermediate_text(house: House) -> None:
    house.models[""] = DrivenModel(lambda messages: "one two three")
    house.model.midway.clear()
    waits = [0.05, 0.05]

    def flood(what: str, target: Address, part: Part) -> AdapterError | None:
        return Throttled(waits.pop()) if what == "edit" and waits else None

    house.platform.fault = flood
    async with house.running() as chat:
        chat.say("count")
        await chat.sees("▌")
        house.model.midway.set()
        await chat.sees_exactly(["one two three"])
    assert len(chat.sendings) == 1


async def test_a_part_that_is_refused_goes_plain_and_the_next_ones_follow(house: House) -> None:
    text = "\n\n".join(f"line {number} of a long answer" for number in range(12))
    house.models[""] = DrivenModel(lambda messages: text)
    refused: list[str] = []

    def refuse(what: str, target: Address, part: Part) -> AdapterError | None:
        if "line 0" in part.body.text and not refused:
            refused.append(part.body.text)
            return Unacceptable("can't parse entities")
        return None

    house.platform.fault = refuse
    async with house.running() as chat:
        chat.say("tell me")
        await chat.sees("line 11")
        assert "\n\n".join(chat.texts()) == text


async def test_a_lost_receipt_gives_one_marked_second_copy(house: House) -> None:
    lost = [True]
    house.platform.after = lambda what, target, part: Ambiguous("connection lost") if lost and lost.pop() else None
    async with house.running() as chat:
        chat.say("hello")
        await chat.sees_exactly(["you said: hello", "↻\n\nyou said: hello"])
        chat.say("next")
        await chat.sees("you said: next")
        assert len(chat.texts()) == 3


async def test_a_lost_answer_to_an_edit_shows_nothing_twice(house: House) -> None:
    house.models[""] = DrivenModel(lambda messages: "one two three")
    house.model.midway.clear()
    lost = [True]

    def lose(what: str, target: Address, part: Part) -> AdapterError | None:
        if what == "edit" and "three" in part.body.text and lost:
            lost.pop()
            return Ambiguous("connection lost")
        return None

    house.platform.after = lose
    async with house.running() as chat:
        chat.say("count")
        await chat.sees("▌")
        house.model.midway.set()
        await chat.sees_exactly(["one two three"])
        chat.say("/help")
        await chat.sees("/stop")
        assert sum("three" in text for text in chat.texts()) == 1


async def test_a_chat_that_is_gone_is_recorded_and_the_others_go_on(house: House) -> None:
    house.platform.fault = lambda what, target, part: TargetGone("bot was blocked") if target.chat == "gone" else None
    async with house.running() as chat:
        chat.say("hello", chat="gone")
        chat.say("hello")
        await chat.sees("you said: hello")
        refused = await house.database.read(lambda connection: outbox.listed(connection, "dead", 10))
        while not refused:
            refused = await house.database.read(lambda connection: outbox.listed(connection, "dead", 10))
        assert [(row.reason, row.text) for row in refused] == [("bot was blocked", "you said: hello")]


async def test_a_chat_that_has_moved_gets_its_answer_at_the_new_place(house: House) -> None:
    new = Address(platform="fake", chat="super")
    house.platform.fault = lambda what, target, part: TargetMoved(new) if target.chat == "group" else None
    async with house.running() as chat:
        chat.say("hello", chat="group")
        await chat.sees("you said: hello", chat="super")


async def test_an_answer_waits_while_the_platform_cannot_be_reached(house: House) -> None:
    away = [True]
    house.platform.fault = lambda what, target, part: Unreachable("no route") if away and away.pop() else None
    async with house.running() as chat:
        chat.say("hello")
        await chat.sees_exactly(["you said: hello"])


async def test_an_adapter_with_a_bug_costs_one_plain_retry_and_not_the_answer(house: House) -> None:
    bugs = [TypeError("send() got an unexpected argument")]

    def bug(what: str, target: Address, part: Part) -> AdapterError | None:
        if bugs:
            raise bugs.pop()
        return None

    house.platform.fault = bug
    async with house.running() as chat:
        chat.say("hello")
        await chat.sees_exactly(["you said: hello"])


async def test_an_answer_that_was_stored_before_a_crash_is_sent_after_it(house: House) -> None:
    house.platform.fault = lambda what, target, part: Throttled(0.2)
    async with house.running(kill=True) as chat:
        chat.say("hello")
        await chat.until(lambda: bool(house.model.asked), "the model")
        await chat.is_quiet()
    house.platform.fault = None
    async with house.running() as chat:
        await chat.sees("you said: hello")
        chat.say("next")
        await chat.sees("you said: next")
        assert chat.texts() == ["you said: hello", "you said: next"]


async def test_a_live_message_left_by_a_crash_is_adopted(house: House) -> None:
    house.models[""] = DrivenModel(lambda messages: "one two three")
    house.model.midway.clear()
    async with house.running(kill=True) as chat:
        chat.say("count")
        await chat.sees_exactly(["one two ▌"])
        await chat.until(lambda: True, "the row")
        shown = await house.database.read(lambda connection: outbox.live_at(connection, "fake:ann"))
        while not shown:
            shown = await house.database.read(lambda connection: outbox.live_at(connection, "fake:ann"))
    house.model.midway.set()
    async with house.running() as chat:
        await chat.sees_exactly(["one two three"])


async def test_a_drain_waits_for_the_turn_and_its_delivery(house: House) -> None:
    house.models[""] = DrivenModel(lambda messages: "one two three")
    house.model.gate.clear()
    async with house.running() as chat:
        chat.say("count")
        await house.model.begun.wait()
        for gateway in house.gateways:
            gateway.stop()
        house.model.gate.set()
    assert chat.texts() == ["one two three"]


async def test_what_a_drain_cannot_wait_for_does_not_look_as_if_somebody_were_writing(small: House) -> None:
    small.change(turns=small.plans[0].turns.__class__(drain_seconds=0.1))
    small.models[""] = DrivenModel(lambda messages: "one two three")
    small.model.midway.clear()
    async with small.running() as chat:
        chat.say("count")
        await chat.sees_exactly(["one two ▌"])
    assert chat.texts() == [f"one two\n\n{PAUSED}"]
    small.model.midway.set()
    async with small.running() as chat:
        await chat.sees_exactly(["one two three"])


async def test_a_long_text_that_a_drain_interrupts_stays_one_message(small: House) -> None:
    small.change(turns=small.plans[0].turns.__class__(drain_seconds=0.1))
    small.models[""] = DrivenModel(lambda messages: "word " * 100 + "end")
    small.model.midway.clear()
    async with small.running() as chat:
        chat.say("count")
        await chat.sees("▌")
    (text,) = chat.texts()
    assert text.endswith(f"word\n\n{PAUSED}")
    assert len(text) <= chat.limits.text


async def test_a_turn_that_a_drain_cannot_wait_for_is_answered_after_the_restart(house: House) -> None:
    house.change(turns=house.plans[0].turns.__class__(drain_seconds=0.1))
    house.model.gate.clear()
    async with house.running() as chat:
        chat.say("hello")
        await house.model.begun.wait()
    house.model.gate.set()
    async with house.running() as chat:
        await chat.sees_exactly(["you said: hello"])


async def test_what_is_said_before_and_during_a_drain_is_answered_once_after_the_restart(house: House) -> None:
    house.model.gate.clear()
    async with house.running() as chat:
        chat.say("first")
        await house.model.begun.wait()
        chat.say("second")
        chat.say("/status")
        await chat.sees("a turn runs, 1 waiting")
        for gateway in house.gateways:
            gateway.stop()
        chat.say("third")
        chat.say("good morning", chat="bob")
        house.model.gate.set()
    assert "you said: first" in chat.texts()
    async with house.running() as chat:
        for word in ("second", "third"):
            await chat.sees(word)
        await chat.sees("you said: good morning", chat="bob")
        chat.say("last")
        await chat.sees("you said: last")
        said = "\n".join(chat.texts())
    assert [said.count(word) for word in ("first", "second", "third", "last")] == [1, 1, 1, 1]
    assert chat.texts("bob") == ["you said: good morning"]


@dataclass
class BusyPlatform(FakePlatform):
    """Takes no message before it is `free`; `asked` says that it was given one."""

    free: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, target: Address, part: Part) -> Receipt:
        self.asked.set()
        await self.free.wait()
        return await super().send(target, part)


@pytest.mark.parametrize("idempotent", [False, True], ids=["a platform that shows twice", "one that knows the key"])
async def test_an_answer_that_a_drain_cannot_wait_for_to_be_sent_is_shown_once_after_the_restart(
    house: House, idempotent: bool
) -> None:
    house.platform = busy = BusyPlatform(limits=replace(LIMITS, idempotent=idempotent))
    house.change(turns=TurnSettings(drain_seconds=0.1), edit_every=None)
    async with house.running() as chat:
        chat.say("hello")
        await busy.asked.wait()
    assert chat.texts() == []
    busy.free.set()
    async with house.running() as chat:
        await chat.sees("you said: hello")
        chat.say("next")
        await chat.sees("you said: next")
    assert chat.texts() == ["you said: hello" if idempotent else "↻\n\nyou said: hello", "you said: next"]
    assert house.model.heard == ["hello", "next"]


async def test_a_drain_waits_for_a_platform_that_takes_its_time(house: House) -> None:
    house.platform = busy = BusyPlatform()
    house.change(edit_every=None)
    async with house.running() as chat:
        chat.say("hello")
        await busy.asked.wait()
        for gateway in house.gateways:
            gateway.stop()
        asyncio.get_running_loop().call_later(0.3, busy.free.set)
    assert chat.texts() == ["you said: hello"]
    async with house.running() as chat:
        chat.say("next")
        await chat.sees("you said: next")
    assert chat.texts() == ["you said: hello", "you said: next"]
