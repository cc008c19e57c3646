"""What Honcho is asked and told by the provider, as it arrives there, and what a person reads when it fails."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from gateway.agent.memory.providers import honcho, honcho_memory
from gateway.agent.memory.providers.given import Given
from gateway.agent.memory.providers.honcho import create
from gateway.agent.memory.providers.honcho_client import HonchoClient, Names, resource
from gateway.agent.memory.providers.honcho_memory import Honcho
from gateway.agent.memory.providers.service import Place
from gateway.agent.memory.settings import MemorySettings
from gateway.errors import ConfigError, ToolError
from tests.contract.test_memory_provider import ANN, BOB, scope_of
from tests.fakes.honcho_server import HonchoServer
from tests.fakes.memory_service import Asked

HOUSE = scope_of("home")
NAMES = Names()


@pytest.fixture
async def server() -> AsyncIterator[HonchoServer]:
    async with HonchoServer() as running:
        yield running
        assert running.violations == []


def client(server: HonchoServer, *, names: Names = NAMES, retries: int = 0) -> HonchoClient:
    place = Place("Honcho", server.url, "memory.honcho.api_key", "memory.honcho.endpoint")
    return HonchoClient(place, server.key, names, retries=retries)


@pytest.fixture
async def provider(server: HonchoServer) -> AsyncIterator[Honcho]:
    """The provider as it is set up by itself, but that the SDK does not ask again."""
    async with Honcho(client(server)) as entered:
        yield entered


def given(
    tmp_path: Path,
    said: Mapping[str, Any],
    file: Mapping[str, Any] | None = None,
    variables: Mapping[str, str] | None = None,
) -> Given:
    settings = MemorySettings.model_validate({"provider": "honcho", "honcho": said})
    return Given(settings, tmp_path, variables or {}, file or {})


def posted(server: HonchoServer, path: str) -> list[Asked]:
    return [asked for asked in server.requests if asked.method == "POST" and asked.path.endswith(path)]


# --- what arrives there


async def test_a_turn_is_told_as_two_messages_in_the_session_of_the_owner(
    provider: Honcho, server: HonchoServer
) -> None:
    await provider.sync_turn("I moved to Lindau", "Noted.", ANN)
    (asked,) = posted(server, "/sessions")
    assert asked.body["metadata"] == {"platform": "telegram", "chat": "telegram:ann"}
    user, ai = NAMES.user("person:ann"), NAMES.ai("person:ann")
    assert [(one.peer_id, one.content) for one in server.messages] == [(user, "I moved to Lindau"), (ai, "Noted.")]
    assert server.messages[0].session_id == NAMES.session(ANN, 0)


async def test_a_session_is_made_once(provider: Honcho, server: HonchoServer) -> None:
    for _ in range(3):
        await provider.sync_turn("hello", "hi", ANN)
        await provider.prefetch("hello", ANN)
    assert len(posted(server, "/sessions")) == 1


async def test_two_people_share_no_peer_and_no_session_even_where_they_speak_together(
    provider: Honcho, server: HonchoServer
) -> None:
    where = {"session_id": "shared", "chat_id": "telegram:1", "gateway_session_key": "shared"}
    for owner in ("person:ann", "person:bob"):
        await provider.sync_turn("hello", "hi", scope_of(owner, **where))
    first, second = (set(session["peers"]) for session in server.sessions.values())
    assert (len(first), len(second), first & second) == (2, 2, set())


async def test_of_two_people_no_request_of_the_one_names_the_other(provider: Honcho, server: HonchoServer) -> None:
    for scope, other in ((ANN, BOB), (BOB, ANN)):
        server.requests.clear()
        await provider.on_turn_start(1, "hello", scope)
        await provider.sync_turn("My PIN hint is tulip", "Noted.", scope)
        await provider.queue_prefetch("hello", scope)
        await provider.on_memory_write("add", "user", "likes tulips", scope, {})
        await provider.prefetch("What is my PIN hint?", scope)
        for name in ("honcho_search", "honcho_reasoning"):
            await provider.call(name, {"query": "PIN hint"}, scope)
        await provider.forget(scope)
        theirs = (NAMES.user(other.owner), NAMES.ai(other.owner), NAMES.session(other, 0))
        seen = [f"{asked} {dict(asked.query)} {asked.body}" for asked in server.requests]
        assert [text for text in seen if any(name in text for name in theirs)] == []


@pytest.mark.parametrize("owner", ["person:ä", "person:a b", "chat:telegram:-100%3A7", "person:" + "x" * 300, "\ud83d"])
async def test_any_owner_and_session_has_a_name_that_honcho_takes(
    provider: Honcho, server: HonchoServer, owner: str
) -> None:
    await provider.sync_turn("hello", "hi", scope_of(owner, session_id="20261130_ä/\ud83d", chat_id="c"))
    assert len(server.messages) == 2


def test_no_two_things_share_a_name() -> None:
    pairs = [("a", "b"), ("a", "b\0"), ("a\0b",), ("a\\0b",), ("ab",), ("a", "", "b"), ("", "a", "b")]
    assert len({resource("x", *parts) for parts in pairs}) == len(pairs)
    owners = ["person:a-b", "person:a_b", "person:a:b", "home", "chat:a-b"]
    assert len({name(owner) for owner in owners for name in (NAMES.user, NAMES.ai)}) == 2 * len(owners)


async def test_a_long_text_is_told_in_parts(provider: Honcho, server: HonchoServer) -> None:
    await provider.sync_turn("x" * 60_000, " \0", ANN)
    lengths = [len(one.content) for one in server.messages]
    assert max(lengths) == 25_000
    assert "".join(one.content.removeprefix("[continued] ") for one in server.messages) == "x" * 60_000


async def test_a_note_on_the_person_becomes_a_conclusion(provider: Honcho, server: HonchoServer) -> None:
    await provider.on_memory_write("add", "user", "prefers tea", ANN, {})
    await provider.on_memory_write("add", "memory", "The port is 8642", ANN, {})
    await provider.on_memory_write("remove", "user", "prefers coffee", ANN, {})
    (kept,) = server.conclusions.values()
    assert (kept.content, kept.observed_id) == ("prefers tea", NAMES.user("person:ann"))


@pytest.mark.parametrize("context", ["cron", "subagent", "flush"])
async def test_a_run_without_a_person_reads_and_does_not_write(
    provider: Honcho, server: HonchoServer, context: str
) -> None:
    await provider.sync_turn("My PIN hint is tulip", "Noted.", ANN)
    run = scope_of("person:ann", context=context)
    told, kept = len(server.messages), len(server.conclusions)
    await provider.sync_turn("The job has run", "Fine.", run)
    await provider.on_memory_write("add", "user", "x", run, {})
    for name, arguments in (
        ("honcho_conclude", {"conclusion": "x"}),
        ("honcho_conclude", {"delete_id": next(iter(server.conclusions))}),
        ("honcho_profile", {"card": ["x"]}),
    ):
        with pytest.raises(ToolError, match="without a person"):
            await provider.call(name, arguments, run)
    assert (len(server.messages), len(server.conclusions), server.cards) == (told, kept, {})
    assert "tulip" in await provider.prefetch("What is my PIN hint?", run)


# --- what is recalled


async def test_summary_thought_and_card_come_with_a_message(provider: Honcho, server: HonchoServer) -> None:
    server.summary = "They spoke of harbours."
    await provider.sync_turn("The harbour is closed on Mondays", "Noted.", ANN)
    await provider.call("honcho_profile", {"card": ["Lives in Lindau"]}, ANN)
    recalled = await provider.prefetch("When is the harbour closed?", ANN)
    assert recalled == (
        "Summary:\nThey spoke of harbours.\n\n"
        "What is thought:\nThe harbour is closed on Mondays\n\n"
        "Key facts:\n- Lives in Lindau"
    )


async def test_what_its_model_said_after_a_turn_comes_once_with_the_next(
    provider: Honcho, server: HonchoServer
) -> None:
    await provider.sync_turn("What matters most for this person is the next answer", "Noted.", ANN)
    await provider.queue_prefetch("hello", ANN)
    (asked,) = posted(server, "/chat")
    assert (asked.body["reasoning_level"], asked.body["target"]) == ("low", NAMES.user("person:ann"))
    assert "(low) What matters" in await provider.prefetch("hello", ANN)
    assert "(low)" not in await provider.prefetch("hello", ANN)


@pytest.mark.parametrize(("cadence", "asked"), [(0, []), (1, [1, 2, 3, 4, 5]), (2, [1, 3, 5]), (4, [1, 5])])
async def test_its_model_is_asked_as_often_as_is_set(server: HonchoServer, cadence: int, asked: list[int]) -> None:
    turns = []
    async with Honcho(client(server), cadence=cadence) as provider:
        for number in range(1, 6):
            server.requests.clear()
            await provider.on_turn_start(number, "hello", ANN)
            await provider.queue_prefetch("hello", ANN)
            turns += [number] * len(posted(server, "/chat"))
    assert turns == asked


async def test_with_tools_alone_nothing_comes_by_itself(server: HonchoServer) -> None:
    async with Honcho(client(server), mode="tools") as provider:
        await provider.sync_turn("My PIN hint is tulip", "Noted.", ANN)
        server.requests.clear()
        await provider.queue_prefetch("hello", ANN)
        assert await provider.prefetch("What is my PIN hint?", ANN) == ""
        assert server.requests == []
        assert "tulip" in await provider.call("honcho_context", {}, ANN)


async def test_with_context_alone_there_are_no_tools(server: HonchoServer) -> None:
    provider = Honcho(client(server), mode="context")
    assert (provider.specs(), "honcho_" in provider.system_prompt_block()) == ((), False)


async def test_where_it_may_not_read_along_it_is_told_nothing(server: HonchoServer) -> None:
    async with Honcho(client(server), save=False) as provider:
        await provider.sync_turn("My PIN hint is tulip", "Noted.", ANN)
        await provider.on_memory_write("add", "user", "x", ANN, {})
    assert server.requests == []


# --- tools


async def test_a_conclusion_is_written_found_listed_and_deleted(provider: Honcho, server: HonchoServer) -> None:
    kept = json.loads(await provider.call("honcho_conclude", {"conclusion": "Prefers tea"}, ANN))
    for arguments in ({"list": True}, {"query": "tea"}):
        told = json.loads(await provider.call("honcho_conclude", arguments, ANN))
        assert told == {"conclusions": [{"id": kept["id"], "conclusion": "Prefers tea"}]}
    await provider.call("honcho_conclude", {"delete_id": kept["id"]}, ANN)
    assert server.conclusions == {}


@pytest.mark.parametrize("arguments", [{}, {"list": True, "query": "tea"}, {"conclusion": "x", "delete_id": "c1"}])
async def test_a_conclusion_is_about_one_thing(provider: Honcho, arguments: dict[str, Any]) -> None:
    with pytest.raises(ToolError, match="give honcho_conclude one of conclusion, delete_id, list and query"):
        await provider.call("honcho_conclude", arguments, ANN)


@pytest.mark.parametrize("id", ["", "..", "../peers", "list", "c1/../c2", "c1?x=1", "x" * 200])
async def test_an_id_that_is_none_changes_nothing(provider: Honcho, server: HonchoServer, id: str) -> None:
    await provider.sync_turn("hello", "hi", ANN)
    kept = dict(server.conclusions)
    with pytest.raises(ToolError, match="no conclusion with this id"):
        await provider.call("honcho_conclude", {"delete_id": id}, ANN)
    assert server.conclusions == kept
    assert [asked for asked in server.requests if asked.method == "DELETE"] == []


async def test_a_conclusion_of_somebody_else_is_not_deleted(provider: Honcho, server: HonchoServer) -> None:
    await provider.sync_turn("My PIN hint is tulip", "Noted.", ANN)
    for id in list(server.conclusions):
        for peer in ("user", "ai"):
            with pytest.raises(ToolError, match="no conclusion with this id"):
                await provider.call("honcho_conclude", {"delete_id": id, "peer": peer}, BOB)
    assert [asked for asked in server.requests if asked.method == "DELETE"] == []


async def test_excerpts_stop_where_there_is_no_more_room(provider: Honcho) -> None:
    for _ in range(5):
        await provider.sync_turn("harbour " * 20, "Noted.", ANN)
    told = json.loads(await provider.call("honcho_search", {"query": "harbour", "max_tokens": 100}, ANN))
    assert sum(len(one["said"]) for one in told["results"]) == 400


async def test_a_question_is_answered_at_the_level_asked_for(provider: Honcho) -> None:
    await provider.sync_turn("The harbour is closed on Mondays", "Noted.", ANN)
    arguments = {"query": "When is the harbour closed?", "reasoning_level": "high"}
    assert await provider.call("honcho_reasoning", arguments, ANN) == "(high) The harbour is closed on Mondays"
    assert await provider.call("honcho_reasoning", arguments, BOB) == "Honcho knows nothing of this."


# --- erasing


async def test_after_an_erasure_nothing_is_left_and_the_conversation_goes_on(
    provider: Honcho, server: HonchoServer
) -> None:
    await provider.sync_turn("My PIN hint is tulip", "Noted.", ANN)
    await provider.call("honcho_profile", {"card": ["tulip"]}, ANN)
    await provider.call("honcho_conclude", {"conclusion": "tulip"}, ANN)
    await provider.queue_prefetch("hello", ANN)
    await provider.sync_turn("My PIN hint is walnut", "Noted.", BOB)
    bobs = len([one for one in server.conclusions.values() if one.session_id == NAMES.session(BOB, 0)])
    assert await provider.forget(ANN) == 7
    assert [one.content for one in server.messages] == ["My PIN hint is walnut", "Noted."]
    assert len(server.conclusions) == bobs
    assert set(map(tuple, server.cards.values())) <= {()}
    assert await provider.prefetch("What is my PIN hint?", ANN) == ""
    await provider.sync_turn("My PIN hint is pecan", "Noted.", ANN)  # Honcho has not done with the old session
    assert "pecan" in await provider.prefetch("What is my PIN hint?", ANN)


async def test_erasing_somebody_who_never_spoke_makes_nobody(provider: Honcho, server: HonchoServer) -> None:
    assert await provider.forget(ANN) == 0
    assert (server.peers, server.sessions) == (set(), {})


# --- what it says when it fails


FAULTS = {
    "unauthorized": "does not accept the key (401): the owner must set memory.honcho.api_key",
    "busy": "has had too many requests (429): try again later",
    "error": "has trouble of its own (500): try again later",
    "down": "has trouble of its own (503): try again later",
    "garbage": "answers, but not as Honcho does: check memory.honcho.endpoint",
    "other": "answers, but not as Honcho does: check memory.honcho.endpoint",
    "cut": "cannot be reached: try again later, or check memory.honcho.endpoint",
}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("kind", FAULTS)
async def test_what_went_wrong_is_said_in_a_sentence_and_the_next_call_works(
    provider: Honcho, server: HonchoServer, kind: str, known: bool
) -> None:
    if known:
        await provider.sync_turn("My PIN hint is tulip", "Noted.", ANN)
    server.fault(kind)
    with pytest.raises(ToolError) as failed:
        await provider.call("honcho_context", {}, ANN)
    assert str(failed.value) == f"Honcho ({server.url.removeprefix('http://')}) {FAULTS[kind]}"
    assert ("tulip" in await provider.call("honcho_context", {}, ANN)) is known


async def test_a_busy_service_is_asked_again(server: HonchoServer) -> None:
    async with Honcho(client(server, retries=1)) as provider:
        server.fault("busy", retry_after=0)
        await provider.sync_turn("hello", "hi", ANN)
    assert len(server.messages) == 2


async def test_a_turn_does_not_wait_for_a_service_that_is_silent(
    provider: Honcho, server: HonchoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(honcho_memory, "WAIT", 0.05)
    server.fault("stall")
    with pytest.raises(TimeoutError):
        await provider.prefetch("When is the harbour closed?", ANN)


async def test_a_call_that_takes_too_long_is_said_so(server: HonchoServer) -> None:
    place = Place("Honcho", server.url, "memory.honcho.api_key", "memory.honcho.endpoint")
    async with Honcho(HonchoClient(place, server.key, NAMES, patience=0.05, retries=0)) as provider:
        server.fault("stall")
        with pytest.raises(ToolError, match="took too long to answer"):
            await provider.call("honcho_context", {}, ANN)


async def test_a_service_that_is_not_there_is_said_to_be_out_of_reach(server: HonchoServer) -> None:
    await server.__aexit__(None, None, None)
    async with Honcho(client(server)) as provider:
        with pytest.raises(ToolError, match="cannot be reached"):
            await provider.call("honcho_context", {}, ANN)


# --- how it is set up


async def test_settings_go_before_the_file_and_the_file_before_the_variables(
    tmp_path: Path, server: HonchoServer
) -> None:
    file = {
        "apiKey": server.key,
        "baseUrl": "http://127.0.0.1:1",
        "workspace": "other",
        "peerName": "alice",
        "hosts": {"hermes": {"workspace": "mine", "aiPeer": "ivy", "dialecticReasoningLevel": "max"}},
    }
    variables = {"HONCHO_API_KEY": "other", "HONCHO_BASE_URL": "http://127.0.0.1:2"}
    async with create(given(tmp_path, {"endpoint": server.url}, file, variables)) as provider:
        await provider.sync_turn("hello", "hi", HOUSE)
        await provider.sync_turn("hello", "hi", ANN)
        await provider.queue_prefetch("hello", HOUSE)
    assert [one.peer_id for one in server.messages[:2]] == ["alice", "ivy"]
    assert server.messages[0].workspace_id == "mine"
    assert server.messages[2].peer_id.startswith("person-ann-")
    assert re.fullmatch("ivy-[0-9a-f]{24}", server.messages[3].peer_id)
    assert posted(server, "/chat")[0].body["reasoning_level"] == "max"


async def test_the_variables_alone_will_do(tmp_path: Path, server: HonchoServer) -> None:
    variables = {"HONCHO_API_KEY": server.key, "HONCHO_BASE_URL": server.url, "HONCHO_TIMEOUT": "5"}
    async with create(given(tmp_path, {}, variables=variables)) as provider:
        await provider.sync_turn("hello", "hi", ANN)
    assert server.messages[0].workspace_id == "hermes"


async def test_a_server_of_ones_own_needs_no_key(tmp_path: Path, server: HonchoServer) -> None:
    server.key = ""
    async with create(given(tmp_path, {"endpoint": server.url})) as provider:
        await provider.sync_turn("hello", "hi", ANN)
    assert "Authorization" not in server.requests[-1].headers


async def test_the_file_that_programs_share_is_read_where_the_home_has_none(
    tmp_path: Path, server: HonchoServer
) -> None:
    (tmp_path / ".honcho").mkdir()
    shared = {"apiKey": server.key, "baseUrl": server.url, "saveMessages": False}
    (tmp_path / ".honcho" / "config.json").write_text(json.dumps(shared))
    async with create(given(tmp_path, {}, variables={"HOME": str(tmp_path)})) as provider:
        await provider.sync_turn("hello", "hi", ANN)
        await provider.prefetch("hello", ANN)
    assert (server.messages, len(server.sessions)) == ([], 1)


def test_the_environment_local_is_a_server_on_this_machine_and_needs_no_key(tmp_path: Path) -> None:
    assert create(given(tmp_path, {}, variables={"HONCHO_ENVIRONMENT": "local"})).name == "honcho"


def test_the_old_word_for_both_ways_of_recall_is_understood(tmp_path: Path) -> None:
    assert create(given(tmp_path, {"api_key": "k"}, {"recallMode": "auto"})).specs() != ()


@pytest.mark.parametrize(
    ("said", "file", "sentence"),
    [
        ({}, {}, "memory.honcho.api_key: is missing; set it, or HONCHO_API_KEY, to a key of app.honcho.dev"),
        ({"endpoint": "localhost:8000"}, {}, "memory.honcho.endpoint (HONCHO_BASE_URL): not an address"),
        ({"api_key": "k", "workspace": "my home"}, {}, "memory.honcho.workspace: not a name at Honcho"),
        ({"api_key": "k", "peer": "x-" + "0" * 24}, {}, "memory.honcho.peer: not a name at Honcho"),
        ({"api_key": "k", "peer": "hermes"}, {}, "memory.honcho.peer: is the agent's own"),
        ({"api_key": "k"}, {"recallMode": "all"}, "memory.honcho.recall_mode: there is no mode 'all'"),
        ({"api_key": "k"}, {"dialecticReasoningLevel": "deep"}, "memory.honcho.reasoning_level: there is no 'deep'"),
        ({"api_key": "k"}, {"dialecticCadence": "often"}, "memory.honcho.dialectic_cadence: not a number of turns"),
        ({"api_key": "k"}, {"timeout": "long"}, "HONCHO_TIMEOUT: 'long' is no number of seconds"),
    ],
)
def test_what_cannot_work_is_said_at_once(
    tmp_path: Path, said: dict[str, Any], file: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ConfigError) as failed:
        create(given(tmp_path, said, file))
    assert str(failed.value).startswith(sentence)


def test_without_the_library_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(honcho, "LIBRARY", "honcho-ai-that-is-not-there")
    with pytest.raises(ConfigError, match=r"pip install 'hermes-gateway\[honcho\]'"):
        create(given(tmp_path, {"api_key": "k"}))
