"""Mem0 on this machine, in a process of its own: what it is given, and what happens when it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gateway.agent.memory.providers.given import Given
from gateway.agent.memory.providers.mem0 import Mem0, create
from gateway.agent.memory.providers.mem0_local import LocalApi, local_config
from gateway.agent.memory.settings import MemorySettings
from gateway.errors import ConfigError, ToolError
from tests.contract.test_memory_provider import ANN, BOB

LIBRARY = Path(__file__).parents[4] / "fakes" / "mem0_library"
SETTINGS = MemorySettings.model_validate({"provider": "mem0", "mem0": {"mode": "oss"}})


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(LIBRARY))


@pytest.fixture
async def api(tmp_path: Path, library: None) -> AsyncIterator[LocalApi]:
    variables = {"OPENAI_API_KEY": "sk-1", "TELEGRAM_BOT_TOKEN": "1:a", "MEM0_TELEMETRY": "True"}
    async with LocalApi(local_config({}, tmp_path), tmp_path, variables) as entered:
        yield entered


@pytest.fixture
async def provider(api: LocalApi) -> Mem0:
    return Mem0(api)


async def test_it_is_given_no_secret_but_what_its_models_need_and_tells_its_makers_nothing(provider: Mem0) -> None:
    shown = await provider.prefetch("environment", ANN)
    assert {"OPENAI_API_KEY", "MEM0_TELEMETRY", "MEM0_DIR"} <= set(shown.split())
    assert "TELEGRAM_BOT_TOKEN" not in shown


async def test_what_is_forgotten_is_gone_from_the_records_it_keeps_too(provider: Mem0, tmp_path: Path) -> None:
    await provider.sync_turn("My PIN hint is tulip", "Noted.", ANN)
    await provider.sync_turn("My PIN hint is walnut", "Noted.", BOB)
    assert await provider.forget(ANN) == 1
    assert b"tulip" not in (tmp_path / "mem0" / "history.db").read_bytes()
    with sqlite3.connect(tmp_path / "mem0" / "history.db") as connection:
        assert connection.execute("SELECT content FROM messages").fetchall() == [("My PIN hint is walnut",)]
    connection.close()


async def test_one_that_crashed_is_started_again_by_the_next_call(provider: Mem0, api: LocalApi) -> None:
    with pytest.raises(ToolError, match="ended: 'the store is broken'; check the part oss of mem0.json"):
        await provider.prefetch("crash", ANN)
    await provider.sync_turn("My PIN hint is tulip", "Noted.", ANN)
    assert "tulip" in await provider.prefetch("What is my PIN hint?", ANN)


async def test_one_that_was_killed_is_started_again_by_the_next_call(provider: Mem0, api: LocalApi) -> None:
    assert await provider.prefetch("hello", ANN) == ""
    assert api.pid is not None
    os.kill(api.pid, signal.SIGKILL)
    with pytest.raises(ToolError, match="ended"):
        for _ in range(1000):
            await provider.prefetch("hello", ANN)
    assert await provider.prefetch("hello", ANN) == ""


async def test_what_it_was_told_before_the_end_is_done(tmp_path: Path, library: None) -> None:
    told = [{"role": "user", "content": "tulip"}]
    async with asyncio.TaskGroup() as group, LocalApi(local_config({}, tmp_path), tmp_path, {}) as api:
        pid = api.pid
        group.create_task(api.add(told, "person:ann", about={}, infer=True))
        await asyncio.sleep(0)  # it has been told, and not answered
    assert b"tulip" in (tmp_path / "mem0" / "history.db").read_bytes()
    assert (api.pid, pid is None) == (None, False)


async def test_a_store_that_cannot_be_made_is_said_so(tmp_path: Path, library: None) -> None:
    config = local_config({"vector_store": {"provider": "none"}}, tmp_path)
    async with LocalApi(config, tmp_path, {}) as api:
        with pytest.raises(ToolError, match="ended: .*Unsupported vector store provider: none.*; check the part oss"):
            await Mem0(api).prefetch("hello", ANN)


async def test_a_call_that_fails_there_fails_alone(provider: Mem0, api: LocalApi) -> None:
    with pytest.raises(ToolError, match="Mem0 on this machine failed: .*KeyError"):
        await api.delete("nothing")
    assert await provider.prefetch("hello", ANN) == ""


@pytest.mark.parametrize(
    ("oss", "store"),
    [
        ({}, {"provider": "qdrant", "config": {"path": "HOME/mem0_qdrant", "on_disk": True}}),
        (
            {"vector_store": {"provider": "qdrant", "config": {"host": "db", "port": 6333}}},
            {"provider": "qdrant", "config": {"host": "db", "port": 6333}},
        ),
        (
            {
                "vector_store": {"provider": "pgvector"},
                "embedder": {"provider": "ollama", "config": {"embedding_dims": 768}},
            },
            {"provider": "pgvector", "config": {"embedding_model_dims": 768}},
        ),
    ],
)
def test_the_store_is_in_the_home_unless_it_has_a_place(oss: dict[str, Any], store: dict[str, Any]) -> None:
    config = local_config(oss, Path("HOME"))
    assert config["vector_store"] == store
    assert config["history_db_path"] == "HOME/mem0/history.db"


def test_without_the_library_it_is_said_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"pip install 'hermes-gateway\[mem0\]'"):
        create(Given(SETTINGS, tmp_path))


def test_what_the_file_says_of_it_must_be_an_object(tmp_path: Path, library: None) -> None:
    with pytest.raises(ConfigError, match="mem0.json: oss must be an object"):
        create(Given(SETTINGS, tmp_path, {}, {"oss": ["qdrant"]}))
