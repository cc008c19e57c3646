"""A second opinion: the faults of somebody else's model of the endpoint."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator

import pytest
from llmock.pytest_plugin import LLMock
from pydantic import SecretStr

from gateway.contracts.tool import ToolSpec
from gateway.errors import BadResponse, ContextOverflow, ModelBusy
from gateway.llm.clients import Clients
from gateway.llm.endpoint import Asking, Endpoint
from gateway.llm.openai import OpenAIModel
from gateway.llm.retry import RetryingModel
from gateway.messages import Message, Retracted, TextDelta

HELLO = [Message("user", "Tell me of the sea")]
WEATHER = ToolSpec(
    "get_weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
)


@pytest.fixture(autouse=True)
def _unheard() -> Iterator[None]:
    """The library's server gives its loggers levels and leaves them so; other tests listen to the same loggers."""
    yield
    for name in ("uvicorn", "uvicorn.access", "uvicorn.asgi", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.NOTSET)


@pytest.fixture
async def model(llmock: LLMock) -> AsyncIterator[OpenAIModel]:
    async with Clients() as clients:
        endpoint = Endpoint(llmock.base_url("openai"), SecretStr("sk-1"))
        yield clients.model(endpoint, Asking("gpt-4o", 8000, timeout=5.0))


async def test_it_answers(llmock: LLMock, model: OpenAIModel) -> None:
    llmock.reply("The sea is wide.")
    pieces = [piece async for piece in model.stream(HELLO)]
    assert "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)) == "The sea is wide."


async def test_it_calls_tools(llmock: LLMock, model: OpenAIModel) -> None:
    llmock.call_tool("get_weather", {"city": "Porto"})
    *_, answer = [piece async for piece in model.stream(HELLO, [WEATHER])]
    assert not isinstance(answer, TextDelta | Retracted)
    (call,) = answer.calls
    assert (call.name, call.arguments.replace(" ", "")) == ("get_weather", '{"city":"Porto"}')
    history = [*HELLO, Message("assistant", answer.text, answer.calls), Message("tool", "sunny", call_id=call.id)]
    assert (await model.complete(history)).text


async def test_a_rate_limit_is_waited_for(llmock: LLMock, model: OpenAIModel) -> None:
    llmock.rate_limit(times=1, retry_after=3).reply("at last")
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    assert (await RetryingModel(model, sleep=sleep, chance=lambda top: 0.0).complete(HELLO)).text == "at last"
    assert pauses == [3.0]


@pytest.mark.parametrize("kind", ["truncate", "corrupt", "disconnect"])
async def test_a_broken_stream_is_told(llmock: LLMock, model: OpenAIModel, kind: str) -> None:
    llmock.reply("one two three four five six seven", times=2)
    getattr(llmock, kind)(after_chunks=3)
    with pytest.raises(BadResponse):
        await model.complete(HELLO)
    assert (await model.complete(HELLO)).text == "one two three four five six seven"


async def test_an_overflow_and_an_outage_are_told(llmock: LLMock, model: OpenAIModel) -> None:
    llmock.context_overflow()
    with pytest.raises(ContextOverflow):
        await model.complete(HELLO)
    llmock.outage()
    with pytest.raises(ModelBusy):
        await model.complete(HELLO)


async def test_a_real_quota_names_a_time(llmock: LLMock, model: OpenAIModel) -> None:
    llmock.limits(rpm=1)
    await model.complete(HELLO)
    with pytest.raises(ModelBusy) as caught:
        await model.complete(HELLO)
    assert caught.value.retry_after is not None
    assert 0 < caught.value.retry_after <= 60
