"""
The child process of Mem0 within this machine: ``python -m gateway.agent.memory.providers.mem0_child``.

Started by `mem0_local`, with an environment in which Mem0 tells nobody what it does. One JSON object a line. In: first
``{"config": {…}}``, then ``{"n": N, "do": NAME, "with": {…}}``. Out: ``{"n": N, "result": …}`` or ``{"n": N, "error":
TEXT}`` for each, or ``{"failed": TEXT}`` where Mem0 cannot be made of the config. When its standard input ends, it does
what it was told, and ends.

One call at a time, since the store is not made for more; those that only read go before those that wait to write.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import threading
from contextlib import closing
from itertools import count
from queue import PriorityQueue
from typing import Any

READS = {"search", "get"}
MOST = 100_000
"""Memories of one owner that are counted."""
GONE = "SELECT memory_id FROM history WHERE event = 'DELETE'"
"""Mem0 keeps what each memory was, the deleted ones too, and the last messages of everybody."""

Waiting = PriorityQueue[tuple[int, int, dict[str, Any]]]


class Memories:
    """`mem0.Memory`, by the names of our own calls."""

    def __init__(self, config: dict[str, Any]) -> None:
        from mem0 import Memory

        self._memory = Memory.from_config(config)
        self._log = config["history_db_path"]

    def search(self, query: str, user: str, top_k: int) -> Any:
        return self._memory.search(query, filters={"user_id": user}, top_k=top_k)["results"]

    def add(self, messages: list[dict[str, str]], user: str, about: dict[str, Any], *, infer: bool) -> None:
        self._memory.add(messages, user_id=user, metadata=about, infer=infer)

    def get(self, id: str) -> Any:
        return self._memory.get(id)

    def update(self, id: str, text: str) -> None:
        self._memory.update(id, text=text)

    def delete(self, id: str) -> None:
        self._memory.delete(id)

    def erase(self, user: str) -> int:
        found = self._memory.get_all(filters={"user_id": user}, top_k=MOST, show_expired=True)["results"]
        self._memory.delete_all(user_id=user)
        scope = "user_id=" + user.replace("%", "%25").replace("&", "%26").replace("=", "%3D")
        with closing(sqlite3.connect(self._log)) as connection, connection:
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("DELETE FROM messages WHERE session_scope = ?", (scope,))
            connection.execute(f"DELETE FROM history WHERE memory_id IN ({GONE})")
        return len(found)


def main() -> None:
    """Serve standard input until it ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what Mem0 prints must not get between the lines

    def say(line: dict[str, Any]) -> None:
        print(json.dumps(line, default=str), file=out, flush=True)

    try:
        memories = Memories(json.loads(sys.stdin.readline())["config"])
    except Exception as error:
        say({"failed": f"{type(error).__name__}: {error}"})
        return
    waiting: Waiting = PriorityQueue()
    threading.Thread(target=_listen, args=(waiting,), daemon=True).start()
    while call := waiting.get()[2]:
        try:
            say({"n": call["n"], "result": getattr(memories, call["do"])(**call["with"])})
        except Exception as error:
            say({"n": call["n"], "error": f"{type(error).__name__}: {error}"})


def _listen(waiting: Waiting) -> None:
    numbers = count()
    for line in sys.stdin:
        call = json.loads(line)
        waiting.put((0 if call["do"] in READS else 1, next(numbers), call))
    waiting.put((2, next(numbers), {}))


if __name__ == "__main__":
    main()
