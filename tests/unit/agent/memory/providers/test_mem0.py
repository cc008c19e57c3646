"""What Mem0 is asked and told by the provider, as it arrives there, and what a person reads when it fails."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gateway.agent.memory.providers import mem0
from gateway.agent.memory.providers.given import Given
from gateway.agent.memory.providers.mem0 import Mem0, create
from gateway.agent.memory.providers.mem0_api import HttpApi, PlatformApi, ServerApi
from gateway.agent.memory.providers.service import Place, Service
from gateway.agent.memory.settings import MemorySettings
from gateway.errors import ConfigError, ToolError
from tests.contract.test_memory_provider import ANN, BOB, scope_of
from tests.fakes.mem0_server import Mem0Server

HOUSE = scope_of("home")
GROUP = scope_of("chat:telegram:-100%3A7", chat_id="telegram:-100%3A7")


@pytest.fixture
async def server() -> AsyncIterator[Mem0Server]:
    async with Mem0Server() as running:
        yield running
        assert running.violations == []


@pytest.fixture(params=["platform", "selfhosted"])
async def provider(request: pytest.FixtureRequest, server: Mem0Server) -> AsyncIterator[Mem0]:
    """The provider over each way to ask, without pauses between the tries."""
    place = Place("Mem0", server.url, "memory.mem0.api_key", "memory.mem0.endpoint")
    api: HttpApi
    if request.param == "platform":
        api = PlatformApi(Service(place, {"Authorization": f"Token {server.key}"}, pauses=(0, 0)))
    else:
        api = ServerApi(Service(place, {"X-API-Key": server.key}, pauses=(0, 0)))
    async with Mem0(api) as entered:
        yield entered


def given(
    tmp_path: Path, file: dict[str, Any] | None = None, variables: dict[str, str] | None = None, **said: Any
) -> Given:
    settings = MemorySettings.model_validate({"provider": "mem0", "mem0": said})
    return Given(settings, tmp_path, variables or {}, file or {})


# --- what arrives there


async def test_a_search_is_about_nobody_but_the_owner(provider: Mem0, server: Mem0Server) -> None:
    await provider.prefetch("When is the harbour closed?", ANN)
    await provider.call("mem0_search", {"query": "harbour"}, GROUP)
    assert [asked.body["filters"] for asked in server.requests] == [
        {"user_id": "person:ann"},
        {"user_id": "chat:telegram:-100%3A7"},
    ]


async def test_what_is_told_bears_its_owner_and_where_it_was_said(provider: Mem0, server: Mem0Server) -> None:
    await provider.sync_turn("I moved to Lindau", "Noted.", ANN)
    await provider.call("mem0_add", {"content": "Ann lives in Lindau"}, GROUP)
    learnt, added = (asked.body for asked in server.requests)
    assert learnt == {
        "messages": [{"role": "user", "content": "I moved to Lindau"}, {"role": "assistant", "content": "Noted."}],
        "user_id": "person:ann",
        "metadata": {"platform": "telegram", "chat": "telegram:ann"},
        "infer": True,
    }
    assert (added["user_id"], added["infer"], added["metadata"]["chat"]) == (GROUP.owner, False, GROUP.chat_id)


async def test_of_two_people_no_request_of_the_one_names_the_other(provider: Mem0, server: Mem0Server) -> None:
    for scope, hint in ((ANN, "tulip"), (BOB, "walnut")):
        server.requests.clear()
        await provider.sync_turn(f"My PIN hint is {hint}", "Noted.", scope)
        await provider.prefetch("What is my PIN hint?", scope)
        await provider.call("mem0_search", {"query": "PIN hint"}, scope)
        await provider.forget(scope)
        other = "bob" if scope is ANN else "ann"
        assert server.requests
        assert [str(asked) for asked in server.requests if other in f"{asked.path} {asked.query} {asked.body}"] == []


async def test_what_a_careless_server_returns_of_others_is_left_out(provider: Mem0, server: Mem0Server) -> None:
    await provider.sync_turn("My PIN hint is tulip", "Noted.", ANN)
    server.careless = True
    assert await provider.prefetch("What is my PIN hint?", BOB) == ""
    assert json.loads(await provider.call("mem0_search", {"query": "PIN hint"}, BOB)) == {"results": []}
    assert "tulip" in await provider.prefetch("What is my PIN hint?", ANN)


async def test_a_memory_of_somebody_else_is_neither_changed_nor_deleted(provider: Mem0, server: Mem0Server) -> None:
    await provider.sync_turn("My PIN hint is tulip", "Noted.", ANN)
    (id,) = server.memories
    for name, arguments in (("mem0_update", {"text": "gone"}), ("mem0_delete", {})):
        server.requests.clear()
        with pytest.raises(ToolError, match="no memory with this id: take one from mem0_search"):
            await provider.call(name, {"memory_id": id} | arguments, BOB)
        assert [asked.method for asked in server.requests] == ["GET"]
    assert server.texts("person:ann") == ["My PIN hint is tulip"]


@pytest.mark.parametrize("id", ["", "..", "../users", "a/b", "a?user_id=person:ann", "*", "ä", "x" * 200])
async def test_an_id_that_is_none_is_not_asked_for(provider: Mem0, server: Mem0Server, id: str) -> None:
    with pytest.raises(ToolError, match="no memory with this id"):
        await provider.call("mem0_delete", {"memory_id": id}, ANN)
    assert server.requests == []


async def test_a_memory_of_ones_own_is_corrected_and_forgotten(provider: Mem0, server: Mem0Server) -> None:
    await provider.sync_turn("My PIN hint is tulip", "Noted.", ANN)
    (id,) = server.memories
    await provider.call("mem0_update", {"memory_id": id, "text": "My PIN hint is pecan"}, ANN)
    assert server.texts("person:ann") == ["My PIN hint is pecan"]
    await provider.call("mem0_delete", {"memory_id": id}, ANN)
    assert server.memories == {}


async def test_an_owner_that_mem0_would_misread_has_an_id_of_its_own(provider: Mem0, server: Mem0Server) -> None:
    odd = ["*", "person:a b", "person:a%20b", "person:*", "person:ä", "person:\ud83d", "sha256:x"]
    for owner in odd:
        await provider.sync_turn("hello", "", scope_of(owner, chat_id="c"))
    users = [asked.body["user_id"] for asked in server.requests]
    assert len(set(users)) == len(odd)
    assert not set(users) & {"*", "person:*", "sha256:x"}


@pytest.mark.parametrize("context", ["cron", "subagent", "flush"])
async def test_a_run_without_a_person_reads_and_does_not_write(
    provider: Mem0, server: Mem0Server, context: str
) -> None:
    await provider.sync_turn("My PIN hint is tulip", "Noted.", ANN)
    (id,) = server.memories
    run = scope_of("person:ann", context=context)
    server.requests.clear()
    await provider.sync_turn("The job has run", "Fine.", run)
    for name, arguments in (
        ("mem0_add", {"content": "x"}),
        ("mem0_update", {"memory_id": id, "text": "x"}),
        ("mem0_delete", {"memory_id": id}),
    ):
        with pytest.raises(ToolError, match="without a person"):
            await provider.call(name, arguments, run)
    assert server.requests == []
    assert "tulip" in await provider.prefetch("What is my PIN hint?", run)


async def test_a_message_of_nothing_but_blanks_asks_and_tells_nothing(provider: Mem0, server: Mem0Server) -> None:
    assert await provider.prefetch(" \n\0", ANN) == ""
    await provider.sync_turn(" ", "\0", ANN)
    assert server.requests == []


# --- what it says when it fails


FAULTS = {
    "unauthorized": "does not accept the key (401): the owner must set memory.mem0.api_key",
    "busy": "has had too many requests (429): try again later",
    "error": "has trouble of its own (500): try again later",
    "down": "has trouble of its own (503): try again later",
    "garbage": "answers, but not as Mem0 does: check memory.mem0.endpoint",
    "other": "answers, but not as Mem0 does: check memory.mem0.endpoint",
    "cut": "cannot be reached: try again later, or check memory.mem0.endpoint",
}


@pytest.mark.parametrize("kind", FAULTS)
async def test_what_went_wrong_is_said_in_a_sentence_and_the_next_call_works(
    provider: Mem0, server: Mem0Server, kind: str
) -> None:
    await provider.sync_turn("My PIN hint is tulip", "Noted.", ANN)
    server.fault(kind, times=3 if kind in {"busy", "down"} else 1)
    with pytest.raises(ToolError) as failed:
        await provider.call("mem0_search", {"query": "PIN hint"}, ANN)
    assert str(failed.value) == f"Mem0 ({server.url.removeprefix('http://')}) {FAULTS[kind]}"
    assert server.key not in str(failed.value)
    assert "tulip" in await provider.call("mem0_search", {"query": "PIN hint"}, ANN)


@pytest.mark.parametrize("kind", ["busy", "down"])
async def test_what_a_busy_service_refused_is_told_again(provider: Mem0, server: Mem0Server, kind: str) -> None:
    server.fault(kind, times=2)
    await provider.sync_turn("My PIN hint is tulip", "Noted.", ANN)
    assert (len(server.requests), server.texts("person:ann")) == (3, ["My PIN hint is tulip"])


@pytest.mark.parametrize("kind", ["error", "cut"])
async def test_what_may_have_been_kept_is_not_told_twice(provider: Mem0, server: Mem0Server, kind: str) -> None:
    server.fault(kind)
    with pytest.raises(ToolError):
        await provider.sync_turn("My PIN hint is tulip", "Noted.", ANN)
    assert len(server.requests) == 1


async def test_a_service_that_asks_for_a_long_pause_is_not_waited_for(provider: Mem0, server: Mem0Server) -> None:
    server.fault("busy", retry_after=60)
    with pytest.raises(ToolError, match="try again in 60 s"):
        await provider.call("mem0_search", {"query": "PIN hint"}, ANN)
    assert len(server.requests) == 1


async def test_a_turn_does_not_wait_for_a_service_that_is_silent(
    provider: Mem0, server: Mem0Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mem0, "WAIT", 0.05)
    server.fault("stall")
    with pytest.raises(TimeoutError):
        await provider.prefetch("When is the harbour closed?", ANN)


async def test_a_service_that_is_not_there_is_said_to_be_out_of_reach(server: Mem0Server) -> None:
    url = server.url
    await server.__aexit__(None, None, None)
    place = Place("Mem0", url, "memory.mem0.api_key", "memory.mem0.endpoint")
    async with Mem0(ServerApi(Service(place, {}, pauses=(0, 0)))) as provider:
        with pytest.raises(ToolError, match="cannot be reached"):
            await provider.call("mem0_search", {"query": "PIN hint"}, ANN)


# --- how it is set up


async def test_settings_go_before_the_file_and_the_file_before_the_variables(
    tmp_path: Path, server: Mem0Server
) -> None:
    file = {"api_key": server.key, "host": "http://127.0.0.1:1", "user_id": "ann-at-mem0"}
    variables = {"MEM0_API_KEY": "other", "MEM0_HOST": "http://127.0.0.1:2", "MEM0_USER_ID": "other"}
    async with create(given(tmp_path, file, variables, endpoint=server.url)) as provider:
        await provider.sync_turn("hello", "", HOUSE)
    asked = server.requests[-1]
    assert (str(asked), asked.headers["X-API-Key"], asked.body["user_id"]) == (
        "POST /memories",
        server.key,
        "ann-at-mem0",
    )


async def test_the_variables_alone_will_do(tmp_path: Path, server: Mem0Server) -> None:
    variables = {"MEM0_API_KEY": server.key, "MEM0_HOST": server.url, "MEM0_USER_ID": "hermes-user"}
    async with create(given(tmp_path, variables=variables)) as provider:
        await provider.sync_turn("hello", "", HOUSE)
    assert server.requests[-1].body["user_id"] == "hermes-user"


async def test_an_address_with_the_mode_platform_is_the_services(tmp_path: Path, server: Mem0Server) -> None:
    async with create(given(tmp_path, mode="platform", endpoint=server.url, api_key=server.key)) as provider:
        await provider.prefetch("hello", HOUSE)
    assert str(server.requests[-1]) == "POST /v3/memories/search/"


async def test_the_service_orders_once_more_where_it_is_told_to(tmp_path: Path, server: Mem0Server) -> None:
    said: dict[str, Any] = {"mode": "platform", "endpoint": server.url, "api_key": server.key}
    async with create(given(tmp_path, {"rerank": True}, **said)) as provider:
        await provider.prefetch("hello", ANN)
        await provider.call("mem0_search", {"query": "hello", "rerank": False}, ANN)
    assert [asked.body["rerank"] for asked in server.requests] == [True, False]


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({}, "memory.mem0.api_key: is missing; set it, or MEM0_API_KEY, to a key of app.mem0.ai"),
        ({"mode": "selfhosted"}, "memory.mem0.endpoint: is missing"),
        ({"endpoint": "localhost:8888"}, "memory.mem0.endpoint (MEM0_HOST): not an address"),
        ({"api_key": "k\u00e9y"}, "memory.mem0.api_key (MEM0_API_KEY): holds characters that no key has"),
        ({"api_key": "k", "user_id": "person:ann"}, "memory.mem0.user_id"),
        ({"api_key": "k", "user_id": "*"}, "memory.mem0.user_id"),
    ],
)
def test_what_cannot_work_is_said_at_once(tmp_path: Path, said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as failed:
        create(given(tmp_path, **said))
    assert str(failed.value).startswith(sentence)


def test_a_mode_of_the_file_that_there_is_not_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no mode 'cloud'; write platform, selfhosted or oss"):
        create(given(tmp_path, {"mode": "cloud"}, api_key="k"))
