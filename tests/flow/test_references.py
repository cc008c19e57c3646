"""A person refers to a file, and the model is shown it."""

from __future__ import annotations

from gateway.agent.tools.files import file_tools
from tests.flow.conftest import House


def furnished(house: House) -> None:
    """Give a house a file in the workspace of every conversation, and the tools that may read it."""
    (house.plans[0].home / "notes.txt").write_text("buy milk\n")
    house.give_tools(file_tools())


async def test_the_model_is_shown_a_file_and_the_conversation_remembers_it(house: House) -> None:
    furnished(house)
    async with house.running() as chat:
        chat.say("what is in @file:notes.txt?")
        await chat.until(lambda: len(house.model.asked) == 1, "the question")
    first = house.model.asked[0][-1]
    assert first.content.startswith("what is in @file:notes.txt?\n\n--- Attached Context ---")
    assert "buy milk" in first.content
    (house.plans[0].home / "notes.txt").write_text("something else")
    async with house.running() as chat:
        chat.say("again")
        await chat.sees("you said: again")
    assert house.model.asked[1][: len(house.model.asked[0])] == house.model.asked[0]


async def test_a_person_hears_what_could_not_be_attached_and_gets_an_answer(small: House) -> None:
    furnished(small)
    async with small.running() as chat:
        chat.say("see @file:nothing.txt")
        await chat.sees("*'@file:nothing.txt' was not attached: there is no such file.*")
        await chat.sees("you said: see @file:nothing.txt")


async def test_a_guest_refers_to_nothing(small: House) -> None:
    furnished(small)
    small.platform.name = "webhook"  # whoever speaks there is a guest
    async with small.running() as chat:
        chat.say("what is in @file:notes.txt?", "someone")
        await chat.sees("you said: what is in @file:notes.txt?", "someone")
    assert small.model.heard == ["what is in @file:notes.txt?"]


async def test_a_message_that_is_answered_again_is_read_again(small: House) -> None:
    furnished(small)
    async with small.running() as chat:
        chat.say("see @file:notes.txt")
        await chat.until(lambda: len(small.model.asked) == 1, "the question")
        await chat.sees("buy milk")
        (small.plans[0].home / "notes.txt").write_text("buy bread\n")
        chat.say("/retry")
        await chat.sees("buy bread")
    assert "buy milk" not in small.model.asked[1][-1].content
