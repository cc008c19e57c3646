"""The two tools of the facts: what they take, and how a call is answered."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from gateway.agent.memory.providers.holographic import facts, recall
from gateway.agent.memory.providers.holographic.facts import Category
from gateway.agent.memory.providers.holographic.recall import Asked
from gateway.agent.memory.providers.offered import Arguments, offer, read
from gateway.errors import ToolError
from gateway.types import clean


class StoreArguments(Arguments):
    """
    Facts you keep about people, projects and decisions, to be found again in any conversation with this person.

    add: remember a fact that one would expect you to know later. search: by words. probe: everything about one person
    or thing. related: what is connected with it. reason: facts about several at once. contradict: pairs that may not
    both be true. update, remove, list. Ask probe or search before you answer questions about the person.
    """

    action: Literal["add", "search", "probe", "related", "reason", "contradict", "update", "remove", "list"]
    content: str = Field("", description="The fact, for add and update.")
    query: str = Field("", description="What to look for, for search.")
    entity: str = Field("", description="A person or thing, for probe and related.")
    entities: list[str] = Field([], max_length=20, description="People or things, for reason.")
    fact_id: int = Field(0, ge=0, lt=2**63, description="Which fact, for update and remove.")
    category: Category | None = Field(None, description="Of the fact, or of the facts looked for.")
    tags: str = Field("", description="Separated by commas.")
    trust_delta: float = Field(0, ge=-1, le=1, description="By how much to trust the fact more or less, for update.")
    min_trust: float | None = Field(None, description="Leave out facts that are trusted less.")
    limit: int = Field(10, ge=1, le=100, description="How many at most.")


class FeedbackArguments(Arguments):
    """
    Rate a fact after you have used it: helpful if it was right, unhelpful if it is wrong or out of date.

    Facts that are trusted little are no longer recalled.
    """

    action: Literal["helpful", "unhelpful"]
    fact_id: int = Field(ge=0, lt=2**63, description="Which fact.")


STORE = offer("fact_store", StoreArguments)
FEEDBACK = offer("fact_feedback", FeedbackArguments)
NEEDS = {
    "add": "content",
    "search": "query",
    "probe": "entity",
    "related": "entity",
    "reason": "entities",
    "update": "fact_id",
    "remove": "fact_id",
}
WRITES = {"add", "update", "remove", "helpful", "unhelpful"}

Job = Callable[[sqlite3.Connection], str]


def job(name: str, arguments: Mapping[str, Any], asked: Asked) -> tuple[Job, bool]:
    """Return what answers a call, and whether it writes; `asked` says whose facts, and what holds by default."""
    given = {key: _clean(value) for key, value in arguments.items()}
    if name == FEEDBACK.name:
        judged = read(FEEDBACK, FeedbackArguments, given)
        return (lambda connection: _judge(connection, asked, judged)), True
    if name != STORE.name:
        raise ToolError(f"there is no tool {name}: the tools are {STORE.name} and {FEEDBACK.name}")
    taken = read(STORE, StoreArguments, given)
    needed = NEEDS.get(taken.action, "")
    if needed and not getattr(taken, needed):
        raise ToolError(f"{STORE.name} {taken.action} needs {needed}")
    return (lambda connection: _told(_store(connection, asked, taken))), taken.action in WRITES


def _clean(value: Any) -> Any:
    if isinstance(value, list):
        return [_clean(one) for one in value]
    return clean(value).strip() if isinstance(value, str) else value


def _store(connection: sqlite3.Connection, asked: Asked, taken: StoreArguments) -> dict[str, Any]:
    if taken.action in WRITES:
        return _write(connection, asked, taken)
    lowest = 0.0 if taken.action == "list" else asked.min_trust
    min_trust = lowest if taken.min_trust is None else taken.min_trust
    asked = replace(asked, category=taken.category, min_trust=min_trust, limit=taken.limit)
    if taken.action == "list":
        found = facts.listed(
            connection, asked.owner, category=asked.category, min_trust=asked.min_trust, limit=asked.limit
        )
        return {"facts": [fact.shown() for fact in found], "count": len(found)}
    if taken.action == "contradict":
        pairs = recall.contradict(connection, asked)
        told = [{"facts": [one.shown(), other.shown()], "score": round(score, 3)} for score, one, other in pairs]
        return {"results": told, "count": len(told)}
    scored = _LOOKS[taken.action](connection, asked, taken)
    return {"results": [fact.shown(score=score) for score, fact in scored], "count": len(scored)}


_LOOKS: dict[str, Callable[[sqlite3.Connection, Asked, StoreArguments], recall.Found]] = {
    "search": lambda connection, asked, taken: recall.search(connection, asked, taken.query),
    "probe": lambda connection, asked, taken: recall.probe(connection, asked, taken.entity),
    "related": lambda connection, asked, taken: recall.related(connection, asked, taken.entity),
    "reason": lambda connection, asked, taken: recall.reason(connection, asked, taken.entities),
}


def _write(connection: sqlite3.Connection, asked: Asked, taken: StoreArguments) -> dict[str, Any]:
    if taken.action == "add":
        id, new = facts.add(
            connection,
            asked.owner,
            taken.content,
            now=asked.now,
            category=taken.category or "general",
            tags=taken.tags,
        )
        return {"fact_id": id, "status": "added" if new else "already known"}
    if taken.action == "remove":
        facts.remove(connection, asked.owner, taken.fact_id)
        return {"fact_id": taken.fact_id, "removed": True}
    changed = facts.update(
        connection,
        asked.owner,
        taken.fact_id,
        now=asked.now,
        content=taken.content or None,
        tags=taken.tags if "tags" in taken.model_fields_set else None,
        category=taken.category,
        trust_delta=taken.trust_delta,
    )
    return {"updated": True, **changed.shown()}


def _judge(connection: sqlite3.Connection, asked: Asked, judged: FeedbackArguments) -> str:
    before, after = facts.judge(connection, asked.owner, judged.fact_id, helpful=judged.action == "helpful")
    return _told({"fact_id": judged.fact_id, "old_trust": round(before, 3), "new_trust": round(after, 3)})


def _told(answer: dict[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False)
