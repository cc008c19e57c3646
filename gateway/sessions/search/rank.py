"""
Which of the messages that fit is meant. Pure. In: candidates and the query. Out: a score of each.

BM25 (Robertson and Zaragoza, 2009) over the candidates themselves, times a factor for how long ago it was said. For a
thousand long messages and any query it takes tens of milliseconds at most: some terms are counted, as parts of words,
in the beginning of each text as it stands, without folding. Where none is counted the text has them further down or in
another spelling, once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gateway.sessions.search.query import Query
from gateway.storage.matches import Candidate

K1, B = 1.2, 0.75
HALF_LIFE = 30 * 86_400.0
"""Seconds after which half of what recency adds is gone."""
FLOOR = 0.3
"""What is left of a score however old the message."""
COUNTED_TERMS = 8
"""Terms of a query that are counted: the longest, since those say most."""
MACHINE = 0.5
"""The weight of what a tool said, against what was said by people and the agent."""


def scores(found: Sequence[Candidate], query: Query, now: float) -> list[float]:
    """Return the score of each candidate, in their order; `now` is the time in seconds."""
    average = sum(one.length for one in found) / max(1, len(found)) or 1.0
    damping = [K1 * (1 - B + B * one.length / average) for one in found]
    relevance = [0.0] * len(found)
    for counts in _counts(found, query):
        weight = _weight(len(found) - counts.count(0), len(found)) * (K1 + 1)
        terms = zip(relevance, counts, damping, strict=True)
        relevance = [so_far + weight * count / (count + damped) if count else so_far for so_far, count, damped in terms]
    return [score * _standing(one, now) for one, score in zip(found, relevance, strict=True)]


def _counts(found: Sequence[Candidate], query: Query) -> list[list[int]]:
    """Count each term of the query in each candidate."""
    words = dict.fromkeys(word for stretch in query.stretches for word in stretch.words)
    terms = sorted((*words, *query.letters), key=len, reverse=True)[:COUNTED_TERMS]
    texts = [one.text.lower() for one in found]
    counts = [[text.count(term) for text in texts] for term in terms]
    for place, seen in enumerate(zip(*counts, strict=True)):
        if not any(seen):
            for column in counts:
                column[place] = 1
    return counts


def _weight(having: int, of: int) -> float:
    return math.log(1 + (of - having + 0.5) / (having + 0.5))


def _standing(one: Candidate, now: float) -> float:
    """Return what a message counts for by when it was said, and by whom."""
    age = max(now - one.created, 0.0)
    recency = FLOOR + (1 - FLOOR) * math.exp2(-age / HALF_LIFE)
    return recency * (MACHINE if one.role == "tool" else 1.0)
