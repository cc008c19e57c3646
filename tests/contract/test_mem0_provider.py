"""Mem0 keeps the contract of a memory provider in each of its three forms."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from gateway.agent.memory.providers.loading import open_provider
from gateway.agent.memory.settings import MemorySettings
from gateway.contracts.memory import MemoryProvider, Scope
from tests.contract.test_memory_provider import MemoryProviderContract
from tests.fakes.mem0_server import Mem0Server

LIBRARY = Path(__file__).parents[1] / "fakes" / "mem0_library"


class Mem0Contract(MemoryProviderContract):
    """What its three forms have in common."""

    needs = "api_key"
    mode = ""

    @pytest.fixture
    async def provider(self, tmp_path: Path) -> AsyncIterator[MemoryProvider]:
        async with Mem0Server() as server:
            told = {"api_key": server.key, "endpoint": server.url, "mode": self.mode}
            settings = MemorySettings.model_validate({"provider": "mem0", "mem0": told})
            provider = open_provider(settings, tmp_path, {})
            assert provider is not None
            async with provider:
                yield provider
            assert server.violations == []

    async def ids(self, provider: MemoryProvider, scope: Scope) -> Sequence[str | int]:
        found = json.loads(await provider.call("mem0_search", {"query": "PIN hint harbour"}, scope))
        return [one["id"] for one in found["results"]]

    def reaching(self, id: str | int) -> Sequence[tuple[str, dict[str, Any]]]:
        return [("mem0_update", {"memory_id": id, "text": "gone"}), ("mem0_delete", {"memory_id": id})]

    def asking(self, query: str) -> Sequence[tuple[str, dict[str, Any]]]:
        return [("mem0_search", {"query": query}), ("mem0_search", {"query": query, "top_k": 50, "rerank": True})]


class TestTheHostedService(Mem0Contract):
    complete = {"provider": "mem0", "mem0": {"api_key": "m0-key"}}
    mode = "platform"


class TestAServerOfOnesOwn(Mem0Contract):
    complete = {"provider": "mem0", "mem0": {"endpoint": "http://127.0.0.1:8888"}}
    mode = "selfhosted"


class TestTheLibraryOnThisMachine(Mem0Contract):
    complete = {"provider": "mem0", "mem0": {"mode": "oss"}}

    @pytest.fixture(autouse=True)
    def library(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.syspath_prepend(str(LIBRARY))
        monkeypatch.setenv("PYTHONPATH", f"{LIBRARY}:{LIBRARY.parents[2]}")

    @pytest.fixture
    async def provider(self, tmp_path: Path) -> AsyncIterator[MemoryProvider]:
        provider = open_provider(MemorySettings.model_validate(self.complete), tmp_path, {})
        assert provider is not None
        async with provider:
            yield provider
