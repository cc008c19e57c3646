"""Facts as rows, and what finds them again: plain functions of a connection, each about one owner."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from gateway.agent.memory.providers.holographic.text import fold, letters, names, terms
from gateway.errors import ToolError

Category = Literal["user_pref", "project", "tool", "general"]

LONGEST = 4000
"""Characters of a fact; its tags may have a tenth."""
TRUST, HELPFUL, UNHELPFUL = 0.5, 0.05, -0.10
"""How far a new fact is trusted, and what a judgement changes; the reference's figures."""

COLUMNS = "id, content, category, tags, trust, helpful, created, updated"


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing remembered; `trust` is from 0 to 1, the times are seconds since 1970."""

    id: int
    content: str
    category: str
    tags: str
    trust: float
    helpful: int
    created: float
    updated: float

    def shown(self, **more: float) -> dict[str, Any]:
        """Return what the model sees of it, under the reference's names."""
        return {
            "fact_id": self.id,
            "content": self.content,
            "category": self.category,
            "tags": self.tags,
            "trust_score": round(self.trust, 3),
            "helpful_count": self.helpful,
            "created_at": _date(self.created),
            "updated_at": _date(self.updated),
            **{name: round(value, 3) for name, value in more.items()},
        }


def add(
    connection: sqlite3.Connection,
    owner: str,
    content: str,
    *,
    now: float,
    category: str = "general",
    tags: str = "",
    noted: bool = False,
) -> tuple[int, bool]:
    """Store a fact; return its id and whether it is new, for a fact that is there already stays as it is."""
    _check(content, tags)
    row = connection.execute(
        "INSERT INTO facts (owner, content, category, tags, noted, trust, terms, created, updated)"
        " VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?) ON CONFLICT DO NOTHING RETURNING id",
        (owner, content, category, tags, noted, TRUST, now, now),
    ).fetchone()
    if row is None:
        found = connection.execute("SELECT id FROM facts WHERE owner = ? AND content = ?", (owner, content))
        return int(found.fetchone()[0]), False
    _index(connection, owner, row[0], content, tags)
    return int(row[0]), True


def get(connection: sqlite3.Connection, owner: str, id: int) -> Fact:
    """Return one fact, or raise `ToolError` where the owner has none of this id."""
    row = connection.execute(f"SELECT {COLUMNS} FROM facts WHERE owner = ? AND id = ?", (owner, id)).fetchone()
    if row is None:
        raise ToolError(f"there is no fact {id}: use the fact_id that search or list shows")
    return Fact(*row)


def update(
    connection: sqlite3.Connection,
    owner: str,
    id: int,
    *,
    now: float,
    content: str | None = None,
    tags: str | None = None,
    category: str | None = None,
    trust_delta: float = 0,
) -> Fact:
    """Change what is given of a fact, and return it as it is then."""
    old = get(connection, owner, id)
    text, labels = old.content if content is None else content, old.tags if tags is None else tags
    _check(text, labels)
    try:
        connection.execute(
            "UPDATE facts SET content = ?, tags = ?, category = ?, trust = min(1, max(0, trust + ?)), updated = ?"
            " WHERE owner = ? AND id = ?",
            (text, labels, category or old.category, trust_delta, now, owner, id),
        )
    except sqlite3.IntegrityError:
        raise ToolError("another fact says exactly this already; remove one of the two") from None
    if (text, labels) != (old.content, old.tags):
        _index(connection, owner, id, text, labels)
    return get(connection, owner, id)


def judge(connection: sqlite3.Connection, owner: str, id: int, *, helpful: bool) -> tuple[float, float]:
    """Trust a fact more or less; return its trust before and after."""
    before = get(connection, owner, id).trust
    connection.execute(
        "UPDATE facts SET trust = min(1, max(0, trust + ?)), helpful = helpful + ? WHERE owner = ? AND id = ?",
        (HELPFUL if helpful else UNHELPFUL, helpful, owner, id),
    )
    return before, get(connection, owner, id).trust


def remove(connection: sqlite3.Connection, owner: str, id: int) -> None:
    """Erase one fact."""
    get(connection, owner, id)
    _unindex(connection, id)
    connection.execute("DELETE FROM facts WHERE owner = ? AND id = ?", (owner, id))


def noted(connection: sqlite3.Connection, owner: str, part: str) -> list[int]:
    """Return the facts that mirror an entry of the notes with this text in it."""
    rows = connection.execute(
        "SELECT id FROM facts WHERE owner = ? AND noted = 1 AND instr(content, ?) > 0 ORDER BY id", (owner, part)
    )
    return [row[0] for row in rows]


def listed(
    connection: sqlite3.Connection, owner: str, *, category: str | None = None, min_trust: float = 0, limit: int = -1
) -> list[Fact]:
    """Return facts, the newest first."""
    rows = connection.execute(
        f"SELECT {COLUMNS} FROM facts WHERE owner = ? AND trust >= ? AND category = coalesce(?, category)"
        " ORDER BY updated DESC, id DESC LIMIT ?",
        (owner, min_trust, category, limit),
    )
    return [Fact(*row) for row in rows]


def erase(connection: sqlite3.Connection, owner: str) -> int:
    """Remove all facts of an owner; return how many there were."""
    for table in ("terms", "names"):
        connection.execute(f"DELETE FROM {table} WHERE owner = ?", (owner,))
    return connection.execute("DELETE FROM facts WHERE owner = ?", (owner,)).rowcount


def _index(connection: sqlite3.Connection, owner: str, id: int, content: str, tags: str) -> None:
    _unindex(connection, id)
    text = f"{content}\n{tags}"
    found = terms(text)
    spoken_of = {*names(content), *(fold(tag).strip() for tag in tags.split(","))} - {""}
    connection.execute("UPDATE facts SET terms = ? WHERE id = ?", (len(found), id))
    connection.executemany("INSERT INTO terms VALUES (?, ?, ?)", ((owner, one, id) for one in {*found, *letters(text)}))
    connection.executemany("INSERT INTO names VALUES (?, ?, ?)", ((owner, one, id) for one in spoken_of))


def _unindex(connection: sqlite3.Connection, id: int) -> None:
    connection.execute("DELETE FROM terms WHERE fact = ?", (id,))
    connection.execute("DELETE FROM names WHERE fact = ?", (id,))


def _check(content: str, tags: str) -> None:
    if not content:
        raise ToolError("the content of a fact cannot be empty")
    if len(content) > LONGEST or len(tags) > LONGEST // 10:
        raise ToolError(f"a fact has at most {LONGEST:,} characters and {LONGEST // 10} of tags: say it shorter")


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
