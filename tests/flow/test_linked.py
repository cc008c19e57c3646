"""A browser that spoke before it became the owner's."""

from __future__ import annotations

from gateway.access import people
from tests.flow.conftest import House
from tests.flow.test_memory import house, prompt, saving, tell

__all__ = ["house"]


async def become_owner(house: House, visitor: str) -> None:
    """What the owner's link does."""
    gateway = house.gateways[0]
    before = await gateway.database.write(lambda connection: people.make_owner(connection, visitor))
    await gateway.joined(before)


async def test_what_a_browser_said_before_the_owners_link_is_the_owners(house: House) -> None:
    house.platform.name = "webchat"
    async with house.running():
        await tell(house, saving("Likes jazz"), "tab", shows='"success": true')
        await become_owner(house, "tab")
        await tell(house, saving("Likes tea"), "tab", shows='"entry_count": 2')
        await tell(house, "/memory", "tab", shows="the owner's")
        await tell(house, "/memory show", "tab", shows="Likes jazz")
        await tell(house, "/new", "tab", shows="A new conversation")
        await tell(house, "hello", "tab", shows="you said: hello")
        assert "Likes jazz" in prompt(house)
        assert "Likes tea" in prompt(house)
        await tell(house, "/forgetme yes", "tab", shows="2 conversations with 10 messages")


async def test_a_link_that_is_used_while_an_answer_is_on_its_way(house: House) -> None:
    house.platform.name = "webchat"
    async with house.running() as chat:
        house.model.gate.clear()
        chat.say("hello", "tab")
        await house.model.begun.wait()
        await become_owner(house, "tab")
        house.model.gate.set()
        await chat.sees("you said: hello", "tab")
        await tell(house, saving("Likes tea"), "tab", shows='"success": true')
        await tell(house, "/memory show", "tab", shows="Likes tea")
        await tell(house, "/forgetme yes", "tab", shows="1 conversations with 6 messages")
