"""Two homes that were given one Postgres and no Redis."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.errors import StorageError
from tests.flow.conftest import KINDS, House


async def test_the_gateway_of_another_home_is_refused_and_the_first_goes_on(
    house_of: Callable[[str], House], tmp_path: Path
) -> None:
    first, second = house_of(KINDS[1]), house_of(KINDS[1])
    second.change(home=tmp_path / "other")
    async with first.running() as chat:
        with pytest.RaisesGroup(pytest.RaisesExc(StorageError, match="another gateway without Redis")):
            async with second.running():
                pass
        chat.say("hello")
        await chat.sees("you said: hello")
    async with second.running() as chat:
        chat.say("and now?", id="later")
        await chat.sees("you said: and now?")
