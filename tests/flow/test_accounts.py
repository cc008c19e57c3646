"""Several accounts of one platform in one gateway: nothing that is said to one is the other's."""

from __future__ import annotations

from dataclasses import replace

from tests.fakes.platform import LIMITS, FakePlatform
from tests.flow.conftest import House


async def test_each_account_answers_for_itself_and_has_its_own_conversation_with_the_same_person(house: House) -> None:
    house.platform.limits = replace(LIMITS, hint="You are the account for guests.")
    sales = FakePlatform(name="fake@sales", limits=replace(LIMITS, hint="You are the account for sales."))
    house.others = [sales]
    async with house.running() as guests:
        guests.say("for guests", id="1")
        sales.say("for sales", id="1")
        await guests.sees("you said: for guests")
        await sales.sees("you said: for sales")
    async with house.running():
        sales.say("more sales", id="2")
        guests.say("more guests", id="2")
        await sales.sees("you said: more sales")
        await guests.sees("you said: more guests")
        assert guests.texts() == ["you said: for guests", "you said: more guests"]
        assert sales.texts() == ["you said: for sales", "you said: more sales"]
    for asked in house.model.asked:
        own, other = ("guests", "sales") if "guests" in asked[-1].text else ("sales", "guests")
        assert f"You are the account for {own}." in asked[0].text
        assert not any(other in message.content for message in asked)


async def test_a_command_to_one_account_leaves_the_other_alone(house: House) -> None:
    house.others = [sales := FakePlatform(name="fake@sales")]
    house.model.gate.clear()
    async with house.running() as chat:
        chat.say("a long story")
        sales.say("a long list")
        await chat.until(lambda: "ann" in chat.typing_in, "the typing sign")
        await sales.until(lambda: "ann" in sales.typing_in, "the typing sign of the other")
        sales.say("/stop")
        await sales.sees("Stopped.")
        house.model.gate.set()
        await chat.sees("you said: a long story")
        await sales.is_quiet()
        assert sales.texts() == ["Stopped."]
