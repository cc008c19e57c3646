"""What a contract's tests stand on: an entered database of each kind, and hints of each kind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.bus import open_hints
from gateway.contracts.bus import Hints
from gateway.storage import open_database
from gateway.storage.database import Database


@pytest.fixture
async def database(database_url: str, tmp_path: Path) -> AsyncIterator[Database]:
    async with open_database(database_url, tmp_path) as database:
        yield database


@pytest.fixture(params=["memory", "redis"])
async def hints(request: pytest.FixtureRequest) -> AsyncIterator[Hints]:
    url, prefix = "embedded:", ""
    if request.param == "redis":
        url, prefix = request.getfixturevalue("redis_url"), request.getfixturevalue("redis_prefix")
    async with open_hints(url, prefix) as hints:
        yield hints
