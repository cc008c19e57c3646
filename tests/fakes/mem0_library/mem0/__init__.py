"""
Stands in for the library mem0ai 2.2.1 where it is put on the path before it, since no lock of ours has its 140 MB.

`Memory` has the signatures of ``mem0/memory/main.py`` there: what may only be given by name, and what `search` and
`get_all` refuse at the top level. It cannot be loaded while Mem0's reports to its makers are on. Memories are lost with
the process; what it keeps of past ones in its SQLite file is not. ``{"vector_store": {"provider": "none"}}`` fails as a
store that is not there, the query ``crash`` ends the process, and ``environment`` finds the names of its variables.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import uuid
from typing import Any

from tests.fakes.memory_service import likeness

if os.environ.get("MEM0_TELEMETRY", "True").lower() in {"true", "1", "yes"}:
    raise RuntimeError("Mem0 would report to its makers")
os.makedirs(os.environ["MEM0_DIR"], exist_ok=True)


class Memory:
    """A store in this process."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self._all: dict[str, dict[str, Any]] = {}
        self._log = sqlite3.connect(config["history_db_path"], isolation_level=None)
        self._log.execute("CREATE TABLE IF NOT EXISTS messages (session_scope TEXT, content TEXT)")
        self._log.execute("CREATE TABLE IF NOT EXISTS history (memory_id TEXT, old_memory TEXT, event TEXT)")

    @classmethod
    def from_config(cls, config_dict: dict[str, Any]) -> Memory:
        if config_dict["vector_store"]["provider"] == "none":
            raise ValueError("Unsupported vector store provider: none")
        print("a line of its own, as libraries print them")
        return cls(config_dict)

    def add(
        self,
        messages: Any,
        *,
        user_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        infer: bool = True,
    ) -> dict[str, Any]:
        told = [one["content"] for one in messages if one["role"] == "user" or not infer]
        for text in told:
            id = str(uuid.uuid4())
            self._all[id] = {"id": id, "memory": text, "user_id": _checked(user_id), "metadata": metadata}
            self._log.execute("INSERT INTO messages VALUES (?, ?)", (f"user_id={user_id}", text))
        return {"results": []}

    def search(
        self, query: str, *, top_k: int = 20, filters: dict[str, Any] | None = None, threshold: float = 0.1
    ) -> dict[str, Any]:
        if query == "crash":
            print("the store is broken", file=sys.stderr, flush=True)
            os._exit(3)
        if query == "environment":
            shown = " ".join(sorted(os.environ))
            return {"results": [{"id": "0", "memory": shown, "user_id": (filters or {})["user_id"]}]}
        found = [one | {"score": likeness(query, one["memory"])} for one in self._of(filters)]
        best = sorted(found, key=lambda one: -one["score"])
        return {"results": [one for one in best if one["score"] > threshold][:top_k]}

    def get_all(
        self, *, filters: dict[str, Any] | None = None, top_k: int = 20, show_expired: bool = False
    ) -> dict[str, Any]:
        return {"results": self._of(filters)[:top_k]}

    def get(self, memory_id: str) -> dict[str, Any] | None:
        return self._all.get(memory_id)

    def update(self, memory_id: str, text: str | None = None) -> dict[str, str]:
        self._all[memory_id]["memory"] = text
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        gone = self._all.pop(memory_id)
        self._log.execute("INSERT INTO history VALUES (?, ?, 'DELETE')", (memory_id, gone["memory"]))
        return {"message": "Memory deleted successfully!"}

    def delete_all(self, user_id: str | None = None) -> dict[str, str]:
        for one in self._of({"user_id": user_id}):
            self.delete(one["id"])
        return {"message": "Memories deleted successfully!"}

    def _of(self, filters: dict[str, Any] | None) -> list[dict[str, Any]]:
        user = _checked((filters or {}).get("user_id"))
        return [one for one in self._all.values() if one["user_id"] == user]


def _checked(user: object) -> str:
    if not isinstance(user, str) or not user or any(letter.isspace() for letter in user):
        raise ValueError(f"Invalid user_id: {user!r}")
    return user
