"""A platform that does not know our token: what others notice, what an operator sees, and when to give up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.app.gateway import Gateway
from gateway.app.process import Mind
from gateway.app.terminal import CommandLine
from gateway.contracts.adapter import Emit
from gateway.errors import TokenRefused
from gateway.sessions.keys import NAMESPACE
from gateway.storage.refusals import refusals
from gateway.toolkit.toolset import FunctionTools
from tests.fakes.model import DrivenModel
from tests.fakes.platform import FakePlatform
from tests.flow.conftest import House


class Stranger(FakePlatform):
    """Refuses the token at the door, or not before somebody listens."""

    at_the_door = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.asked = asyncio.Event()

    async def check(self) -> None:
        if self.at_the_door:
            self.asked.set()
            raise TokenRefused(f"{self.name} does not know this token")

    async def listen(self, emit: Emit) -> None:
        self.asked.set()
        raise TokenRefused(f"{self.name} does not know this token any more")


Open = Callable[..., Gateway]


@pytest.fixture
def open_gateway(small: House, tmp_path: Path) -> Open:
    """Make a gateway with these platforms, and the command line that every gateway has."""
    model = DrivenModel()
    mind = Mind(
        model=lambda name: model,
        tools=lambda role, model, more: FunctionTools([]),
        workspace=lambda session, address: tmp_path,
    )

    def make(*platforms: FakePlatform) -> Gateway:
        return Gateway(
            small.plans[0], {"cli": CommandLine(), **{each.name: each for each in platforms}}, {NAMESPACE: mind}
        )

    return make


async def test_where_every_platform_refuses_us_from_the_start_the_gateway_ends(open_gateway: Open) -> None:
    async with open_gateway(Stranger("one"), Stranger("two")) as gateway:
        with pytest.raises(TokenRefused, match="does not know this token"):
            await gateway.run()
        assert sorted(await gateway.database.read(refusals)) == ["one", "two"]


async def test_beside_another_platform_it_is_noted_and_the_gateway_goes_on(open_gateway: Open) -> None:
    stranger, friend = Stranger("one"), FakePlatform("fake")
    async with open_gateway(stranger, friend) as gateway, asyncio.TaskGroup() as group:
        running = group.create_task(gateway.run())
        await stranger.asked.wait()
        friend.say("hello")
        await friend.sees("you said: hello")
        assert await gateway.database.read(refusals) == {"one": "one does not know this token"}
        gateway.stop()
        await running


async def test_a_token_that_is_taken_is_no_longer_noted(open_gateway: Open) -> None:
    async with open_gateway(Stranger("fake")) as gateway:
        with pytest.raises(TokenRefused):
            await gateway.run()
    friend = FakePlatform("fake")
    async with open_gateway(friend) as gateway, asyncio.TaskGroup() as group:
        running = group.create_task(gateway.run())
        friend.say("hello")
        await friend.sees("you said: hello")
        assert await gateway.database.read(refusals) == {}
        gateway.stop()
        await running


async def test_a_token_that_is_revoked_later_does_not_end_the_gateway(open_gateway: Open) -> None:
    stranger = Stranger("fake")
    stranger.at_the_door = False
    async with open_gateway(stranger) as gateway, asyncio.TaskGroup() as group:
        running = group.create_task(gateway.run())
        await stranger.asked.wait()
        while not await gateway.database.read(refusals):
            await asyncio.sleep(0)
        assert not gateway.stopping
        gateway.stop()
        await running
