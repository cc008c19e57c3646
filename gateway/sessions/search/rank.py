"""
Which of the messages that fit is meant. Pure. In: candidates and the query. Out: a score of each.

BM25 (Robertson and Zaragoza, 2009) over the candidates themselves, times a factor for how long ago it was said. Terms
are counted in the text as it stands, without folding, which a thousand messages would have to wait for: one that fits
and in which none is counted has its terms in another spelling, once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from gateway.sessions.search.query import Query
from gateway.storage.matches import Candidate

K1, B = 1.2, 0.75
HALF_LIFE = 30 * 86_400.0
"""Seconds after which half of what recency adds is gone."""
FLOOR = 0.3
"""What is left of a score however old the message."""
MACHINE = 0.5
"""The weight of what a tool said, against what was said by people and the agent."""


def scores(found: Sequence[Candidate], query: Query, now: float) -> list[float]:
    """Return the score of each candidate, in their order; `now` is the time in seconds."""
    if not found:
        return []
    counts = _counts(found, query)
    average = sum(one.length for one in found) / len(found) or 1.0
    weights = [_weight(sum(map(bool, column)), len(found)) for column in zip(*counts, strict=True)]
    return [
        _relevance(row, weights, one.length / average) * _standing(one, now)
        for one, row in zip(found, counts, strict=True)
    ]


def _standing(one: Candidate, now: float) -> float:
    """What a message counts for by when it was said, and by whom."""
    age = max(now - one.created, 0.0)
    recency = FLOOR + (1 - FLOOR) * math.exp2(-age / HALF_LIFE)
    return recency * (MACHINE if one.role == "tool" else 1.0)


def _counts(found: Sequence[Candidate], query: Query) -> list[list[int]]:
    """Count each term of the query in each candidate."""
    starts = {stretch.words[-1] for stretch in query.stretches if stretch.prefix}
    words = {word for stretch in query.stretches for word in stretch.words}
    patterns = [_pattern(word, whole=word not in starts) for word in sorted(words)]
    patterns += [_pattern(letter, whole=False) for letter in query.letters]
    texts = [one.text.lower() for one in found]
    counts = [[len(pattern.findall(text)) for pattern in patterns] for text in texts]
    return [row if any(row) else [1] * len(row) for row in counts]


def _pattern(term: str, *, whole: bool) -> re.Pattern[str]:
    literal = re.escape(term)
    return re.compile(rf"\b{literal}\b" if whole and term.isascii() else literal)


def _weight(having: int, of: int) -> float:
    return math.log(1 + (of - having + 0.5) / (having + 0.5))


def _relevance(counts: Sequence[int], weights: Sequence[float], length: float) -> float:
    damping = K1 * (1 - B + B * length)
    return sum(weight * count * (K1 + 1) / (count + damping) for count, weight in zip(counts, weights, strict=True))
