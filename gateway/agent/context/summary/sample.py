"""What is read of a conversation too long to be read: the newest whole, the rest evenly over all of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.agent.context.summary.clip import HEAD, Count, fit
from gateway.agent.context.summary.serialise import MOST, Redact, block
from gateway.contracts.context import Row

SLICES = 8
"""Places at which the older part is read, the first at its beginning; fewer where each would have little room."""
SLICE = 1_500
"""Tokens that a slice should have."""
FRAME = 12
"""Tokens of the label of a block and of the space between two."""
LONG = 1_000
"""Tokens of a message of which perhaps only a part is read."""
GAP = "[{count} messages are left out here]"


def sample(rows: Sequence[Row], tokens: Sequence[int], budget: int, count: Count, redact: Redact) -> str:
    """
    Return the messages as `serialise` writes them, in at most `budget` tokens; `tokens` is the estimate of each.

    Where not all fit, the newest get 55 % of the budget and what is older 45 %, in slices that lie evenly over it;
    where something is left out, the text says of how many messages. Only what is chosen is looked at, so that the
    time depends on the budget and, by a few hundred nanoseconds each, on the number of messages.
    """
    turns = [
        (row, weight) for row, weight in zip(rows, tokens, strict=True) if row.message.role == "tool" or not row.summary
    ]
    weights = [FRAME + weight if weight < LONG else _weight(row, weight) for row, weight in turns]
    largest = max(1, budget // (SLICES // 2))
    parts: list[str] = []
    at = 0
    for start, end in places(weights, budget):
        if start > at:
            parts.append(GAP.format(count=start - at))
        parts += [_block(turns[place][0], weights[place], largest, count, redact) for place in range(start, end)]
        at = end
    return fit("\n\n".join(parts), budget, count)


def places(weights: Sequence[int], budget: int) -> list[tuple[int, int]]:
    """
    Return the stretches [start, end) to keep, in order and apart; together they weigh at most `budget`.

    The last place is always kept, and alone it may weigh more.
    """
    if sum(weights) <= budget:
        return [(0, len(weights))] if weights else []
    cut, used = _newest(weights, int(budget * (1 - HEAD)))
    kept = _slices(weights, cut, budget - used)
    if kept and kept[-1][1] == cut:
        return [*kept[:-1], (kept[-1][0], len(weights))]
    return [*kept, (cut, len(weights))]


def _newest(weights: Sequence[int], room: int) -> tuple[int, int]:
    cut, used = len(weights) - 1, weights[-1]
    while cut > 0 and used + weights[cut - 1] <= room:
        cut -= 1
        used += weights[cut]
    return cut, used


def _slices(weights: Sequence[int], end: int, room: int) -> list[tuple[int, int]]:
    number = min(SLICES, end, max(1, room // SLICE))
    kept: list[tuple[int, int]] = []
    for slice in range(number):
        start, stop = slice * end // number, (slice + 1) * end // number
        share, at = room // (number - slice), start
        while at < stop and weights[at] <= share:
            share -= weights[at]
            room -= weights[at]
            at += 1
        if at > start and kept and kept[-1][1] == start:
            kept[-1] = kept[-1][0], at
        elif at > start:
            kept.append((start, at))
    return kept


def _weight(row: Row, tokens: int) -> int:
    """Estimate what a block will have: of a long message only a part is read."""
    length = len(row.message.content)
    return FRAME + (tokens if length <= MOST else tokens * MOST // length)


def _block(row: Row, weight: int, largest: int, count: Count, redact: Redact) -> str:
    text = block(row, redact)
    return fit(text, largest, count) if weight > largest // 2 else text
