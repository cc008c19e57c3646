"""Changes to the entries of one text. Pure.

In: the entries as they stand, operations, the limit in characters. Out: the new entries, or a `Refusal`: one sentence
for the model and what it needs to do better. A batch is all or nothing; only its final size is checked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gateway.agent.memory.notes import divides, join, usage, whole

Action = Literal["add", "replace", "remove"]
ALL = " No operations were applied (batch is all-or-nothing)."
MOST, LONGEST = 200, 65_536
"""Operations in one call, and characters of one entry, whatever the limit: more is no note, and takes long to scan."""
HANDLE = 8
"""Hexadecimal digits in the name of an entry."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One change. `old_text` is a unique part of the entry that is meant, or its handle (``#`` and 8 digits)."""

    action: Action
    content: str = ""
    old_text: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """
    Why nothing was changed. `overflow`: the text would be longer than its limit; `unknown`: no entry is the one meant.

    `entries` or `matches` hold what the model must see to do better, to the letter as they stand in the text.
    """

    error: str
    overflow: bool = False
    unknown: bool = False
    entries: tuple[str, ...] = ()
    matches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Changed:
    """
    The entries after all operations, the operations that changed something, and what deserves a word.

    The `old_text` of such an operation is the whole entry that was meant.
    """

    entries: tuple[str, ...]
    done: tuple[Operation, ...] = ()
    note: str = ""


Scan = Callable[[str], Sequence[str]]
"""Returns the ids of the threats found in a text."""


def handle(entry: str) -> str:
    """Return the name by which an entry can be meant without repeating its words."""
    return "#" + hashlib.sha256(entry.encode("utf-8", "surrogatepass")).hexdigest()[:HANDLE]


def objection(operations: Sequence[Operation], scan: Scan) -> Refusal | None:
    """Say what is wrong with the operations themselves, whatever the entries are; takes as long as the scan does."""
    if not operations:
        return Refusal("There are no operations; give at least one.")
    if len(operations) > MOST:
        return Refusal(f"There are {len(operations):,} operations; give at most {MOST} in one call.")
    for place, operation in enumerate(operations, 1):
        if problem := _content(operation, whole(operation.content), scan):
            return Refusal(_at(place, operations) + problem + (ALL if len(operations) > 1 else ""))
    return None


def change(entries: Sequence[str], operations: Sequence[Operation], limit: int) -> Changed | Refusal:
    """Return what operations to which there is no `objection` make of the entries."""
    now, done, note = list(entries), list[Operation](), ""
    for place, operation in enumerate(operations, 1):
        result = _one(now, replace(operation, content=whole(operation.content)))
        if isinstance(result, Refusal):
            error = _at(place, operations) + result.error + (ALL if len(operations) > 1 else "")
            return replace(result, error=error, entries=tuple(entries) if result.entries else ())
        effect, told = result
        done += [effect] if effect else []
        note = told or note
    if len(join(now)) > limit and len(join(now)) > len(join(entries)):
        return _overflow(entries, now, limit)
    return Changed(tuple(now), tuple(done), note)


def _at(place: int, operations: Sequence[Operation]) -> str:
    return f"Operation {place}: " if len(operations) > 1 else ""


def _content(operation: Operation, content: str, scan: Scan) -> str:
    """Say what is wrong with the words of an operation, or ""."""
    if operation.action == "remove":
        return ""
    if not content:
        return "content cannot be empty" + ("; use remove to drop an entry." if operation.action == "replace" else ".")
    if len(content) > LONGEST:
        return f"content has {len(content):,} characters, an entry at most {LONGEST:,}; keep the fact, not all of it."
    if divides(content):
        return "a line with nothing but § divides entries; write it differently, or save two entries."
    if found := scan(content):
        return f"the content looks like an attack ({', '.join(found)}) and was not saved. Save the plain fact instead."
    return ""


def _one(now: list[str], operation: Operation) -> tuple[Operation | None, str] | Refusal:
    """Carry one operation out; return what it came to, if anything, and a note; or a refusal."""
    content = operation.content
    if operation.action == "add":
        if content in now:
            return None, "Entry already exists (no duplicate added)."
        now.append(content)
        return operation, ""
    found = _find(now, whole(operation.old_text))
    if isinstance(found, Refusal):
        return found
    meant = replace(operation, old_text=now[found])
    if operation.action == "remove":
        del now[found]
    elif now[found] == content:
        return None, ""
    elif content in now:
        del now[found]
        return replace(meant, action="remove", content=""), _DROPPED
    else:
        now[found] = content
    return meant, ""


_DROPPED = "The new content existed already; the old entry was dropped."


def _find(entries: Sequence[str], wanted: str) -> int | Refusal:
    """Return which entry is meant; of identical ones the first."""
    if not wanted:
        return Refusal("old_text is missing: give a unique part of the entry that is meant.", entries=tuple(entries))
    exact = [entry for entry in entries if wanted in {entry, handle(entry)}]
    matches = dict.fromkeys(exact or (entry for entry in entries if wanted in entry))
    if not matches:
        return Refusal("No entry holds this old_text; these are the entries.", unknown=True, entries=tuple(entries))
    if len(matches) > 1:
        return Refusal(
            "Several entries hold this old_text; give a longer part of the one that is meant.", matches=tuple(matches)
        )
    return entries.index(next(iter(matches)))


def _overflow(before: Sequence[str], after: Sequence[str], limit: int) -> Refusal:
    return Refusal(
        f"This would take {len(join(after)):,} of {limit:,} characters (now {usage(before, limit)}). Make room in one"
        " call with operations: replace entries with shorter ones, merge what belongs together, remove what is stale"
        " (keep preferences first, then corrections, then conventions), and add the new entry.",
        overflow=True,
        entries=tuple(before),
    )
