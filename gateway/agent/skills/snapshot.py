"""
``.skills_prompt_snapshot.json``: what the local skills said when they were last read, for the next process.

In: the file, which may be anybody's. Out: skills by the paths of their files, with the stamps under which they are
still true. The layout is the reference's, version 1; what it does not hold of a skill stands beside, under our name.
Without that an entry is another program's and read anew. Blocking.
"""

from __future__ import annotations

import logging
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from gateway.agent.skills.skill import ANYBODY, NOTHING, About, Conditions, ConfigItem, Skill, Source
from gateway.agent.skills.stored import put
from gateway.agent.skills.walk import Stamp, read
from gateway.errors import ToolError

log = logging.getLogger(__name__)

NAME = ".skills_prompt_snapshot.json"
VERSION = 1
MOST_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What files said, by their paths relative to the folder of skills; descriptions are by category."""

    manifest: dict[str, Stamp] = field(default_factory=dict)
    skills: dict[str, Skill] = field(default_factory=dict)
    descriptions: dict[str, str] = field(default_factory=dict)


def load(home: Path, root: Path) -> Snapshot:
    """Return what is there; nothing where it is damaged, too large or another program's."""
    try:
        raw = read(home, NAME, MOST_BYTES + 1)
        file: Any = orjson.loads(raw) if len(raw) <= MOST_BYTES else None
    except (OSError, ToolError, ValueError):
        return Snapshot()
    try:
        return _snapshot(file, root) if file["version"] == VERSION else Snapshot()
    except (TypeError, ValueError, LookupError, AttributeError):
        return Snapshot()


def save(home: Path, snapshot: Snapshot) -> None:
    """Keep it for the next process, which does without where that fails."""
    kept = {
        "version": VERSION,
        "manifest": snapshot.manifest,
        "skills": [_entry(skill) for skill in snapshot.skills.values()],
        "category_descriptions": snapshot.descriptions,
    }
    try:
        put(home, NAME, orjson.dumps(kept))
    except (OSError, ToolError, orjson.JSONEncodeError) as error:
        log.debug("the snapshot of skills was not written: %s", error)


def _snapshot(file: Any, root: Path) -> Snapshot:
    """Read what is to be a snapshot; raise what Python raises where it is none."""
    manifest = {_text(path): _stamp(stamp) for path, stamp in file["manifest"].items()}
    skills = {skill.file: skill for skill in (_skill(entry, root) for entry in file["skills"])}
    descriptions = {_text(name): _text(told) for name, told in file["category_descriptions"].items()}
    return Snapshot(manifest, skills, descriptions)


def _skill(entry: Any, root: Path) -> Skill:
    own = entry["hermes_gateway"]
    about = _about(own["about"]) if "about" in own else NOTHING
    name, description, path = entry["frontmatter_name"], entry["description"], own["path"]
    problem = own.get("problem", "")
    if not (type(name) is type(description) is type(path) is type(problem) is str):
        raise TypeError("not text")
    return Skill(name, description, path, root, Source.LOCAL, about, problem)


def _about(own: Any) -> About:
    version, tags, related, variables, commands, conditions, config = own
    "".join((version, *tags, *related, *variables, *commands))  # which raises TypeError for what is no text, at once
    return About(
        version,
        tuple(tags),
        tuple(related),
        Conditions(*map(_words, conditions)) if conditions else ANYBODY,
        tuple(variables),
        tuple(commands),
        tuple(ConfigItem(*map(_text, item)) for item in config),
    )


def _words(value: Any) -> tuple[str, ...]:
    return tuple(map(_text, value))


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError("not text")
    return value


def _stamp(value: Any) -> Stamp:
    written, size = value
    if not (type(written) is type(size) is int):
        raise TypeError("not numbers")
    return written, size


def _entry(skill: Skill) -> dict[str, object]:
    own: dict[str, object] = {"path": skill.path}
    if skill.about is not NOTHING:
        own["about"] = _said(skill.about)
    if skill.problem:
        own["problem"] = skill.problem
    conditions = skill.about.conditions
    return {
        "skill_name": skill.path.rpartition("/")[2] or skill.name,
        "category": skill.category,
        "frontmatter_name": skill.name,
        "description": skill.description,
        "platforms": conditions.platforms,
        "conditions": {
            "requires_tools": conditions.requires_tools,
            "requires_toolsets": conditions.requires_toolsets,
            "fallback_for_tools": conditions.fallback_for_tools,
            "fallback_for_toolsets": conditions.fallback_for_toolsets,
        },
        "hermes_gateway": own,
    }


def _said(about: About) -> list[object]:
    """Return the fields in their order, without names: they are read back a thousand at a time."""
    conditions = astuple(about.conditions) if about.conditions is not ANYBODY else ()
    config = [astuple(item) for item in about.config]
    return [about.version, about.tags, about.related, about.variables, about.commands, conditions, config]
