"""A Bot API server for all tests of a worker, new for each, and an adapter before it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from pydantic import SecretStr

from adapters.telegram import Settings, create
from gateway.contracts.adapter import Adapter
from tests.fakes.telegram_server import TelegramServer


@pytest.fixture(scope="session")
def telegram_process() -> Iterator[TelegramServer]:
    with TelegramServer() as server:
        yield server


@pytest.fixture
def telegram(telegram_process: TelegramServer) -> TelegramServer:
    telegram_process.reset()
    return telegram_process


@pytest.fixture
async def adapter(telegram: TelegramServer) -> AsyncIterator[Adapter]:
    async with create("telegram", "", Settings(token=SecretStr(telegram.token), api_base=telegram.url)) as made:
        yield made
