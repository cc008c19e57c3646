"""What a running turn has done, stored before it goes on: the turn's row and its calls. Functions of a connection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sqlalchemy import Connection, insert, select, update

from gateway.messages import Message, Usage
from gateway.storage.clock import now
from gateway.storage.tables import calls, turns
from gateway.storage.upsert import upsert


class Journal(Protocol):
    """Where the loop writes before and after every call. Raises `Fenced` where the turn is no longer ours."""

    async def write(self, said: Sequence[Message], *, starting: Sequence[str] = ()) -> None:
        """Store messages, and that the calls with these ids start now; returns once both are durable."""


def begin(connection: Connection, turn: str, lane: str, session_id: str, model: str) -> None:
    """Open the turn's row, unless an earlier attempt has."""
    row = upsert(connection, turns).values(id=turn, lane=lane, session_id=session_id, model=model, created=now())
    connection.execute(row.on_conflict_do_nothing(index_elements=["id"]))


def start_calls(connection: Connection, turn: str, ids: Sequence[str]) -> None:
    """Note that calls start: from here on their effect is not known until they end."""
    if ids:
        connection.execute(insert(calls), [{"turn": turn, "call_id": id} for id in ids])


def end_calls(connection: Connection, turn: str, ids: Sequence[str]) -> None:
    """Note that calls have ended; their results are stored in the same transaction."""
    if ids:
        ended = update(calls).where(calls.c.turn == turn, calls.c.call_id.in_(ids))
        connection.execute(ended.values(state="done"))


def started_calls(connection: Connection, turn: str) -> frozenset[str]:
    """Return the ids of all calls of a turn that ever started."""
    return frozenset(connection.execute(select(calls.c.call_id).where(calls.c.turn == turn)).scalars())


def finish(
    connection: Connection, turn: str, *, state: str, usage: Usage, model: str = "", asked: int = 0, problem: str = ""
) -> None:
    """Write how a turn ended: done, failed or stopped, what it cost, and how often the model was asked."""
    values = {
        "state": state,
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "cached_tokens": usage.cached,
        "calls": asked,
        "problem": problem,
        "ended": now(),
    }
    connection.execute(update(turns).where(turns.c.id == turn).values(**values, **({"model": model} if model else {})))
