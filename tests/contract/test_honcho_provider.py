"""Honcho keeps the contract of a memory provider."""

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
from tests.fakes.honcho_server import HonchoServer


class TestHoncho(MemoryProviderContract):
    complete = {"provider": "honcho", "honcho": {"api_key": "key"}}
    needs = "api_key"

    @pytest.fixture
    async def provider(self, tmp_path: Path) -> AsyncIterator[MemoryProvider]:
        async with HonchoServer() as server:
            told = {"api_key": server.key, "endpoint": server.url}
            provider = open_provider(
                MemorySettings.model_validate({"provider": "honcho", "honcho": told}), tmp_path, {}
            )
            assert provider is not None
            async with provider:
                yield provider
            assert server.violations == []

    async def ids(self, provider: MemoryProvider, scope: Scope) -> Sequence[str | int]:
        told = await provider.call("honcho_conclude", {"list": True}, scope)
        return [one["id"] for one in json.loads(told)["conclusions"]]

    def reaching(self, id: str | int) -> Sequence[tuple[str, dict[str, Any]]]:
        return [("honcho_conclude", {"delete_id": id, "peer": peer}) for peer in ("user", "ai")]

    def asking(self, query: str) -> Sequence[tuple[str, dict[str, Any]]]:
        return [
            (name, arguments | {"peer": peer})
            for peer in ("user", "ai")
            for name, arguments in (
                ("honcho_profile", {}),
                ("honcho_search", {"query": query}),
                ("honcho_reasoning", {"query": query}),
                ("honcho_context", {}),
                ("honcho_conclude", {"query": query}),
                ("honcho_conclude", {"list": True}),
            )
        ]
