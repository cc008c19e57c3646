"""/skills: what the agent has learned to do, and an owner's decision on what it wants to change in that."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from gateway.agent.skills.approvals import SkillApprovals, StagedSkill
from gateway.agent.skills.library import Library, slug
from gateway.agent.skills.skill import FILE, NAME_CHARS, Skill
from gateway.agent.skills.usage import UNKNOWN
from gateway.agent.skills.view import linked, view_file
from gateway.agent.skills.words import one_line
from gateway.commands.registry import Asked, Command, Said
from gateway.contracts.adapter import MenuEntry
from gateway.errors import ToolError
from gateway.types import Role, SessionKey

LISTED = 40
"""Skills that are listed one by one; of more, the categories are."""
MOST_LISTED = 200
LINE_CHARS = 80
SHOWN_CHARS = 6_000
"""Characters of a skill, or of a change, that a chat is shown."""
MOST_CHANGES = 5
"""Changes that wait and are shown in full at once."""
MENU_CHARS = 100
"""Characters of a description in a platform's menu."""
_MENU_NAME = re.compile(r"[a-z0-9_]{1,32}")
NO_SKILLS = "Skills cannot be used here."
NONE = "There are no skills yet. They are folders with a SKILL.md in the home's folder skills/."
HELP = "/NAME what to do calls one; /skills show NAME shows it."
CATEGORY = "/skills CATEGORY lists the skills of one."
DECIDES = (
    "/skills pending lists what waits, /skills pending ID shows it, /skills approve ID and /skills reject ID decide."
)
OWNERS = "What the agent wants to change in its skills is decided by an owner of the gateway."
NOTHING = "Nothing waits for approval."
WORDS = {"apply": "approve", "deny": "reject", "drop": "reject"}


@dataclass(frozen=True, slots=True)
class SkillRooms:
    """What the command works with, of the agent whose conversation it is."""

    library: Library
    approvals: SkillApprovals


def skills_command(of: Callable[[SessionKey], SkillRooms | None]) -> Command:
    """Return the command; `of` gives what it works with in a conversation, None where there are no skills."""

    async def skills(asked: Asked) -> Said:
        rooms = of(asked.key)
        return Said(await _answer(rooms, asked) if rooms else NO_SKILLS)

    return Command("skills", "show what I have learned to do", work=skills)


def menu_entries(library: Library) -> list[MenuEntry]:
    """Return the skills that a platform's menu can name, the most used first. Blocking."""
    catalog = library.catalog()
    found: dict[str, MenuEntry] = {}

    def order(skill: Skill) -> tuple[bool, int, str]:
        record = catalog.records.get(skill.name, UNKNOWN)
        return not record.pinned, -record.uses - record.views, skill.name

    for skill in sorted(catalog.skills, key=order):
        name = slug(skill.name).replace("-", "_")
        if _MENU_NAME.fullmatch(name) and name not in found:
            said = one_line(skill.description, MENU_CHARS)
            found[name] = MenuEntry(name, said or one_line(skill.name, MENU_CHARS))
    return list(found.values())


async def _answer(rooms: SkillRooms, asked: Asked) -> str:
    word, rest = (*asked.rest.split(maxsplit=1), "", "")[:2]
    word, rest = WORDS.get(word.lower(), word.lower()), rest.strip("` \n")
    if word in {"pending", "approve", "reject"}:
        return await _decide(rooms.approvals, word, rest, asked) if asked.role.covers(Role.OWNER) else OWNERS
    if word == "show":
        return await asyncio.to_thread(_show, rooms.library, rest)
    listed = await asyncio.to_thread(_list, rooms.library, asked.rest.strip("` \n/"))
    waiting = await rooms.approvals.waiting() if asked.role.covers(Role.OWNER) and not word else []
    return f"{listed}\n\n{len(waiting)} changes wait for approval. {DECIDES}" if waiting else listed


# --- what there is


def _list(library: Library, category: str) -> str:
    catalog = library.catalog()
    if not catalog.labels:
        return NONE
    wanted = category.casefold()
    chosen = {label: skill for label, skill in catalog.labels.items() if _within(skill, wanted)}
    if not chosen:
        return f"There is no category `{_shown(category)}`. There are: {', '.join(_counts(catalog.labels))}."
    if not category and len(chosen) > LISTED:
        return "\n".join([f"{len(chosen)} skills:", *(f"- {line}" for line in _counts(chosen)), "", CATEGORY, HELP])
    return "\n".join([*_lines(chosen), "", HELP])


def _within(skill: Skill, category: str) -> bool:
    return not category or f"{skill.category}/".casefold().startswith(f"{category}/")


def _counts(labels: Mapping[str, Skill]) -> list[str]:
    counts = Counter(skill.category for skill in labels.values())
    return [f"`{_shown(category)}` ({count})" for category, count in sorted(counts.items())]


def _lines(labels: Mapping[str, Skill]) -> Iterator[str]:
    rows = sorted(labels.items(), key=lambda item: (item[1].category, item[0]))
    for category, group in groupby(rows[:MOST_LISTED], key=lambda row: row[1].category):
        yield f"**{_shown(category)}**"
        for label, skill in group:
            yield f"- `{_shown(label)}` {one_line(skill.description, LINE_CHARS)}".rstrip()
    if len(rows) > MOST_LISTED:
        yield f"- and {len(rows) - MOST_LISTED} more"


def _show(library: Library, name: str) -> str:
    if not name:
        return "Say which: /skills show NAME."
    try:
        skill = library.find(name.lstrip("/")) if len(name) <= NAME_CHARS * 4 else None
        if skill is None:
            return f"There is no skill `{_shown(name)}`; /skills lists them."
        text = str(view_file(skill, FILE)["content"])
    except ToolError as error:
        return f"{str(error)[:1].upper()}{str(error)[1:]}."
    files = [path for paths in linked(skill).values() for path in paths]
    record = library.usage.record(skill.name)
    lines = [f"**{_shown(skill.name)}** ({_shown(skill.category)}): used {record.uses + record.views} times"]
    lines += ["Pinned."] if record.pinned else []
    lines += [f"Files: {', '.join(f'`{path}`' for path in files[:LISTED])}"] if files else []
    return "\n".join([*lines, "", _block(text)])


def _block(text: str) -> str:
    """Show a text as it is, in a block of code that it cannot end."""
    text = text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}\n…"
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text.strip()}\n{fence}"


def _shown(name: str) -> str:
    return one_line(name, LINE_CHARS).replace("`", "'")


# --- what waits


async def _decide(approvals: SkillApprovals, word: str, id: str, asked: Asked) -> str:
    waiting = await approvals.waiting()
    if word == "pending" and not id:
        return "\n".join([*map(_pending, waiting), "", DECIDES]) if waiting else NOTHING
    chosen = [one for one in waiting if id in {one.id, "all"}]
    if not chosen:
        return _nothing(id, waiting)
    if word == "pending":
        shown = [f"{_pending(one)}\n{_block(await approvals.difference(one))}" for one in chosen[:MOST_CHANGES]]
        more = len(chosen) - len(shown)
        return "\n\n".join([*shown, f"{more} more wait; /skills pending ID shows one."] if more else shown)
    decide = approvals.approve if word == "approve" else approvals.reject
    return "\n".join([f"- `{one.id}`: {await decide(one, asked.event.account)}" for one in chosen])


def _nothing(id: str, waiting: Sequence[StagedSkill]) -> str:
    if not id:
        return "Say which: an id from /skills pending, or all."
    return f"Nothing waits as `{_shown(id)}`." if waiting or id != "all" else NOTHING


def _pending(staged: StagedSkill) -> str:
    auto = " [auto]" if staged.origin == "background_review" else ""
    return f"- `{staged.id}`{auto} {_shown(staged.summary)}"
