"""Long conversations for tests: long words, short answers, and a model that counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gateway.agent.memory.settings import MemorySettings
from gateway.messages import Message
from tests.fakes.counting import CountingModel
from tests.flow.conftest import House

WIDE = 1_000_000
PARAGRAPH = "The letter about the tax form says that the second page has to be filled in again, and by hand. " * 30
"""About 650 tokens."""


def shortly(messages: Sequence[Message]) -> str:
    """Say what was heard in a few words."""
    return f"heard {messages[-1].content.rpartition('#')[2]}"


def prepared(house: House, window: int = 8_000) -> House:
    """Give a house a wide screen, a model with a window, and nobody who looks back over conversations."""
    house.platform.limits = replace(house.platform.limits, text=WIDE)
    house.models[""] = CountingModel(shortly, window=window)
    house.change(memory=MemorySettings(nudge_interval=0, flush_min_turns=0))
    return house


def model(house: House) -> CountingModel:
    """Return the model that answers."""
    found = house.models[""]
    assert isinstance(found, CountingModel)
    return found


async def talk(house: House, first: int, count: int, chat: str = "ann") -> None:
    """Say so many long things, and wait for each answer."""
    for number in range(first, first + count):
        house.platform.say(f"{PARAGRAPH} #{number}", chat)
        await house.platform.sees(f"heard {number}", chat)
