"""
Mem0 within this machine, in a child process: it takes 140 MB and two seconds to load, and its calls block.

The child gets none of our environment but what `PASSED` names, and has Mem0's own reports to its makers switched off
before it loads it. It is started on entering, without waiting for it, and again by the next call if it has died.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gateway.agent.memory.providers.mem0_api import Mem0Api, Memory
from gateway.child import Child
from gateway.errors import ToolError
from gateway.toolkit.limits import brief

COMMAND = (sys.executable, "-m", "gateway.agent.memory.providers.mem0_child")
PASSED = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE")
"""Variables that the models and stores of Mem0 read."""
LEAVING = 5.0
"""Seconds the child has to write what it was told."""


class Mem0Child(Child):
    """One run of the library: each line it says is the answer to a call."""

    def __init__(self) -> None:
        super().__init__()
        self._failed = ""
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._numbers = count(1)

    def said(self, line: dict[str, Any]) -> None:
        self._failed = line.get("failed", self._failed)
        call = self._calls.get(line.get("n", 0))
        if call is None or call.done():
            return
        if "error" in line:
            call.set_exception(ToolError(f"Mem0 on this machine failed: {brief(line['error'], 300)}"))
        else:
            call.set_result(line["result"])

    def ended(self) -> None:
        words = self._failed or self.complaint
        why = f": {brief(words, 300)}" if words else ""
        for call in self._calls.values():
            if not call.done():
                call.set_exception(ToolError(f"Mem0 on this machine ended{why}; check the part oss of mem0.json"))

    async def ask(self, do: str, given: Mapping[str, Any]) -> Any:
        """Send a call and wait for its answer; whoever stops waiting does not stop the call."""
        number = next(self._numbers)
        call = self._calls[number] = asyncio.get_running_loop().create_future()
        try:
            self.send({"n": number, "do": do, "with": given})
            return await call
        finally:
            del self._calls[number]


class LocalApi(Mem0Api):
    """`config` is what ``mem0.Memory.from_config`` takes."""

    def __init__(
        self, config: Mapping[str, Any], home: Path, variables: Mapping[str, str], command: Sequence[str] = COMMAND
    ) -> None:
        self._config, self._command = config, command
        self._environment = {name: variables[name] for name in PASSED if name in variables} | {
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "MEM0_TELEMETRY": "False",
            "MEM0_DIR": str(home / "mem0"),
        }
        self._child: Mem0Child | None = None
        self._starting = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The process that runs, if one does."""
        return self._child.pid if self._child is not None and not self._child.gone.is_set() else None

    async def __aenter__(self) -> Self:
        await self._started()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._child is not None:
            await self._child.stop(LEAVING)
            self._child = None

    async def _started(self) -> Mem0Child:
        async with self._starting:
            if self._child is None or self._child.gone.is_set():
                if self._child is not None:
                    await self._child.stop(LEAVING)
                _, self._child = await asyncio.get_running_loop().subprocess_exec(
                    Mem0Child, *self._command, env=self._environment
                )
                self._child.send({"config": self._config})
            return self._child

    async def _ask(self, do: str, **given: Any) -> Any:
        return await (await self._started()).ask(do, given)

    async def search(self, query: str, user: str, *, top_k: int, rerank: bool) -> Sequence[Memory]:
        found: list[Memory] = await self._ask("search", query=query, user=user, top_k=top_k)
        return found

    async def add(self, messages: Sequence[Mapping[str, str]], user: str, *, about: Memory, infer: bool) -> None:
        await self._ask("add", messages=messages, user=user, about=about, infer=infer)

    async def get(self, id: str) -> Memory | None:
        found: Memory | None = await self._ask("get", id=id)
        return found

    async def update(self, id: str, text: str) -> None:
        await self._ask("update", id=id, text=text)

    async def delete(self, id: str) -> None:
        await self._ask("delete", id=id)

    async def erase(self, user: str) -> int:
        erased: int = await self._ask("erase", user=user)
        return erased


def local_config(oss: Mapping[str, Any], home: Path) -> dict[str, Any]:
    """
    Complete the part ``oss`` of mem0.json: what names no place is put into the home, where the reference has it.

    A collection whose vectors have another size than the embedder's is left alone: Mem0 then says so at each call.
    """
    store = dict(oss.get("vector_store") or {"provider": "qdrant"})
    options = dict(store.get("config") or {})
    if store.get("provider") == "qdrant" and not options.keys() & {"path", "url", "host"}:
        options |= {"path": str(home / "mem0_qdrant"), "on_disk": True}
    size = (oss.get("embedder") or {}).get("config", {}).get("embedding_dims")
    if size:
        options.setdefault("embedding_model_dims", size)
    return {"history_db_path": str(home / "mem0" / "history.db"), **oss, "vector_store": {**store, "config": options}}
