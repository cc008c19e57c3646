"""The form of a summary: its headings, also those of older ones, and the parts that are not the model's. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gateway.agent.context.beginnings import OLD_SUMMARY, SUMMARY
from gateway.agent.context.prune import SKILL, SKILL_PRUNED

TASK, GOAL, CONSTRAINTS, ACTIONS = "Active Task", "Goal", "Constraints & Preferences", "Completed Actions"
STATE, BLOCKED, DECISIONS, RESOLVED = "Active State", "Blocked", "Key Decisions", "Resolved Questions"
FILES, CRITICAL, SKILLS = "Relevant Files", "Critical Context", "Pruned Skills"
HEADINGS = (TASK, GOAL, CONSTRAINTS, ACTIONS, STATE, BLOCKED, DECISIONS, RESOLVED, FILES, CRITICAL, SKILLS)
"""What a model is asked for, in this order."""

ANCHORS = "Anchor Index"
MESSAGES = "User Messages (verbatim, newest first)"
RECOVERY = "Context Recovery"
SNAPSHOT, DROPPED = "Previous Summary Snapshot", "Last Dropped Turns"
"""What only a summary made without a model has."""

OLDER = {
    "Historical Task Snapshot": TASK,
    "Historical Pending User Asks": TASK,
    "Historical Remaining Work": TASK,
    "Pending User Asks": TASK,
    "Pending": TASK,
    "Remaining Work": TASK,
    "Next Steps": TASK,
    "Current Task": TASK,
    "Progress": ACTIONS,
    "Done": ACTIONS,
    "Completed": ACTIONS,
    "Detailed Session Log": ACTIONS,
    "Historical In-Progress State": STATE,
    "In-Progress State": STATE,
    "In Progress": STATE,
    "Current State": STATE,
    "Constraints": CONSTRAINTS,
    "Decisions": DECISIONS,
    "Files": FILES,
    "Errors & Fixes": CRITICAL,
    "Tools & Patterns": CRITICAL,
}
"""The headings of older summaries, and under which one what they hold belongs now."""

_NAMES = {name.casefold(): name for name in (*HEADINGS, ANCHORS, MESSAGES, RECOVERY, SNAPSHOT, DROPPED)}
_NAMES |= {old.casefold(): new for old, new in OLDER.items()}
_HEADING = re.compile(r"(#{1,4})[ \t]+(\S.{0,119})|\*\*(\S.{0,119}?)\*\*:?[ \t]*")
_NUMBER = re.compile(r"\d{1,2}[.)][ \t]+")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_END = "\n\n--- END OF CONTEXT SUMMARY"
_PREFIX_ENDS = "avoid repeating it:"
_PRIOR = "[END OF PRIOR CONTEXT — COMPACTION SUMMARY BELOW]"


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a summary; the heading is "" for what stands before the first, and without its marks."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Earlier:
    """
    What a summary brings into the next one.

    `body` is the model's part (or the deterministic one) under today's headings; `asks` are the person's messages that
    it quotes, newest first; `anchors` are the lines it quotes; `skills` are the names of skills that were pruned.
    """

    body: str = ""
    asks: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()


def unmarked(text: str) -> str:
    """Return a summary's text without the marks that stand around it in a message, of any version of the reference."""
    if _PRIOR in text[:200_000] and not text.startswith((SUMMARY, OLD_SUMMARY)):
        text = text.partition(_PRIOR)[2].strip()
    if text.startswith(SUMMARY):
        _, known, rest = text[:6_000].partition(_PREFIX_ENDS)
        text = rest + text[6_000:] if known else text.partition("\n")[2]
    text = text.removeprefix(OLD_SUMMARY)
    return text.partition(_END)[0].strip()


def split(body: str) -> list[Section]:
    """Cut a summary at its headings; what looks like one within fenced text is none."""
    found: list[Section] = []
    heading, lines, fence = "", list[str](), ""
    for line in body.split("\n"):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and line.strip() == mark[1]:
            fence = ""
        name = None if mark or fence else _heading(line)
        if name is None:
            lines.append(line)
            continue
        found.append(Section(heading, "\n".join(lines).strip("\n")))
        heading, lines = name, []
    found.append(Section(heading, "\n".join(lines).strip("\n")))
    return [part for part in found if part.heading or part.text.strip()]


def _heading(line: str) -> str | None:
    """Return a heading's name: as it is known today, as it is for one of its own at the level of ours, else None."""
    found = _HEADING.fullmatch(line.rstrip())
    if found is None:
        return None
    name = _NUMBER.sub("", (found[2] or found[3]).strip().strip("#*").strip()).rstrip(":").strip()
    known = _NAMES.get(name.casefold())
    return known or (name if found[1] == "##" and name else None)


def joined(sections: Iterable[Section]) -> str:
    """Write sections as a text."""
    return "\n\n".join(f"## {part.heading}\n{part.text}".strip() if part.heading else part.text for part in sections)


def folded(sections: Iterable[Section]) -> list[Section]:
    """Return one section for each heading, what is today's first and in order; those of the same heading are joined."""
    texts: dict[str, list[str]] = {}
    for part in sections:
        texts.setdefault(part.heading, []).append(part.text.strip("\n"))
    order = [name for name in ("", *HEADINGS) if name in texts]
    order += [name for name in texts if name not in order]
    return [Section(name, "\n".join(filter(str.strip, texts[name]))) for name in order]


def earlier(summary: str) -> Earlier:
    """Read a summary, with or without the marks around it, for the next one."""
    sections = split(unmarked(summary))
    own = [part for part in sections if part.heading not in {ANCHORS, MESSAGES, RECOVERY}]
    return Earlier(
        joined(folded(own)),
        tuple(text for part in sections if part.heading == MESSAGES for text in quoted_in(part.text)),
        tuple(line[2:] for part in sections if part.heading == ANCHORS for line in _items(part.text)),
        tuple(skills_in(summary)),
    )


def _items(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith("- ") and line[2:].strip()]


def quoted(texts: Sequence[str]) -> str:
    """Write texts to the letter, each within a fence that is longer than any in it."""
    return "\n\n".join(f"{(fence := _fence_for(text))}\n{text}\n{fence}" for text in texts)


def quoted_in(section: str) -> list[str]:
    """Read what `quoted` wrote."""
    found: list[str] = []
    fence, lines = "", list[str]()
    for line in section.split("\n"):
        if fence and line == fence:
            found.append("\n".join(lines))
            fence, lines = "", []
        elif fence:
            lines.append(line)
        elif line.startswith("```") and not line.strip("`"):
            fence = line
    return found


def _fence_for(text: str) -> str:
    longest = max(map(len, re.findall(r"`{3,}", text)), default=2)
    return "`" * (longest + 1)


_SKILL = re.compile(re.escape(SKILL_PRUNED).replace(re.escape("{name}"), r"([^'\n]{1,200})"))
MOST_SKILLS = 20


def skills_in(text: str) -> list[str]:
    """Return the names of skills whose text was pruned, each once, in order."""
    return list(dict.fromkeys(_SKILL.findall(text))) if SKILL in text else []


def skills_text(names: Sequence[str]) -> str:
    """Write the marks of pruned skills, of at most the last twenty."""
    marks = (SKILL_PRUNED.format(name=name) for name in names)
    return "\n".join(list(marks)[-MOST_SKILLS:])
