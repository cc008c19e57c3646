"""Which facts bear on something, the best first. Every function is about one owner.

A fact's score is what its words say, times its trust, times its age where `half_life` is set. What the words say is
0.6 of how much of the question the fact covers (rare words count more) and 0.4 of how much the two have in common
(Jaccard): the reference's weights.
"""

from __future__ import annotations

import math
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations

from gateway.agent.memory.providers.holographic.facts import Fact, get, listed
from gateway.agent.memory.providers.holographic.text import fold, terms

COVERS, COMMON = 0.6, 0.4
MOST_TERMS = 300
"""Of a question; what comes after them is not looked at."""
MOST_COMPARED = 200
"""Facts that are held against each other, the newest."""
ALIKE = 0.2
"""How much two facts on one thing must have in common to speak of the same side of it."""

Found = list[tuple[float, Fact]]


@dataclass(frozen=True, slots=True)
class Asked:
    """Whose facts, and which of them. `half_life` is in days, 0 for facts that do not age; `now` in seconds."""

    owner: str
    now: float
    half_life: float = 0
    category: str | None = None
    min_trust: float = 0
    limit: int = 10

    def weigh(self, trust: float, updated: float) -> float:
        """Return what a fact counts by its trust and its age."""
        if not self.half_life:
            return trust
        return trust * math.pow(0.5, max(0.0, self.now - updated) / 86_400 / self.half_life)


def search(connection: sqlite3.Connection, asked: Asked, query: str) -> Found:
    """Return the facts that share words with a question."""
    wanted = terms(query)[:MOST_TERMS]
    rows = connection.execute(
        "SELECT t.term, f.id, f.terms, f.trust, f.updated FROM terms t JOIN facts f ON f.id = t.fact"
        f" WHERE t.owner = ? AND t.term IN ({', '.join('?' * len(wanted))})"
        " AND f.trust >= ? AND f.category = coalesce(?, f.category)",
        (asked.owner, *wanted, asked.min_trust, asked.category),
    ).fetchall()
    held: dict[int, list[str]] = defaultdict(list)
    within: dict[str, int] = defaultdict(int)
    figures: dict[int, tuple[int, float]] = {}
    for term, id, size, trust, updated in rows:
        held[id].append(term)
        within[term] += 1
        figures[id] = (size, asked.weigh(trust, updated))
    weights = {term: math.log(1 + (len(held) or 1) / within.get(term, 1)) for term in wanted}
    whole = sum(weights.values())
    scores: dict[int, float] = {}
    for id, (size, counts) in figures.items():
        shared = len(held[id])
        covers = sum(weights[term] for term in held[id]) / whole
        common = shared / (len(wanted) + max(size, shared) - shared)
        scores[id] = (COVERS * covers + COMMON * common) * counts
    best = sorted(scores, key=lambda id: (-scores[id], -id))[: asked.limit]
    return [(scores[id], get(connection, asked.owner, id)) for id in best]


def probe(connection: sqlite3.Connection, asked: Asked, entity: str) -> Found:
    """Return all facts about something: that name it, or have its words."""
    about = _about(connection, asked.owner, entity)
    return _best(connection, asked, lambda fact: fact.id in about)


def reason(connection: sqlite3.Connection, asked: Asked, entities: Iterable[str]) -> Found:
    """Return the facts about several things at once."""
    about = set[int].intersection(*(_about(connection, asked.owner, entity) for entity in entities))
    return _best(connection, asked, lambda fact: fact.id in about)


def related(connection: sqlite3.Connection, asked: Asked, entity: str) -> Found:
    """Return facts that do not speak of something, but of what is named together with it; most names shared first."""
    about, named = _about(connection, asked.owner, entity), _named(connection, asked)
    beside = {name for id in about for name in named[id]}
    return _best(connection, asked, lambda fact: 0 if fact.id in about else len(beside & named[fact.id]))


def contradict(connection: sqlite3.Connection, asked: Asked) -> list[tuple[float, Fact, Fact]]:
    """Return pairs of facts that name the same, and say things of it that are much alike and yet differ."""
    named, pairs = _named(connection, asked), []
    facts = [fact for fact in _all(connection, asked) if named[fact.id]][:MOST_COMPARED]
    words = {fact.id: set(terms(fact.content)) for fact in facts}
    for one, other in combinations(facts, 2):
        if not (shared := named[one.id] & named[other.id]):
            continue
        subject = {term for name in shared for term in terms(name)}
        alike = _jaccard(words[one.id] - subject, words[other.id] - subject)
        if alike >= ALIKE:
            pairs.append((alike * _jaccard(named[one.id], named[other.id]), one, other))
    return sorted(pairs, key=lambda pair: -pair[0])[: asked.limit]


def _about(connection: sqlite3.Connection, owner: str, entity: str) -> set[int]:
    """Return the facts that name something, or have all its words."""
    wanted = terms(entity)[:MOST_TERMS]
    naming = connection.execute("SELECT fact FROM names WHERE owner = ? AND name = ?", (owner, fold(entity).strip()))
    having = connection.execute(
        f"SELECT fact FROM terms WHERE owner = ? AND term IN ({', '.join('?' * len(wanted))})"
        " GROUP BY fact HAVING count(*) = ?",
        (owner, *wanted, len(wanted)),
    )
    return {row[0] for rows in (naming, having) for row in rows}


def _best(connection: sqlite3.Connection, asked: Asked, relevance: Callable[[Fact], float]) -> Found:
    scored = [
        (share * asked.weigh(fact.trust, fact.updated), fact)
        for fact in _all(connection, asked)
        if (share := relevance(fact))
    ]
    return sorted(scored, key=lambda found: -found[0])[: asked.limit]


def _all(connection: sqlite3.Connection, asked: Asked) -> list[Fact]:
    return listed(connection, asked.owner, category=asked.category, min_trust=asked.min_trust)


def _named(connection: sqlite3.Connection, asked: Asked) -> dict[int, set[str]]:
    named: dict[int, set[str]] = defaultdict(set)
    for id, name in connection.execute("SELECT fact, name FROM names WHERE owner = ?", (asked.owner,)):
        named[id].add(name)
    return named


def _jaccard(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0
