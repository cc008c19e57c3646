"""Which settings do something in this version. The others are known, checked and kept, and say so once."""

from __future__ import annotations

from collections.abc import Callable, Set
from fnmatch import fnmatchcase
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined, to_jsonable_python

from gateway.config.node import Branch, said
from gateway.config.reading import data
from gateway.config.shape import Unit, units

IN_EFFECT = tuple(
    """
    model.* fallback_providers agent.max_turns agent.context_file_max_chars agent.tool_use_enforcement
    agent.personalities platform_hints skills.* workspace.* terminal.*
    sessions.group_sessions_per_user sessions.thread_sessions_per_user
    memory.memory_enabled memory.user_profile_enabled memory.memory_char_limit memory.user_char_limit
    memory.write_approval memory.scope memory.nudge_interval memory.flush_min_turns
    memory.provider memory.holographic.* memory.mem0.* memory.honcho.* memory.plugin plugins.allow
    context.engine compression.* auxiliary.compression.*
    auxiliary.background_review.* display.memory_notifications
    profiles gateway.* streaming.* access.allow_all access.owners delivery.* log.* web.*
    """.split()  # noqa: SIM905 (a table, to be read)
)
"""A room that begins to heed a setting adds it here. Platforms are in effect as soon as they are built."""


def warn_of_idle(tree: Branch, root: type[BaseModel], built: Set[str], warn: Callable[[str], None]) -> None:
    """Warn of every key that is set to something else than its default and changes nothing."""
    for unit in units(tree, root):
        if not _heeded(unit, built) and not _is_default(unit):
            warn(f"{unit.origin}: {said(unit.path)}: accepted, but not in effect in this version")


def _heeded(unit: Unit, built: Set[str]) -> bool:
    if unit.path[0] == "platforms":
        shown = unit.path[unit.path.index("display") :] if "display" in unit.path else ()
        return len(unit.path) == 1 or (unit.path[1] in built and (not shown or said(shown) in IN_EFFECT))
    return any(fnmatchcase(said(unit.path), pattern) for pattern in IN_EFFECT)


def _is_default(unit: Unit) -> bool:
    value: Any = data(unit.node, unit.slot)
    default = unit.slot.field.get_default(call_default_factory=True) if unit.slot.field else PydanticUndefined
    if default is PydanticUndefined:
        return False
    if unit.slot.secret and not value:
        return True
    return bool(value == to_jsonable_python(default, fallback=str))
