"""What a person can do to a turn that runs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from gateway.delivery import outbox
from gateway.delivery.prepare import CURSOR
from gateway.sessions.settings import SharingSettings
from gateway.types import Address, ChatType, Part, Receipt
from tests.fakes.model import DrivenModel
from tests.fakes.platform import FakePlatform
from tests.flow.conftest import House


async def test_stop_ends_the_turn_drops_what_waits_and_the_next_message_is_answered(house: House) -> None:
    house.model.gate.clear()
    async with house.running() as chat:
        chat.say("a long story")
        await house.model.begun.wait()
        chat.say("and another")
        chat.say("/stop")
        await chat.sees("Stopped. 1 waiting message was dropped.")
        await chat.is_quiet()
        house.model.gate.set()
        chat.say("hello")
        await chat.sees("you said: hello")
        assert chat.texts() == ["Stopped. 1 waiting message was dropped.", "you said: hello"]
    assert [message.text for message in house.model.asked[-1][1:]] == ["a long story", "[stopped]", "hello"]


async def test_stop_keeps_the_text_that_was_shown(house: House) -> None:
    house.models[""] = DrivenModel(lambda messages: "Once upon a time. The end")
    house.model.midway.clear()
    async with house.running() as chat:
        chat.say("a story")
        await chat.sees("Once upon a time. The ▌")
        chat.say("/stop")
        await chat.sees("Stopped.")
        await chat.sees("Once upon a time. The\n\n[stopped]")
        house.model.midway.set()
        chat.say("go on")
        await chat.sees("Once upon a time. The end")
        assert sum("▌" in text for text in chat.texts()) == 0
    shown = [message.text for message in house.model.asked[-1][1:]]
    assert shown == ["a story", "Once upon a time. The\n\n[stopped]", "go on"]


async def test_stop_with_nothing_to_stop_says_so(house: House) -> None:
    async with house.running() as chat:
        chat.say("/stop")
        await chat.sees("Nothing is running.")


async def test_new_during_a_turn_drops_its_answer_and_begins_afresh(house: House) -> None:
    house.model.gate.clear()
    async with house.running() as chat:
        chat.say("old question")
        await house.model.begun.wait()
        chat.say("/new")
        await chat.sees("A new conversation begins. Stopped.")
        house.model.gate.set()
        chat.say("new question")
        await chat.sees("you said: new question")
        assert not any("old question" in text for text in chat.texts())
    assert [message.text for message in house.model.asked[-1][1:]] == ["new question"]


async def test_reset_is_another_name_of_new(house: House) -> None:
    async with house.running() as chat:
        chat.say("I am Ann")
        await chat.sees("you said: I am Ann")
        chat.say("/RESET")
        await chat.sees("A new conversation begins.")
        chat.say("who am I?")
        await chat.sees("you said: who am I?")
    assert [message.text for message in house.model.asked[-1][1:]] == ["who am I?"]


async def test_status_and_help_answer_while_a_turn_runs(house: House) -> None:
    house.model.gate.clear()
    async with house.running() as chat:
        chat.say("a long story")
        await house.model.begun.wait()
        chat.say("/status")
        await chat.sees("Now: a turn runs, 0 waiting")
        chat.say("/help")
        await chat.sees("/stop")
        house.model.gate.set()
        await chat.sees("you said: a long story")
        await chat.is_quiet()


async def test_a_command_that_waited_runs_alone_and_is_not_swallowed(house: House) -> None:
    house.models["big"] = DrivenModel(name="big")
    house.model.gate.clear()
    async with house.running() as chat:
        chat.say("one")
        await house.model.begun.wait()
        chat.say("two")
        chat.say("/model big")
        chat.say("three")
        house.model.gate.set()
        await chat.sees_exactly(["you said: one", "you said: two", "Model: `big`.", "you said: three"])
    assert house.model.heard == ["one", "two"]
    assert house.models["big"].heard == ["three"]


async def test_an_unknown_command_is_said_and_never_sent_to_the_model(house: House) -> None:
    async with house.running() as chat:
        chat.say("/frobnicate now")
        await chat.sees("There is no command /frobnicate")
        chat.say("/usr/bin/env is a path")
        await chat.sees("you said: /usr/bin/env is a path")
    assert house.model.heard == ["/usr/bin/env is a path"]


async def test_changing_the_model_and_going_back_never_answers_from_stale_history(house: House) -> None:
    house.models["big"] = DrivenModel(name="big")
    async with house.running() as chat:
        for text, answer in (
            ("one", "you said: one"),
            ("/model big", "Model: `big`."),
            ("two", "you said: two"),
            ("/model default", "Model: `driven`."),
            ("three", "you said: three"),
        ):
            chat.say(text)
            await chat.sees(answer)
    assert [message.text for message in house.model.asked[-1][1:] if message.role == "user"] == ["one", "two", "three"]


async def test_a_full_queue_tells_the_sender_and_keeps_what_waited(house: House) -> None:
    house.change(max_queue=2)
    house.model.gate.clear()
    async with house.running() as chat:
        chat.say("first")
        await house.model.begun.wait()
        for text in ("a", "b", "c"):
            chat.say(text)
        await chat.sees("2 of your messages are waiting already")
        house.model.gate.set()
        await chat.sees("you said: a\n\nb")
    assert house.model.heard == ["first", "a\n\nb"]


async def test_stop_that_comes_before_the_shown_message_is_noted_leaves_no_cursor(house: House) -> None:
    house.models[""] = DrivenModel(lambda messages: "Once upon a time. The end")
    house.model.midway.clear()
    said = False

    def stop_at_once(what: str, target: Address, part: Part) -> None:
        nonlocal said
        if what == "send" and "▌" in part.body.text and not said:
            said = True
            house.platform.say("/stop")

    house.platform.after = stop_at_once
    async with house.running() as chat:
        chat.say("a story")
        await chat.sees("Stopped.")
        await chat.sees("Once upon a time. The\n\n[stopped]")
        assert not any("▌" in text for text in chat.texts())


@dataclass
class DistantPlatform(FakePlatform):
    """Shows a live message at once; that it does so is heard only when `heard` is set."""

    heard: asyncio.Event = field(default_factory=asyncio.Event)
    shows_rows: bool = False

    async def send(self, target: Address, part: Part) -> Receipt:
        receipt = await super().send(target, part)
        if part.body.text.endswith(CURSOR):
            await self.heard.wait()
        return receipt


async def test_stop_while_the_first_shown_words_are_on_their_way_leaves_no_cursor(small: House) -> None:
    small.platform = distant = DistantPlatform()
    small.models[""] = DrivenModel(lambda messages: "Once upon a time. The end")
    small.model.midway.clear()
    async with small.running() as chat:
        chat.say("a story")
        await chat.sees("▌")
        chat.say("/stop")
        await chat.sees("Stopped.")
        distant.heard.set()
        await chat.sees("Once upon a time. The\n\n[stopped]")
        assert not any("▌" in text for text in chat.texts())


async def test_stop_leaves_one_text_where_people_see_the_rows(small: House) -> None:
    small.platform = distant = DistantPlatform(shows_rows=True)
    small.models[""] = DrivenModel(lambda messages: "Once upon a time. The end")
    small.model.midway.clear()
    async with small.running() as chat:
        chat.say("a story")
        await chat.sees("▌")
        chat.say("/stop")
        await chat.sees("Stopped.")
        distant.heard.set()
        small.model.midway.set()
        chat.say("go on")
        await chat.sees("The end")
        rows = await small.database.read(lambda connection: outbox.shown(connection, "fake:ann", 10))
    assert [row.markdown for row in rows] == ["Stopped.", "Once upon a time. The end"]


@pytest.mark.parametrize(
    ("per_user", "told"),
    [(False, "What runs now was asked for by an owner; you cannot stop it."), (True, "Nothing is running.")],
    ids=["one session for all", "one session each"],
)
@pytest.mark.parametrize("command", ["/stop", "/new"])
async def test_nobody_ends_the_turn_of_somebody_in_a_group_who_may_do_more(
    house: House, command: str, per_user: bool, told: str
) -> None:
    house.change(sharing=SharingSettings(group_sessions_per_user=per_user))
    house.model.gate.clear()
    async with house.running() as chat:
        chat.say("a long story", "club", sender="ann", kind=ChatType.GROUP)
        await house.model.begun.wait()
        chat.say(command, "club", sender="bob", kind=ChatType.GROUP)
        await chat.sees("A new conversation begins." if per_user and command == "/new" else told, "club")
        house.model.gate.set()
        await chat.sees("you said: [Ann] a long story", "club")
        chat.say("go on", "club", sender="ann", kind=ChatType.GROUP)
        await chat.sees("you said: [Ann] go on", "club")
    assert [message.text for message in house.model.asked[-1] if message.role == "user"] == ["a long story", "go on"]
