"""What every crash test needs: how often to kill, the seed, and a scene to play it in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random, SystemRandom

import pytest

from tests.crash.moments import Scene
from tests.crash.people import People, users
from tests.crash.site import Site
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.telegram_server import TelegramServer
from tests.services import sandbox

KILLS = int(os.environ.get("HERMES_CRASH_KILLS", "40"))
"""How often the quick gateway is killed; the others more rarely, by their cost."""
SEED = int(os.environ.get("HERMES_CRASH_SEED", "0")) or SystemRandom().randrange(1, 1_000_000)
"""Of every choice the tests make; printed, and the same again where it is set."""

Furnish = Callable[..., Scene]


@pytest.fixture
def furnish(tmp_path: Path) -> Iterator[Furnish]:
    """Make a scene: the platform and the model as processes of their own, and a home that is configured for them."""
    with ExitStack() as stack:
        model = stack.enter_context(OpenAIServer())
        telegram = stack.enter_context(TelegramServer())

        def make(*, forks: bool, kills: int, database: str = "sqlite:///state.db", bus: str = "embedded:") -> Scene:
            model.set(log=1)
            site = Site(tmp_path, forks)
            stack.callback(site.close)
            site.furnish(model, telegram, owners=users(20 * kills + 200), database=database, bus=bus)
            people = People(telegram, Random(SEED), tools=sandbox() is not None)
            return Scene(site, people, telegram, model, SEED, Random(SEED + 1))

        yield make
