"""A person writes; a person sees an answer. The same on one process and on three."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gateway.agent.memory.settings import MemorySettings
from gateway.contracts.model import Completed
from gateway.errors import AuthFailed
from gateway.messages import Message
from gateway.types import ChatType
from tests.fakes.model import DrivenModel
from tests.flow.conftest import House


async def test_a_message_is_answered(house: House) -> None:
    async with house.running() as chat:
        chat.say("hello")
        await chat.sees_exactly(["you said: hello"])


async def test_the_agent_remembers_the_chat(house: House) -> None:
    async with house.running() as chat:
        chat.say("I am Ann")
        await chat.sees("you said: I am Ann")
        chat.say("who am I?")
        await chat.sees("you said: who am I?")
    assert [message.text for message in house.model.asked[-1][1:]] == [
        "I am Ann",
        "you said: I am Ann",
        "who am I?",
    ]


async def test_the_agent_remembers_after_a_restart_with_the_same_bytes(house: House) -> None:
    async with house.running() as chat:
        chat.say("I am Ann")
        await chat.sees("you said: I am Ann")
        chat.say("still")
        await chat.sees("you said: still")
    async with house.running() as chat:
        chat.say("who am I?")
        await chat.sees("you said: who am I?")
    before, after = house.model.asked[-2], house.model.asked[-1]
    assert after[: len(before)] == before


async def test_a_long_answer_comes_in_parts_that_fit(house: House) -> None:
    text = "\n\n".join(f"line {number} of a long answer" for number in range(40))
    house.models[""] = DrivenModel(lambda messages: text)
    async with house.running() as chat:
        chat.say("tell me")
        await chat.sees("line 39")
        assert all(len(shown) <= chat.limits.text for shown in chat.texts())
        assert "\n\n".join(chat.texts()) == text


async def test_the_same_event_brought_twice_is_answered_once(house: House) -> None:
    async with house.running() as chat:
        chat.say("hello", id="same")
        chat.say("hello", id="same")
        await chat.sees("you said: hello")
        chat.say("bye")
        await chat.sees_exactly(["you said: hello", "you said: bye"])


async def test_what_is_written_while_a_turn_runs_is_answered_in_order_with_its_boundaries(house: House) -> None:
    house.model.gate.clear()
    async with house.running() as chat:
        chat.say("weather in Oslo")
        await house.model.begun.wait()
        chat.say("weather in Madrid")
        chat.say("and Cairo")
        house.model.gate.set()
        await chat.until(lambda: "and Cairo" in "".join(chat.texts()), "the last answer")
    heard = "\n\n".join(house.model.heard)
    assert heard == "weather in Oslo\n\nweather in Madrid\n\nand Cairo"


async def test_each_of_two_hundred_messages_at_the_end_of_a_turn_is_answered(house: House) -> None:
    house.change(memory=MemorySettings(nudge_interval=0, flush_min_turns=0))
    async with house.running() as chat:
        for number in range(200):
            chat.say(f"message {number}.")
            if number % 3:
                await chat.sees(f"message {number}.")
        await chat.sees("message 199.")
    assert "\n\n".join(house.model.heard) == "\n\n".join(f"message {number}." for number in range(200))


async def test_many_chats_at_once_do_not_mix(house: House) -> None:
    chats = [f"chat{number}" for number in range(60)]
    async with house.running() as platform:
        for name in chats:
            platform.say(f"I am {name}", chat=name)
        for name in chats:
            await platform.sees_exactly([f"you said: I am {name}"], chat=name)


async def test_a_model_that_fails_is_said_and_retry_asks_it_again(house: House) -> None:
    broken = True

    def answer(messages: Sequence[Message]) -> str:
        if broken:
            raise AuthFailed("the endpoint refused the key; check model.api_key")
        return f"fine: {messages[-1].content}"

    house.models[""] = DrivenModel(answer)
    async with house.running() as chat:
        chat.say("hello")
        await chat.sees("check model.api_key")
        broken = False
        chat.say("/retry")
        await chat.sees("fine: hello")
        chat.say("next")
        await chat.sees("fine: next")
    assert [message.text for message in house.model.asked[-1][1:]] == ["hello", "fine: hello", "next"]


async def test_retry_replaces_the_last_answer_in_what_the_model_is_shown(house: House) -> None:
    answers = iter(["first try", "second try", "third try", "end"])
    house.models[""] = DrivenModel(lambda messages: next(answers))
    async with house.running() as chat:
        chat.say("/retry")
        await chat.sees("nothing to answer again")
        chat.say("hello")
        await chat.sees("first try")
        chat.say("/retry")
        await chat.sees("second try")
        chat.say("/retry")
        await chat.sees("third try")
        chat.say("go on")
        await chat.sees("end")
    assert [message.text for message in house.model.asked[-1][1:]] == ["hello", "third try", "go on"]


async def test_an_empty_answer_is_said(house: House) -> None:
    house.models[""] = DrivenModel(lambda messages: Completed(""))
    async with house.running() as chat:
        chat.say("hello")
        await chat.sees("empty answer")


async def test_hostile_text_comes_back_readable(house: House) -> None:
    async with house.running() as chat:
        chat.say("nul \0 half \ud83d emoji \ud83d\ude00 שלום 你好 ")
        await chat.sees("emoji 😀 שלום 你好")
        assert "\0" not in "".join(chat.texts())


async def test_a_message_of_white_space_is_answered_with_a_sentence(house: House) -> None:
    async with house.running() as chat:
        chat.say(" \n\t ")
        await chat.sees("Your message is empty")
    assert house.model.asked == []


async def test_a_message_of_300_kilobytes_reaches_the_model_whole(house: House) -> None:
    text = "абв🍀" * 60_000
    house.models[""] = DrivenModel(lambda messages: f"{len(messages[-1].content)} characters")
    async with house.running() as chat:
        chat.say(text)
        await chat.sees(f"{len(text)} characters")


async def test_a_stranger_is_told_what_the_operator_can_do_and_only_once(house: House) -> None:
    house.change(rules=house.plans[0].rules.__class__(owners=frozenset({"fake:ann"})))
    async with house.running() as chat:
        chat.say("hello", chat="mallory")
        chat.say("hello?", chat="mallory")
        await chat.sees("access.owners", chat="mallory")
        chat.say("hello")
        await chat.sees("you said: hello")
        assert sum("I do not know you" in text for text in chat.texts("mallory")) == 1
    assert house.model.heard == ["hello"]


@pytest.mark.parametrize("command", ["/ask", "/stop", "/new", "/frobnicate"])
async def test_a_long_paste_that_begins_like_a_command_is_one_message(house: House, command: str) -> None:
    house.models[""] = DrivenModel(lambda messages: "read it all")
    paste = f"{command} ".ljust(4096, "x")
    async with house.running() as chat:
        chat.say(paste, burst="paste:1")
        chat.say(" and this is its end")
        await chat.sees_exactly(["read it all"])
        await chat.is_quiet()
    assert house.model.heard == [f"{paste} and this is its end"]


async def test_each_member_of_a_group_has_a_session_of_their_own(house: House) -> None:
    async with house.running() as chat:
        chat.say("I am Ann", chat="team", sender="ann", kind=ChatType.GROUP)
        await chat.sees("I am Ann", chat="team")
        chat.say("who am I?", chat="team", sender="bob", kind=ChatType.GROUP)
        await chat.sees("who am I?", chat="team")
    assert [message.content for message in house.model.asked[-1][1:]] == ["[Bob] who am I?"]


async def test_an_event_that_says_not_whose_it_is_is_refused_and_the_others_go_on(house: House) -> None:
    async with house.running() as chat:
        chat.say("nobody", chat="team", sender="", kind=ChatType.GROUP)
        chat.say("hello", chat="")
        chat.say("hello")
        await chat.sees("you said: hello")
    assert house.model.heard == ["hello"]
