"""What a chat is told of a review. Pure.

In: what was really written, or waits for approval. Out: Markdown, "" for nothing to say. A text that the threat scan
finds something in is never repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gateway.agent.memory.notes import Target
from gateway.agent.memory.operations import Operation
from gateway.agent.skills.words import one_line
from gateway.agent.threats import scan

Notifications = Literal["off", "on", "verbose"]
ENTRY_CHARS, LINE_CHARS = 80, 300
"""Characters of one entry, and of all of them, in the short form."""
DONE = {"add": "added", "replace": "changed", "remove": "removed"}
WAITS = {"add": "to add", "replace": "to change", "remove": "to remove"}
SKILL_DONE = {"create": "made", "delete": "put away"}
SKILL_WAITS = {"create": "to be made", "delete": "to be put away"}
NAME_CHARS = 64
BLOCKED = "(blocked by the scan)"


@dataclass(frozen=True, slots=True)
class Kept:
    """One write: what it changed in a text, or would, where it waits for approval under an id."""

    target: Target
    operations: tuple[Operation, ...]
    pending: str = ""


@dataclass(frozen=True, slots=True)
class KeptSkill:
    """A change of a skill that was carried out, or waits under an id; `action` is as skill_manage takes it."""

    name: str
    action: str
    pending: str = ""


def report(kept: Sequence[Kept], how: Notifications, skills: Sequence[KeptSkill] = ()) -> str:
    """Return what is said of a review."""
    if how == "off":
        return ""
    notes = (_lines(kept) if how == "verbose" else _line(kept)) if kept else ""
    learned = (_skill_lines(skills) if how == "verbose" else _skill_line(skills)) if skills else ""
    return "\n".join(filter(None, (notes, learned)))


def _skill_line(skills: Sequence[KeptSkill]) -> str:
    done = list(dict.fromkeys(_skill(one) for one in skills if not one.pending))
    waits = list(dict.fromkeys(_skill(one) for one in skills if one.pending))
    said = [f"Skill {'; '.join(done)}"] if done else []
    said += [f"Skill that waits for an owner (/skills pending): {'; '.join(waits)}"] if waits else []
    return f"💾 {' · '.join(said)}"


def _skill_lines(skills: Sequence[KeptSkill]) -> str:
    lines = [f"- {_skill(one)}{f' (/skills approve {one.pending})' if one.pending else ''}" for one in skills]
    return "\n".join(["💾 Skills; /skills lists them all:", *lines])


def _skill(one: KeptSkill) -> str:
    done, other = (SKILL_WAITS, "to be changed") if one.pending else (SKILL_DONE, "changed")
    return f"{one_line(one.name, NAME_CHARS)} {done.get(one.action, other)}"


def _line(kept: Sequence[Kept]) -> str:
    written = _together([one for one in kept if not one.pending])
    waiting = _together([one for one in kept if one.pending])
    said = [f"Remembered: {written}"] if written else []
    said += [f"Waits for your approval (/memory pending): {waiting}"] if waiting else []
    return f"💾 {' · '.join(said)}"


def _together(kept: Sequence[Kept]) -> str:
    """Join what was kept, as far as a line goes, and count what was removed."""
    operations = [operation for one in kept for operation in one.operations]
    texts = [_short(operation.content) for operation in operations if operation.action != "remove"]
    shown: list[str] = []
    while texts and len("; ".join([*shown, texts[0]])) <= LINE_CHARS:
        shown.append(texts.pop(0))
    removed = sum(operation.action == "remove" for operation in operations)
    shown += [f"{len(texts)} more"] if texts else []
    shown += [f"{removed} {'entry' if removed == 1 else 'entries'} removed"] if removed else []
    return "; ".join(shown)


def _short(text: str) -> str:
    text = _visible(text)
    return text if len(text) <= ENTRY_CHARS else f"{text[:ENTRY_CHARS]}…"


def _visible(text: str) -> str:
    return BLOCKED if scan(text, "strict") else " ".join(text.split())


def _lines(kept: Sequence[Kept]) -> str:
    lines = [_each(one, operation) for one in kept for operation in one.operations]
    return "\n".join(["💾 Remembered; /memory show lists it all:", *(f"- {line}" for line in lines)])


def _each(one: Kept, operation: Operation) -> str:
    words = WAITS if one.pending else DONE
    text = _visible(operation.content or operation.old_text)
    waits = f" (/memory approve {one.pending})" if one.pending else ""
    return f"{one.target.file}, {words[operation.action]}: {text}{waits}"
