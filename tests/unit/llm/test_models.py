"""From settings to models: who is asked, with which key, and who stands in."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager

import pytest
from pydantic import SecretStr

from gateway.errors import ConfigError
from gateway.llm import open_models
from gateway.llm.models import Models
from gateway.llm.settings import AuxiliaryTask, FallbackSettings, ModelSettings
from gateway.llm.windows import known_window, listed
from gateway.messages import Message
from tests.fakes.openai_server import OpenAIServer

HELLO = [Message("user", "say:hello")]


@pytest.fixture(scope="session")
def other_running() -> Iterator[OpenAIServer]:
    with OpenAIServer(key="sk-other", models=["other", "spare"]) as server:
        yield server


@pytest.fixture
def other(other_running: OpenAIServer) -> OpenAIServer:
    other_running.reset()
    return other_running


def settings_of(server: OpenAIServer, default: str = "fake", **more: object) -> ModelSettings:
    return ModelSettings(
        default=default,
        base_url=server.base_url,
        api_key=SecretStr(server.key),
        **more,  # type: ignore[arg-type]
    )


def entry(server: OpenAIServer, name: str = "second", model: str = "other") -> FallbackSettings:
    return FallbackSettings(name=name, model=model, base_url=server.base_url, api_key=SecretStr(server.key))


@asynccontextmanager
async def opened(settings: ModelSettings, *fallbacks: FallbackSettings, tries: int = 1) -> AsyncIterator[Models]:
    async with open_models(settings, fallbacks, tries=tries) as models:
        yield models


async def test_the_default_model_answers_and_is_made_once(server: OpenAIServer) -> None:
    async with opened(settings_of(server)) as models:
        assert (await models.model().complete(HELLO)).text == "hello"
        assert models.model() is models.model("") is models.model("fake")
        assert models.names() == ["fake"]


async def test_the_only_model_is_settled_on_entering(server: OpenAIServer) -> None:
    server.set(windows={"fake": 5000})
    async with opened(settings_of(server, "")) as models:
        assert (models.model().name, models.model().window) == ("fake", 5000)


async def test_several_models_and_none_named_is_a_setting_to_mend(other: OpenAIServer) -> None:
    with pytest.raises(ConfigError, match=r"name one in model\.default: other, spare"):
        async with opened(settings_of(other, "")):
            pass


async def test_any_other_name_is_a_model_of_the_same_endpoint(server: OpenAIServer) -> None:
    server.set(models=["fake", "bigger"])
    async with opened(settings_of(server, context_length=5000, max_tokens=9)) as models:
        await models.model("bigger").complete(HELLO)
        assert models.model("bigger").name == "bigger"
        assert models.model().window == 5000
    assert server.requests(1)[0]["model"] == "bigger"


async def test_a_fallback_stands_in_with_its_own_key_and_the_next_turn_begins_anew(
    server: OpenAIServer, other: OpenAIServer
) -> None:
    server.fault("error")
    async with opened(settings_of(server), entry(other)) as models:
        model = models.model()
        assert (await model.complete(HELLO)).text == "hello"
        assert (await model.complete(HELLO)).text == "hello"
        assert model.name == "fake"
    assert [len(server.requests()), len(other.requests())] == [2, 1]
    assert "max_tokens" not in other.requests(1)[0]


async def test_a_fallback_that_nobody_knows_has_the_window_that_its_endpoint_says(
    server: OpenAIServer, other: OpenAIServer
) -> None:
    other.set(windows={"other": 6_000})
    async with opened(settings_of(server), entry(other)) as models:
        assert (await models.model("second").complete(HELLO)).text == "hello"
        assert models.model("second").window == 6_000


async def test_a_fallback_can_be_chosen_by_its_name_and_the_main_model_is_not_asked(
    server: OpenAIServer, other: OpenAIServer
) -> None:
    async with opened(settings_of(server), entry(other)) as models:
        assert models.names() == ["fake", "second"]
        await models.model("second").complete(HELLO)
        assert models.model("second").name == "other"
    assert server.requests() == []


async def test_the_main_key_is_sent_to_no_other_endpoint(server: OpenAIServer, other: OpenAIServer) -> None:
    keyless = FallbackSettings(name="keyless", model="other", base_url=other.base_url)
    other.set(key=server.key)  # which would let the main key in
    async with opened(settings_of(server), keyless) as models:
        with pytest.raises(Exception, match=r"wants a key and none is set: set fallback_providers\[0\]\.api_key"):
            await models.model("keyless").complete(HELLO)


async def test_an_entry_without_an_address_is_at_the_main_endpoint_with_its_key(server: OpenAIServer) -> None:
    server.set(models=["fake", "cheap"])
    async with opened(settings_of(server), FallbackSettings(name="cheap", model="cheap")) as models:
        assert (await models.model("cheap").complete(HELLO)).text == "hello"
    assert server.requests(1)[0]["model"] == "cheap"


async def test_a_failure_is_asked_again_before_anybody_stands_in(server: OpenAIServer, other: OpenAIServer) -> None:
    server.fault("busy", retry_after=0)
    async with opened(settings_of(server), entry(other), tries=2) as models:
        await models.model().complete(HELLO)
    assert [len(server.requests()), len(other.requests())] == [2, 0]


async def test_a_side_task_uses_the_main_model_unless_told_otherwise(server: OpenAIServer) -> None:
    async with opened(settings_of(server)) as models:
        plain = models.auxiliary("title", AuxiliaryTask())
        assert (await plain.complete(HELLO)).text == "hello"
        assert plain is models.auxiliary("compression", AuxiliaryTask())
    assert server.requests(1)[0]["model"] == "fake"


@pytest.mark.parametrize(
    ("task", "asked"),
    [
        ({"model": "cheap"}, ["cheap", ""]),
        ({"provider": "second"}, ["", "other"]),
        ({"provider": "second", "model": "spare"}, ["", "spare"]),
        ({"base_url": "OTHER", "api_key": "sk-other", "model": "spare"}, ["", "spare"]),
    ],
)
async def test_a_side_task_can_have_a_model_of_its_own(
    server: OpenAIServer, other: OpenAIServer, task: dict[str, str], asked: list[str]
) -> None:
    server.set(models=["fake", "cheap"])
    given = {name: text.replace("OTHER", other.base_url) for name, text in task.items()}
    if "api_key" in given:
        given["api_key"] = SecretStr(given["api_key"])  # type: ignore[assignment]
    async with opened(settings_of(server), entry(other)) as models:
        model = models.auxiliary("title", AuxiliaryTask(**given))  # type: ignore[arg-type]
        assert (await model.complete(HELLO)).text == "hello"
    assert [next((body["model"] for body in each.requests(1)), "") for each in (server, other)] == asked


async def test_a_side_task_with_an_unknown_provider_lists_those_there_are(
    server: OpenAIServer, other: OpenAIServer
) -> None:
    async with opened(settings_of(server), entry(other)) as models:
        with pytest.raises(ConfigError, match=r"auxiliary\.title\.provider: there is no third; it may be auto, second"):
            models.auxiliary("title", AuxiliaryTask(provider="third"))


async def test_without_an_endpoint_every_name_is_the_offline_model_and_the_sdk_is_not_loaded() -> None:
    source = (
        "import sys; from gateway.llm import open_models; from gateway.llm.settings import ModelSettings\n"
        "models = open_models(ModelSettings())\n"
        "assert models.model().demo and models.model('gpt-5').demo\n"
        "print(models.model().name, models.names(), 'openai' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", source], check=True, capture_output=True, text=True).stdout
    assert said == "SmolLM2-135M-Instruct ['SmolLM2-135M-Instruct'] False\n"


async def test_doctor_hears_of_every_endpoint(server: OpenAIServer, other: OpenAIServer) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        down = FallbackSettings(name="down", model="m", base_url=f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
        async with opened(settings_of(server), entry(other, model="gone"), down) as models:
            main, second, third = await models.reports()
    assert (main.setting, main.model, main.models, main.problem) == ("model", "fake", ("fake",), "")
    assert second.models == ("other", "spare")
    assert second.problem.endswith("does not list gone")
    assert "cannot be reached" in third.problem


async def test_doctor_hears_what_is_wrong_with_the_choice(other: OpenAIServer) -> None:
    async with aclosing(open_models(settings_of(other, ""))) as models:
        (report,) = await models.reports()
    assert "name one in model.default: other, spare" in report.problem


async def test_doctor_hears_of_the_offline_model() -> None:
    (report,) = await open_models(ModelSettings()).reports()
    assert (report.host, report.window, report.problem) == ("this machine", 8192, "")


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("gpt-4o-mini", 128_000),
        ("openai/gpt-4.1", 1_047_576),
        ("gpt-4-turbo-2024", 128_000),
        ("gpt-4-0613", 8_192),
        ("anthropic/claude-sonnet-5", 200_000),
        ("My-Own", None),
        ("", None),
    ],
)
def test_windows_are_known_by_the_longest_beginning_of_the_name(name: str, tokens: int | None) -> None:
    assert known_window(name) == tokens


@pytest.mark.parametrize(
    ("body", "models"),
    [
        ({"data": [{"id": "a", "max_model_len": 4096}]}, {"a": 4096}),
        ({"data": [{"id": "a", "context_length": 8, "max_model_len": 4}]}, {"a": 4}),
        ({"data": [{"id": "a", "meta": {"n_ctx": 512, "n_ctx_train": 8192}}]}, {"a": 512}),
        ({"data": [{"id": "a", "context_length": "big"}, {"id": 3}, None]}, {"a": None}),
        ([{"id": "a"}], {"a": None}),
        ({"data": None}, {}),
        ("<html>", {}),
        (None, {}),
    ],
)
def test_lists_of_models_are_read_as_endpoints_write_them(body: object, models: dict[str, int | None]) -> None:
    assert listed(body) == models
