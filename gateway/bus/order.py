"""Which waiting events make the next turn of a lane. Pure: rows in, a decision out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

ATTEMPTS = 3
"""Claims after which an event that never ended well is a dead letter."""
PAUSES = (2.0, 10.0)
"""Seconds before the second and the third attempt."""
BURST_SECONDS = 1.0
"""How long a lane waits for the next part of an album or a split paste."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """An open inbox row, as far as the order needs it. `turn` is set once it was claimed."""

    id: int
    role: str
    command: bool = False
    burst: bool = False
    attempts: int = 0
    not_before: float = 0.0
    created: float = 0.0
    turn: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """These rows are the next turn."""

    ids: tuple[int, ...]
    turn: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing may start before this time."""

    until: float


@dataclass(frozen=True, slots=True)
class Dead:
    """These rows have had all their attempts."""

    ids: tuple[int, ...]
    turn: str


Decision = Run | Wait | Dead | None


def decide(rows: Sequence[Waiting], now: float) -> Decision:
    """
    Choose the next turn from the open rows of a lane, oldest first; None where there are none.

    Rows claimed together before come back together and alone, under their old turn id. Else a command runs alone, and
    messages of equal rights run together up to the next command. Only a newest row with a burst makes the lane wait.
    A time later than any wait we give is of a clock that was set back since, and is not waited for.
    """
    if not rows:
        return None
    first = rows[0]
    if first.turn:
        return _again([row for row in rows if row.turn == first.turn], now)
    newest = rows[-1]
    if newest.burst and 0 < newest.created + BURST_SECONDS - now <= BURST_SECONDS:
        return Wait(newest.created + BURST_SECONDS)
    if first.command:
        return Run((first.id,), "", 1)
    together = takewhile(lambda row: not row.command and not row.turn and row.role == first.role, rows)
    return Run(tuple(row.id for row in together), "", 1)


def _again(rows: Sequence[Waiting], now: float) -> Decision:
    ids, first = tuple(row.id for row in rows), rows[0]
    if first.attempts >= ATTEMPTS:
        return Dead(ids, first.turn)
    if 0 < first.not_before - now <= max(PAUSES):
        return Wait(first.not_before)
    return Run(ids, first.turn, first.attempts + 1)
