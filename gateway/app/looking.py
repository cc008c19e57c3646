"""What a stored conversation is measured with, where no gateway has it in memory. In: the settings. Out: a measure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass

from gateway.agent.context.looked import Measure
from gateway.agent.context.meter import Meter
from gateway.agent.memory.backing.queues import Desk
from gateway.agent.memory.notes import Target
from gateway.agent.memory.operations import Operation
from gateway.agent.skills.audience import Audience
from gateway.agent.skills.library import Library
from gateway.agent.tools.notes import Writing, memory_tool
from gateway.agent.tools.skills import SkillWriting, skill_tools
from gateway.app.mind import mind_of
from gateway.app.remember import open_memories
from gateway.app.skills import skills_of
from gateway.contracts.context import ContextEngine
from gateway.contracts.tool import Tools
from gateway.llm import open_models
from gateway.llm.tokens.calibration import Calibrations
from gateway.rooms import Rooms
from gateway.sessions.tools import search_tool
from gateway.toolkit.function import Tool
from gateway.toolkit.toolset import FunctionTools
from gateway.types import Role, Turn


@dataclass(frozen=True, slots=True)
class Looking:
    """`measure` estimates with the tools of an owner, which are the most there are; `engine` has heard of the model."""

    measure: Measure
    engine: ContextEngine
    tools: Tools


@asynccontextmanager
async def looking(rooms: Rooms, model: str) -> AsyncIterator[Looking]:
    """
    Open what a conversation with a model is measured with; "" is the default model.

    An endpoint is asked how large its model's window is; where it does not answer, what is known of the name counts.
    """
    settings = rooms.config.settings
    models = open_models(settings.model, settings.fallback_providers)
    async with Desk() as desk, nullcontext() if settings.model.offline else models:
        mind, chosen = mind_of(rooms.config, models), models.model(model)
        memories = open_memories(rooms.database, desk, rooms.config.home.memories, settings.memory)
        notes = [memory_tool(memories, rooms.database, Writing("block"), _heard)] if memories.on else []
        skills = _skill_tools(mind.library, rooms) if mind.library else ()
        tools = mind.tools(Role.OWNER, chosen, FunctionTools([*notes, search_tool(rooms.database), *skills]))
        engine = mind.engine()
        engine.model_changed(chosen.name, chosen.window, chosen.max_tokens)
        meter = Meter(Calibrations(), chosen.name, await asyncio.to_thread(mind.count))
        yield Looking(Measure(chosen, tools.specs(), meter), engine, tools)


def _skill_tools(library: Library, rooms: Rooms) -> Sequence[Tool]:
    skills = skills_of(library, rooms.database, lambda turn: Audience(), "")
    return skill_tools(skills.room, SkillWriting())


async def _heard(turn: Turn, target: Target, operations: Sequence[Operation]) -> None:
    """Hear of nothing: nobody calls these tools."""
