"""One fake endpoint for all tests of the models, reset before each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from pydantic import SecretStr

from gateway.llm.clients import Clients
from gateway.llm.endpoint import Asking, Endpoint
from gateway.llm.openai import OpenAIModel
from tests.fakes.openai_server import OpenAIServer

Make = Callable[..., OpenAIModel]


@pytest.fixture(scope="session")
def running_server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def server(running_server: OpenAIServer) -> OpenAIServer:
    running_server.reset()
    return running_server


@pytest.fixture
async def clients() -> AsyncIterator[Clients]:
    async with Clients() as opened:
        yield opened


@pytest.fixture
def make(server: OpenAIServer, clients: Clients) -> Make:
    """Make a model of the fake endpoint."""

    def model(model: str = "fake", *, url: str = "", key: str | None = None, **asking: object) -> OpenAIModel:
        endpoint = Endpoint(url or server.base_url, SecretStr(server.key if key is None else key))
        return clients.model(endpoint, Asking(**{"model": model, "window": 8000} | asking))  # type: ignore[arg-type]

    return model
