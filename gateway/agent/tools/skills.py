"""
skills_list, skill_view and skill_manage: the agent finds, reads and writes what it has learned to do.

In: names, and texts for skill_manage. Out: JSON of the reference's shape. Skills belong to everybody of a home, so
everybody may read them and only who runs it change them; with `skills.write_approval` every change waits.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from cachetools import LRUCache

from gateway.agent.skills import approvals, view
from gateway.agent.skills.audience import Audience
from gateway.agent.skills.change import Action, Author, Change
from gateway.agent.skills.library import Library
from gateway.agent.skills.skill import Skill
from gateway.agent.skills.view import Setup
from gateway.agent.skills.words import one_line
from gateway.agent.skills.workshop import Workshop
from gateway.agent.threats import scan
from gateway.errors import ToolError
from gateway.storage.database import Database
from gateway.toolkit.function import Tool, tool
from gateway.toolkit.limits import brief
from gateway.types import Role, Turn

LIST, VIEW, MANAGE = "skills_list", "skill_view", "skill_manage"
NAMES = (LIST, VIEW, MANAGE)
LISTED = 150
"""Skills that are listed with what they do; more only by name."""
NAMED = 1500
LISTED_CHARS = 200
HINT = "skill_view(name) loads one."
MORE = f"skill_view(name) loads one. With a category, all of its skills are described, up to {LISTED}."
WAITS = "Waits for approval as {id}: an owner decides with /skills approve {id} or /skills reject {id}."


@dataclass(frozen=True, slots=True)
class SkillWriting:
    """How changes are treated: they take effect, or wait (`stage`). `origin` is foreground, or background_review."""

    stage: bool = False
    origin: str = "foreground"


@dataclass(frozen=True, slots=True)
class SkillRoom:
    """
    What the tools work with.

    `audience` says what the conversation of a turn has, `profile` whose skills they are, "" for the gateway's own.
    """

    library: Library
    workshop: Workshop
    database: Database
    setup: Setup
    audience: Callable[[Turn], Audience]
    profile: str = ""


def skill_tools(room: SkillRoom, writing: SkillWriting) -> tuple[Tool, Tool, Tool]:
    """Return the three tools; they remember which skills a turn has viewed, which a review must before it writes."""
    viewed: LRUCache[str, frozenset[str]] = LRUCache(256)

    @tool(name=LIST, parallel=True, repeatable=True, role=Role.GUEST)
    async def skills_list(turn: Turn, category: str = "") -> str:
        """
        List skills: instructions for kinds of tasks, each with one line that says what it is for.

        Args:
            category: Only the skills of this category.
        """
        return _said(success=True, **await asyncio.to_thread(_list, room.library, room.audience(turn), category))

    @tool(name=VIEW, parallel=True, repeatable=True, role=Role.GUEST)
    async def skill_view(turn: Turn, name: str, file_path: str = "") -> str:
        """
        Load a skill: what to do in full, and the files that belong to it. Do so before you begin a task it is for.

        Args:
            name: The skill, as the list calls it; category/name where several have the name.
            file_path: A file of the skill instead, such as references/api.md.
        """
        try:
            skill, told = await asyncio.to_thread(_view, room, turn, name, file_path)
        except ToolError as error:
            return _said(success=False, error=str(error))
        if not file_path:
            viewed[turn.id] = viewed.get(turn.id, frozenset()) | {skill.path}
        return _said(success=True, **told)

    @tool(name=MANAGE, role=Role.OWNER)
    async def skill_manage(
        turn: Turn,
        action: Action,
        name: str,
        content: str = "",
        category: str = "",
        file_path: str = "",
        file_content: str | None = None,
        old_string: str = "",
        new_string: str | None = None,
        absorbed_into: str | None = None,
        *,
        replace_all: bool = False,
    ) -> str:
        """
        Keep what you have learned to do as a skill, for every later conversation.

        Write one after a task that took several tries, after a correction by the person, or when you are asked to
        remember how something is done; mend one as soon as it turns out wrong. A skill is for a kind of task, not for
        one case: look with skills_list first whether one covers it, and patch that. SKILL.md is front matter (a line
        ---, name, description: when to use it, a line ---), then when to use it, numbered steps with exact commands,
        what goes wrong, and how to see that it worked. Long material goes into files beside it.

        Args:
            action: create, patch (replace a text), edit (write SKILL.md anew), delete (put into the archive),
                write_file or remove_file (a file beside SKILL.md).
            name: The skill: lower case, digits, dots, dashes.
            content: All of SKILL.md, for create and edit.
            category: Where a new skill belongs, such as devops.
            file_path: A file in references/, templates/, scripts/ or assets/, for write_file, remove_file and patch.
            file_content: All of that file.
            old_string: For patch, the text to be replaced, as it stands there once.
            new_string: What takes its place.
            absorbed_into: For delete, the skill that has the content now, "" where none has.
            replace_all: For patch, replace every occurrence.
        """
        change = Change(
            action,
            name,
            content=content,
            category=category,
            file_path=file_path,
            file_content=file_content,
            old_string=old_string,
            new_string=new_string,
            replace_all=replace_all,
            absorbed_into=absorbed_into,
        )
        author = Author(writing.origin, viewed.get(turn.id, frozenset()))
        try:
            if writing.stage:
                return await _stage(room, turn, change, author)
            changed = await asyncio.to_thread(room.workshop.carry_out, change, author)
        except ToolError as error:
            return _said(success=False, error=str(error))
        warning = await asyncio.to_thread(_warning, changed.step.after)
        return _said(success=True, message=changed.message, path=changed.path, **warning)

    return skills_list, skill_view, skill_manage


def _list(library: Library, audience: Audience, category: str) -> dict[str, Any]:
    skills = library.visible(audience).items()
    found = sorted(
        (skill.category, label, skill) for label, skill in skills if not category or _within(skill, category)
    )
    rows = [
        {"name": label, "description": one_line(skill.description, LISTED_CHARS), "category": place}
        for place, label, skill in found[:LISTED]
    ]
    told: dict[str, Any] = {"skills": rows}
    if more := [label for _, label, _ in found[LISTED:]]:
        told["more_skills"] = more[:NAMED]
    counts = Counter(place for place, _, _ in found)
    told["categories"] = sorted(counts)
    if more:
        told["skills_in_category"] = dict(sorted(counts.items()))
    return told | {"count": len(found), "hint": MORE if more else HINT}


def _within(skill: Skill, category: str) -> bool:
    wanted = category.strip("/").casefold()
    return f"{skill.category}/".casefold().startswith(f"{wanted}/")


def _view(room: SkillRoom, turn: Turn, name: str, file_path: str) -> tuple[Skill, dict[str, object]]:
    audience = room.audience(turn)
    skill = room.library.find(name, audience)
    if skill is None:
        near = get_close_matches(name, room.library.visible(audience), 5, 0.4)
        help = f"Perhaps: {', '.join(near)}" if near else "skills_list shows what there is"
        raise ToolError(f"there is no skill called {brief(name)}. {help}")
    if file_path:
        return skill, view.view_file(skill, file_path)
    told = view.view(skill, room.setup, turn.session_id)
    room.library.usage.bump(skill.name, "view")
    return skill, told


async def _stage(room: SkillRoom, turn: Turn, change: Change, author: Author) -> str:
    await asyncio.to_thread(room.workshop.check, change, author)
    id = await room.database.write(
        lambda connection: approvals.stage(
            connection, change, person=turn.person, origin=author.origin, profile=room.profile
        )
    )
    return _said(success=True, staged=True, pending_id=id, message=WAITS.format(id=id))


def _warning(after: str | None) -> dict[str, str]:
    found = scan(after, "strict") if after else ()
    return (
        {"warning": f"The scan finds in this text what tries to command a model: {', '.join(found)}."} if found else {}
    )


def _said(**told: Any) -> str:
    return json.dumps(told, ensure_ascii=False)
