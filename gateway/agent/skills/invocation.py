"""
Skills that a person calls by name: ``/name what to do``, or several, ``/a /b what to do``.

In: the text of a message. Out: which skills it calls, and the text that the model reads in its place. The opening is
the reference's, so that histories of both are understood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.agent.skills.skill import Skill
from gateway.agent.skills.view import Setup, linked, text

MOST_STACKED = 5
OPENING = '[IMPORTANT: The user has invoked the "{name}" skill'
CALLED = ", so its instructions are to be followed in this turn. The full skill content is loaded below.]"
STACKED = ", together with {others}, so the instructions of all are to be followed. Its full content is loaded below.]"
DIRECTORY = "[Skill directory: {place}]"
FILES = "[Files of the skill, to be read with skill_view(name, file_path): {files}]"
CONFIG = "[Settings of the skill: {values}]"
MISSING = "[Not set up here: {missing}. Tell the person where a step needs it.]"
ARGUMENTS = "The user has provided the following instruction alongside the skill invocation: {arguments}"
_CALL = re.compile(r"/([^\s/@][^\s@]*)(?:@\S+)?(?:\s+|$)")


@dataclass(frozen=True, slots=True)
class Called:
    """What a message calls: skills, each once, and the rest of its text."""

    skills: tuple[Skill, ...]
    arguments: str


def called(message: str, find: Callable[[str], Skill | None]) -> Called | None:
    """
    Read which skills a message begins with; None where its first word calls none.

    `find` is `Library.find`; what looks like a call of what is no skill belongs to the arguments.
    """
    skills: list[Skill] = []
    rest = message.strip()
    while len(skills) < MOST_STACKED and (match := _CALL.match(rest)):
        skill = find(match[1])
        if skill is None:
            break
        if skill not in skills:
            skills.append(skill)
        rest = rest[match.end() :]
    return Called(tuple(skills), rest.strip()) if skills else None


def invocation(called: Called, setup: Setup, session_id: str) -> str:
    """Return the text of the user's message; raise `ToolError` where a skill cannot be read. Blocking."""
    parts = [_loaded(skill, called.skills, setup, session_id) for skill in called.skills]
    if called.arguments:
        parts.append(ARGUMENTS.format(arguments=called.arguments))
    return "\n\n".join(parts)


def _loaded(skill: Skill, skills: Sequence[Skill], setup: Setup, session_id: str) -> str:
    others = ", ".join(f'"{one.name}"' for one in skills if one is not skill)
    opening = OPENING.format(name=skill.name) + (STACKED.format(others=others) if others else CALLED)
    lines = [opening, "", text(skill, setup, session_id).strip(), "", DIRECTORY.format(place=setup.place(skill))]
    if files := [path for paths in linked(skill).values() for path in paths]:
        lines.append(FILES.format(files=", ".join(files)))
    if items := skill.about.config:
        values = (f"{item.key} = {setup.config.get(item.key, item.default)}" for item in items)
        lines.append(CONFIG.format(values=", ".join(values)))
    if missing := [*setup.missing_variables(skill), *setup.missing_commands(skill)]:
        lines.append(MISSING.format(missing=", ".join(missing)))
    return "\n".join(lines)
