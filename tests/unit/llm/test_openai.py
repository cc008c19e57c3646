"""OpenAIModel against a strict endpoint in another process."""

from __future__ import annotations

import asyncio
import socket
from contextlib import aclosing
from typing import Any

import pytest

from gateway.contracts.model import Completed, Model, ModelPiece
from gateway.contracts.tool import ToolSpec
from gateway.errors import (
    AuthFailed,
    BadResponse,
    ConfigError,
    ContextOverflow,
    ModelBusy,
    ModelError,
    ModelRefused,
)
from gateway.llm.faults import BrokenOff, ModelUnknown, ModelUnreachable
from gateway.messages import Message, TextDelta, ToolCall
from tests.fakes.openai_server import KEY, OpenAIServer
from tests.unit.llm.conftest import Make

HELLO = [Message("system", "You are kind."), Message("user", "say:Hello there, friend")]
CLOCK = ToolSpec("current_time", "Tell the time.", {"type": "object", "properties": {"zone": {"type": "string"}}})


async def heard(model: Model, messages: list[Message], tools: tuple[ToolSpec, ...] = ()) -> list[ModelPiece]:
    return [piece async for piece in model.stream(messages, tools)]


async def failure(model: Model, messages: list[Message] | None = None) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await heard(model, messages or HELLO)
    assert KEY not in str(caught.value)
    return caught.value


async def test_the_deltas_joined_are_the_answer(make: Make) -> None:
    *deltas, last = await heard(make(), HELLO)
    assert isinstance(last, Completed)
    assert len(deltas) == 3
    assert "".join(piece.text for piece in deltas if isinstance(piece, TextDelta)) == last.text
    assert last.text == "Hello there, friend"
    assert (last.calls, last.ending) == ((), "stop")
    assert last.usage.prompt > 0
    assert last.usage.cached == last.usage.prompt // 2


async def test_calls_come_whole_and_a_history_with_their_results_is_accepted(make: Make, server: OpenAIServer) -> None:
    asked = [Message("user", 'tool:current_time:{"zone": "Asia/Tokyo"}\ntool:current_time:{}')]
    (answer,) = await heard(make(), asked, (CLOCK,))
    assert isinstance(answer, Completed)
    assert [(call.name, call.arguments) for call in answer.calls] == [
        ("current_time", '{"zone": "Asia/Tokyo"}'),
        ("current_time", "{}"),
    ]
    first, second = answer.calls
    assert first.id != second.id
    asked += [Message("assistant", answer.text, answer.calls)]
    asked += [Message("tool", "12:00", call_id=call.id, name=call.name) for call in answer.calls]
    assert (await make().complete(asked)).text == "12:00\n12:00"
    assert server.violations() == []


async def test_the_request_says_what_the_settings_say_and_no_more(make: Make, server: OpenAIServer) -> None:
    await make(max_tokens=77, temperature=0.5).complete(HELLO)
    await make().complete(HELLO)
    full, bare = server.requests(2)
    assert (full["max_tokens"], full["temperature"]) == (77, 0.5)
    assert bare == {
        "model": "fake",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "system", "content": "You are kind."},
            {"role": "user", "content": "say:Hello there, friend"},
        ],
    }


async def test_what_is_composed_into_a_message_goes_in_its_place(make: Make, server: OpenAIServer) -> None:
    await make().complete([Message("user", "hi", api_content="[Ann] hi")])
    assert server.requests(1)[0]["messages"] == [{"role": "user", "content": "[Ann] hi"}]


@pytest.mark.parametrize(
    "text",
    [
        "half \ud83d of an emoji",
        "a NUL \0 within",
        "\udc00\ud800",
        "مرحبا بالعالم",
        "東京 👩‍👩‍👧‍👦 e\u0301",
        "x" * 300_000,
        '"\\u0000" \\',
    ],
)
async def test_any_text_arrives(make: Make, server: OpenAIServer, text: str) -> None:
    answer = await make().complete([Message("user", f"say:{text}")])
    assert answer.text == text.replace("\0", "").encode("utf-8", "replace").decode().replace("?", "\ufffd")
    assert server.violations() == []


async def test_arguments_with_half_a_character_arrive(make: Make, server: OpenAIServer) -> None:
    history = [
        Message("user", "say:ok"),
        Message("assistant", "", (ToolCall("c1", "write", '{"text": "\ud83d"}'),)),
        Message("tool", "\udc9d\0", call_id="c1"),
    ]
    assert (await make().complete(history)).text == "ok"
    assert server.requests(1)[0]["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"text": "\ufffd"}'


async def test_without_a_key_no_key_is_sent(make: Make, server: OpenAIServer) -> None:
    server.set(key="")
    assert (await make(key="").complete(HELLO)).text == "Hello there, friend"


async def test_keys_of_the_environment_go_nowhere(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ADMIN_KEY", KEY)
    error = await failure(make(key=""))
    assert str(error) == f"{make().endpoint.host} wants a key and none is set: set model.api_key (OPENAI_API_KEY)"


async def test_a_refused_key_names_the_setting(make: Make) -> None:
    error = await failure(make(key="sk-wrong"))
    assert isinstance(error, AuthFailed)
    assert str(error) == f"{make().endpoint.host} does not accept the key of model.api_key (OPENAI_API_KEY)"


async def test_an_unknown_model_says_where_the_list_is(make: Make) -> None:
    error = await failure(make("gpt-9"))
    assert isinstance(error, ModelUnknown)
    assert "no model named gpt-9; `hermes-gateway doctor` lists" in str(error)


@pytest.mark.parametrize(("kind", "status"), [("error", 500), ("overloaded", 529)])
async def test_trouble_of_the_endpoint_is_busy(make: Make, server: OpenAIServer, kind: str, status: int) -> None:
    server.fault(kind)
    error = await failure(make())
    assert isinstance(error, ModelBusy)
    assert f"({status})" in str(error)
    assert error.retry_after is None


async def test_too_many_requests_say_how_long_to_wait(make: Make, server: OpenAIServer) -> None:
    server.fault("busy", retry_after=7)
    error = await failure(make())
    assert isinstance(error, ModelBusy)
    assert error.retry_after == 7.0
    assert "asks to wait 7 s" in str(error)


async def test_an_overflow_is_recognised(make: Make, server: OpenAIServer) -> None:
    server.fault("overflow")
    assert isinstance(await failure(make()), ContextOverflow)


async def test_the_window_an_overflow_names_is_remembered_and_never_grows(
    make: Make, server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    model = make(window=128_000)
    server.fault("overflow")
    await failure(model)
    assert model.window == 8192
    assert "takes 8192 tokens for fake, not 128000" in caplog.text
    server.fault("overflow", message="This model's maximum context length is 900000 tokens.")
    await failure(model)
    assert model.window == 8192


async def test_a_window_named_within_the_stream_is_remembered_too(make: Make, server: OpenAIServer) -> None:
    model = make()
    server.fault("error_chunk", code="context_length_exceeded", message="the context length is 4096 tokens")
    await failure(model)
    assert model.window == 4096


async def test_what_an_endpoint_lists_later_does_not_undo_what_it_refused(make: Make, server: OpenAIServer) -> None:
    server.set(models=["fake"], windows={"fake": 64_000})
    async with make(window=None) as model:
        server.fault("overflow")
        await failure(model)
        assert (await model.complete(HELLO)).text == "Hello there, friend"
        assert model.window == 8192


async def test_any_other_refusal_repeats_the_words_but_not_the_key(make: Make, server: OpenAIServer) -> None:
    server.fault("status", status=400, message=f"the key {KEY}\nis not allowed to sing", code="no_singing")
    error = await failure(make())
    assert type(error) is ModelRefused
    assert str(error).endswith("refuses the request (400): the key [key] is not allowed to sing")


@pytest.mark.parametrize(
    ("kind", "told"), [("truncate", BrokenOff), ("malformed", BadResponse), ("disconnect", BrokenOff)]
)
@pytest.mark.parametrize("after", [0, 2])
async def test_a_stream_that_breaks_is_a_bad_response(
    make: Make, server: OpenAIServer, kind: str, told: type[BadResponse], after: int
) -> None:
    server.fault(kind, after=after)
    shown = 0
    with pytest.raises(BadResponse) as raised:
        async for _ in make().stream(HELLO):
            shown += 1
    assert (shown, type(raised.value)) == (after, told)


@pytest.mark.parametrize("chunk", ["null", "[]", "7", "[" * 100_000, '{"a": ' + "9" * 5000 + "}", "\ufeff{}", "NaN"])
async def test_whatever_a_chunk_is_it_does_no_more_than_spoil_the_answer(
    make: Make, server: OpenAIServer, chunk: str
) -> None:
    server.fault("malformed", chunk=chunk)
    with pytest.raises(BadResponse):
        await make().complete(HELLO)


async def test_an_error_within_the_stream_is_told_by_its_code(make: Make, server: OpenAIServer) -> None:
    server.fault("error_chunk", code=429, message="slow down", type="x")
    assert isinstance(await failure(make()), ModelBusy)
    server.fault("error_chunk", code="context_length_exceeded", type="x")
    assert isinstance(await failure(make()), ContextOverflow)
    server.fault("error_chunk", code=None, type="mystery")
    error = await failure(make())
    assert isinstance(error, BadResponse)
    assert str(error).endswith("broke off its answer: the engine died")


async def test_a_silent_endpoint_is_busy(make: Make, server: OpenAIServer) -> None:
    server.fault("stall", after=1)
    error = await failure(make(timeout=0.2))
    assert isinstance(error, ModelBusy)
    assert str(error).endswith("was silent for 0.2 s")


async def test_a_web_page_in_place_of_an_answer_says_what_to_check(make: Make, server: OpenAIServer) -> None:
    server.fault("html")
    error = await failure(make())
    assert isinstance(error, BadResponse)
    assert "check model.base_url, which usually ends in /v1" in str(error)


async def test_a_base_url_without_its_path_says_what_to_check(make: Make, server: OpenAIServer) -> None:
    error = await failure(make(url=server.base_url.removesuffix("/v1")))
    assert type(error) is ModelRefused
    assert "check model.base_url" in str(error)


@pytest.mark.parametrize(("kind", "ending"), [("filter", "filter"), ("length", "length"), ("empty", "stop")])
async def test_endings_are_told(make: Make, server: OpenAIServer, kind: str, ending: str) -> None:
    server.fault(kind)
    assert (await make().complete(HELLO)).ending == ending


async def test_an_endpoint_that_is_down_is_named_by_its_host(make: Make) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        error = await failure(make(url=f"http://127.0.0.1:{port}/v1"))
    assert isinstance(error, ModelUnreachable)
    assert str(error) == f"127.0.0.1:{port} cannot be reached (Connection refused)"


async def test_what_the_endpoint_does_not_know_is_left_out_from_then_on(make: Make, server: OpenAIServer) -> None:
    server.set(refuse=["stream_options"])
    model = make()
    for _ in range(2):
        assert (await model.complete(HELLO)).usage.prompt == 0
    assert ["stream_options" in body for body in server.requests()] == [True, False, False]


@pytest.mark.parametrize(
    ("message", "left"),
    [
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", {"max_completion_tokens": 9}),
        ("Unsupported value: 'temperature' does not support 0.1 with this model.", {"max_tokens": 9}),
    ],
)
async def test_parameters_a_model_does_not_take_are_changed(
    make: Make, server: OpenAIServer, message: str, left: dict[str, Any]
) -> None:
    model = make(max_tokens=9, temperature=0.1)
    server.fault("status", message=message)
    assert (await model.complete(HELLO)).text == "Hello there, friend"
    assert left.items() <= server.requests(1)[0].items()
    assert not {"max_tokens", "temperature"} <= server.requests(1)[0].keys()


async def test_a_refusal_that_nothing_can_be_learned_from_is_not_asked_again(make: Make, server: OpenAIServer) -> None:
    server.fault("status", message="max_tokens is too large: 9. This model supports at most 4 completion tokens")
    assert type(await failure(make(max_tokens=9))) is ModelRefused
    assert len(server.requests()) == 1


async def test_leaving_the_stream_hangs_up(make: Make, server: OpenAIServer) -> None:
    server.set(delay=0.05)
    async with aclosing(make().stream([Message("user", "words:1000")])) as stream:
        await anext(stream)
        assert server.counts()["running"] == 1
    while server.counts()["running"]:
        await asyncio.sleep(0.01)


async def test_a_cancelled_request_hangs_up(make: Make, server: OpenAIServer) -> None:
    server.fault("stall", after=0)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(make().complete(HELLO))
        while not server.counts()["running"]:
            await asyncio.sleep(0.01)
        task.cancel()
    while server.counts()["running"]:
        await asyncio.sleep(0.01)


async def test_the_same_conversation_is_the_same_to_the_byte(make: Make, server: OpenAIServer) -> None:
    for _ in range(2):
        await make().complete(HELLO)
    first, second = server.requests(2)
    assert list(first.items()) == list(second.items())


async def test_the_only_model_of_an_endpoint_is_taken_with_its_window(make: Make, server: OpenAIServer) -> None:
    server.set(models=["lone"], windows={"lone": 12_345})
    async with make("", window=None) as model:
        assert (model.name, model.window) == ("lone", 12_345)
        assert (await model.complete(HELLO)).text == "Hello there, friend"
    assert server.requests(1)[0]["model"] == "lone"


async def test_of_several_models_one_has_to_be_named(make: Make, server: OpenAIServer) -> None:
    server.set(models=["b", "a"])
    with pytest.raises(ConfigError, match=r"several models; name one in model\.default: a, b"):
        await make("").__aenter__()
    assert isinstance(await failure(make("")), ModelRefused)


async def test_an_endpoint_that_was_down_at_the_start_is_asked_by_the_first_turn(
    make: Make, server: OpenAIServer
) -> None:
    server.set(key="other")
    async with make("") as model:
        assert model.name == "default"
        assert isinstance(await failure(model), AuthFailed)
        server.set(key=server.key)
        assert (await model.complete(HELLO)).text == "Hello there, friend"
        assert model.name == "fake"


async def test_a_window_nobody_knows_is_assumed_with_a_warning(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    async with make(window=None) as model:
        assert model.window == 128_000
    assert "set model.context_length" in caplog.text


async def test_settings_come_before_what_the_endpoint_says(make: Make, server: OpenAIServer) -> None:
    server.set(windows={"fake": 4096})
    async with make(window=None) as model:
        assert model.window == 4096
    async with make(window=9999) as model:
        assert model.window == 9999
