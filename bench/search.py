"""Search in 500,000 messages of four scripts: how long any query takes, and how much room the index needs."""

from __future__ import annotations

import math
import random
import statistics
import tempfile
import time
from bisect import bisect
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path

from sqlalchemy import Connection, insert, text

from gateway.messages import Message
from gateway.sessions import store
from gateway.sessions.search.find import search
from gateway.sessions.search.index import catch_up
from gateway.sessions.search.query import parse
from gateway.sessions.search.scope import Asking, Scope
from gateway.storage import open_database
from gateway.storage.database import Database
from gateway.storage.tables import sessions
from tests.services import fresh_database, run_postgres

Figures = dict[str, float | int | str]

MESSAGES, IN_SESSION, PEOPLE = 500_000, 40, 20
LONG = 0.02
"""The part of the messages that are twenty times as long, such as what was pasted."""
GOAL_MS, GOAL_RATIO = 20, 4
INDEX = {
    "sqlite": "SELECT sum(length(block)) FROM message_words_data",
    "postgresql": "SELECT pg_total_relation_size('message_words')",
}


class Corpus:
    """Texts of invented words, as often as words are in a language (the n-th every n-th time)."""

    def __init__(self) -> None:
        self._chance = random.Random(7)
        self.english = self._words("bcdfghjklmnprstvwz", "aeiou", 30_000)
        self.russian = self._words("бвгджзклмнпрст", "аеёиоуыэюя", 20_000)
        letters = [chr(0x4E00 + place * 5) for place in range(3500)]
        often = list(accumulate((place + 1) ** -0.9 for place in range(len(letters))))
        self.chinese = list(
            dict.fromkeys(
                "".join(letters[bisect(often, self._chance.random() * often[-1])] for _ in range(length))
                for length in self._chance.choices([1, 2, 3, 4], [1, 4, 1, 1], k=30_000)
            )
        )
        self._often = {
            id(words): list(accumulate(1 / (place + 1) for place in range(len(words)))) for words in self._all
        }

    @property
    def _all(self) -> tuple[list[str], ...]:
        return self.english, self.chinese, self.russian

    def _words(self, consonants: str, vowels: str, count: int) -> list[str]:
        pick = self._chance.choice
        words = ("".join(pick(consonants) + pick(vowels) for _ in range(pick([1, 2, 3, 3, 4]))) for _ in range(count))
        return list(dict.fromkeys(words))

    def _some(self, words: list[str], count: int) -> list[str]:
        often = self._often[id(words)]
        return [words[bisect(often, self._chance.random() * often[-1])] for _ in range(count)]

    def message(self) -> str:
        """Return half English, a third Chinese, some Russian, some of two scripts glued together; some are long."""
        kind, length = self._chance.random(), int(self._chance.lognormvariate(3.3, 0.8)) + 2
        if self._chance.random() < LONG:
            length *= 20
        if kind < 0.5:
            return " ".join(self._some(self.english, length))
        if kind < 0.8:
            return "，".join("".join(self._some(self.chinese, 6)) for _ in range(max(1, length // 6)))
        if kind < 0.9:
            return " ".join(self._some(self.russian, length))
        return " ".join(self._some(self.english, length // 2)) + "".join(self._some(self.chinese, length // 2))

    def queries(self) -> dict[str, list[str]]:
        """Return queries by kind: frequent and rare words, and what costs an index most."""
        pick, english, chinese = self._chance.choice, self.english, self.chinese
        two = [word for word in chinese if len(word) == 2]
        return {
            "common": english[:40],
            "chinese_2": two[:40],
            "chinese_1": [word for word in chinese if len(word) == 1][:40],
            "chinese_3_4": [word for word in chinese[:400] if len(word) > 2][:40],
            "mixed": [f"{pick(english[:300])} {pick(two[:200])}" for _ in range(40)],
            "glued": [f"{pick(english[:100])}{pick(two[:100])}" for _ in range(40)],
            "phrase": [f'"{pick(english[:200])} {pick(english[:200])}"' for _ in range(40)],
            "either": [f"{pick(english[:300])} OR {pick(two[:300])}" for _ in range(40)],
            "many": [" OR ".join(pick(english[:2000]) for _ in range(20)) for _ in range(40)],
            "beginning": [f"{word[:3]}*" for word in english[100:140]],
            "rare": english[5000:5040],
            "nothing": [f"zzqx{number}" for number in range(40)],
        }


async def search_sqlite() -> Figures:
    """On SQLite: for somebody who said a twentieth of it, and for the operator."""
    with tempfile.TemporaryDirectory(prefix="hermes-bench-") as folder:
        async with open_database("sqlite:///state.db", Path(folder)) as database:
            return await _measure(database)


async def search_postgres() -> Figures:
    """The same on Postgres."""
    with run_postgres() as server, fresh_database(server.url) as url:
        async with open_database(url, Path("/")) as database:
            return await _measure(database)


async def _measure(database: Database) -> Figures:
    corpus, size = Corpus(), 0
    for first in range(0, MESSAGES, 2000):
        texts = [corpus.message() for _ in range(2000)]
        size += sum(len(one.encode()) for one in texts)
        await database.write(partial(_fill, texts=texts, first=first))
    began = time.perf_counter()
    await catch_up(database, MESSAGES, math.inf)
    rate = MESSAGES / (time.perf_counter() - began)
    index = await database.read(_index_size)
    figures: Figures = {"indexed_per_s": round(rate), "index_per_text": round(index / size, 2)}
    worst = 0.0
    for name, scope in (("person", Asking("p3", "", "agent:main:bench:dm:p3")), ("operator", None)):
        for kind, queries in corpus.queries().items():
            taken = await _times(database, queries, scope)
            p95 = statistics.quantiles(taken, n=20)[-1] * 1000
            worst = max(worst, p95)
            figures[f"{name}_{kind}"] = f"{statistics.median(taken) * 1000:.1f} / {p95:.1f}"
    figures |= {"worst_p95_ms": round(worst, 1), "goal_ms": GOAL_MS, "goal_index_per_text": GOAL_RATIO}
    return figures | {"ratio": round(max(worst / GOAL_MS, index / size / GOAL_RATIO), 2)}


def _fill(connection: Connection, texts: Sequence[str], first: int) -> None:
    for place in range(0, len(texts), IN_SESSION):
        number = (first + place) // IN_SESSION
        person = f"p{number % PEOPLE}"
        row = {"id": f"s{number}", "lane": f"agent:main:bench:dm:{person}", "person": person}
        connection.execute(insert(sessions).values(**row))
        said = [
            Message("assistant" if at % 2 else "user", one) for at, one in enumerate(texts[place : place + IN_SESSION])
        ]
        store.append(connection, row["id"], f"t{number}", said)


def _index_size(connection: Connection) -> int:
    return int(connection.execute(text(INDEX[connection.dialect.name])).scalar_one())


async def _times(database: Database, queries: Iterable[str], scope: Scope) -> list[float]:
    """Return how long each query took, the first time it was asked."""
    taken = []
    for query in queries:
        began = time.perf_counter()
        await database.read(partial(search, query=parse(query), scope=scope, limit=3, apart=True))
        taken.append(time.perf_counter() - began)
    return taken
