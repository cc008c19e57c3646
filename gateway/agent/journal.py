"""What a running turn has done, stored before it goes on: the turn's row and its calls. Functions of a connection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import Connection, bindparam, insert, select, update

from gateway.messages import Message, Usage
from gateway.storage.clock import now
from gateway.storage.tables import calls, turns
from gateway.storage.upsert import Upsert


class Journal(Protocol):
    """Where the loop writes before and after every call. Raises `Fenced` where the turn is no longer ours."""

    async def write(self, said: Sequence[Message], *, starting: Sequence[str] = ()) -> None:
        """Store messages, and that the calls with these ids start now; returns once both are durable."""


_BEGIN = Upsert(
    lambda insert: (
        insert(turns)
        .values(
            id=bindparam("t"), lane=bindparam("k"), session_id=bindparam("session"), model=bindparam("m"), created=now()
        )
        .on_conflict_do_nothing(index_elements=["id"])
    )
)


def begin(connection: Connection, turn: str, lane: str, session_id: str, model: str) -> None:
    """Open the turn's row, unless an earlier attempt has."""
    connection.execute(_BEGIN.of(connection), {"t": turn, "k": lane, "session": session_id, "m": model})


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


@dataclass(frozen=True, slots=True)
class Ending:
    """
    How a turn ended: done, failed or stopped, what it cost, how often the model was asked, what was wrong.

    `read` is what the endpoint counted for the last request, 0 where it did not.
    """

    state: str
    model: str = ""
    usage: Usage = Usage()
    asked: int = 0
    problem: str = ""
    fault: str = ""
    read: int = 0


_ENDING = {
    "state": bindparam("as_state"),
    "model": bindparam("m"),
    "prompt_tokens": bindparam("prompt"),
    "completion_tokens": bindparam("completion"),
    "cached_tokens": bindparam("cached"),
    "calls": bindparam("asked"),
    "problem": bindparam("why"),
    "fault": bindparam("which"),
    "read_tokens": bindparam("read"),
    "ended": now(),
}
_FINISH = Upsert(
    lambda insert: (
        insert(turns)
        .values(id=bindparam("t"), lane=bindparam("k"), session_id=bindparam("session"), created=now(), **_ENDING)
        .on_conflict_do_update(index_elements=["id"], set_=_ENDING)
    )
)


def finish(connection: Connection, turn: str, lane: str, session_id: str, ending: Ending) -> None:
    """Write how a turn ended, whether or not it had a journal."""
    values = {
        "t": turn,
        "k": lane,
        "session": session_id,
        "as_state": ending.state,
        "m": ending.model,
        "read": ending.read,
        "prompt": ending.usage.prompt,
        "completion": ending.usage.completion,
        "cached": ending.usage.cached,
        "asked": ending.asked,
        "why": ending.problem,
        "which": ending.fault,
    }
    connection.execute(_FINISH.of(connection), values)
