"""How the conversations of a profile begin, and what their turns are told beside them.

In: a turn, its model, and the home as it lies on the disk. Out: a prompt, which is stored and stays as it is; the notes
in it, once they have changed and the conversation was compressed; the user's message with the facts of its turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

from gateway.agent.context_files import load
from gateway.agent.context_files.cut import limit_for
from gateway.agent.context_files.find import top_of
from gateway.agent.prompt import facts
from gateway.agent.prompt.chat import Occasion
from gateway.agent.prompt.facts import Now
from gateway.agent.prompt.guidance import Enforcement
from gateway.agent.prompt.hints import Override, hint
from gateway.agent.prompt.identity import identity, personality
from gateway.agent.prompt.making import NOTES, Ingredients, make
from gateway.agent.prompt.prompt import Prompt, Section, Tier
from gateway.agent.prompt.surroundings import Surroundings
from gateway.agent.skills.audience import MOST_TOKENS, WINDOW_SHARE, Audience
from gateway.agent.skills.library import Library
from gateway.agent.tools.workspace import INSIDE
from gateway.contracts.adapter import Limits
from gateway.contracts.model import Model
from gateway.contracts.tool import Tools
from gateway.home import Home
from gateway.messages import Message
from gateway.sessions.keys import is_of_one
from gateway.types import Event, EventKind, Role, Turn

CRON = "cron"
"""How the settings call what a schedule starts, wherever its answer goes."""


@dataclass(frozen=True, slots=True)
class Manner:
    """
    What the settings of a profile say of its prompts.

    `personalities` are texts by name, `hints` what is said of platforms, `around` where the tools work. `file_chars` is
    how many characters context files may have, None for a share of the model's window.
    """

    enforcement: Enforcement = "auto"
    personalities: Mapping[str, str] = field(default_factory=dict)
    hints: Mapping[str, Override] = field(default_factory=dict)
    around: Surroundings = Surroundings(INSIDE, "session")
    zone: ZoneInfo = ZoneInfo("UTC")
    file_chars: int | None = None


@dataclass(frozen=True, slots=True)
class PromptRooms:
    """
    What prompts are made from.

    `limits` says what the adapter of an event can carry, `tools` what a turn may do, `notes` what an owner of notes
    has, `passing` what the owner of the home lets pass in files whatever the scan finds.
    """

    home: Home
    limits: Callable[[Event], Limits]
    tools: Callable[[Turn, Model], Tools]
    notes: Callable[[str], Awaitable[Sequence[Section]]]
    passing: Callable[[], Awaitable[Set[str]]]
    library: Library | None = None


class Prompts:
    """The prompts of one profile."""

    def __init__(self, manner: Manner, rooms: PromptRooms) -> None:
        self._manner = manner
        self._rooms = rooms

    async def make(self, turn: Turn, model: Model, chosen: str = "") -> Prompt:
        """Return how the conversation of a turn begins, with a model; `chosen` is the chat's personality."""
        manner, rooms, event = self._manner, self._rooms, turn.events[-1]
        alone = is_of_one(str(turn.session))
        level = turn.role if alone or not turn.role.covers(Role.MEMBER) else Role.MEMBER
        tools = frozenset(spec.name for spec in rooms.tools(replace(turn, role=level), model).specs())
        platform = CRON if event.kind is EventKind.TIMER else event.origin.platform
        limits = rooms.limits(event)
        own = "" if platform == CRON else limits.hint
        passing = await rooms.passing()
        soul = await asyncio.to_thread(load.soul, rooms.home.soul_file, passing)
        given = Ingredients(
            occasion=Occasion(event, alone, turn.session_id, self._day(event), model.name),
            model=model.name,
            level=level,
            tools=tools,
            identity=identity(soul.text),
            hint=hint(platform, own, manner.hints.get(platform, Override()), sendable=_sendable(limits)),
            around=manner.around,
            enforcement=manner.enforcement,
            personality=personality(chosen, manner.personalities),
            files=() if model.demo else await self._files(turn, model, tools, passing),
            skills=None if model.demo else await self._skills(platform, tools, model.window),
            notes=await rooms.notes(turn.notes),
            sends_files=limits.attachments,
            small=model.demo,
        )
        return make(given)

    async def renewed(self, turn: Turn, model: Model, prompt: Prompt) -> Prompt:
        """
        Return a prompt for after a compression: the same to the byte but for notes that have changed.

        One of an earlier version does not say where its notes are, and so another is made in its place.
        """
        if not prompt.parts:
            return await self.make(turn, model)
        return prompt.with_sections(NOTES, await self._rooms.notes(turn.notes))

    def beside(self, turn: Turn, said: Message, prompt: Prompt, history: Sequence[Message], chosen: str) -> Message:
        """Return the user's message with what only this turn has to be told."""
        now = Now(self._day(turn.events[-1]), chosen)
        return facts.told(said, now, prompt, history, self._manner.personalities)

    @property
    def personalities(self) -> Mapping[str, str]:
        """The texts of the personalities that can be chosen, by name."""
        return self._manner.personalities

    def _day(self, event: Event) -> date:
        return event.at.astimezone(self._manner.zone).date()

    async def _files(self, turn: Turn, model: Model, tools: Set[str], passing: Set[str]) -> Sequence[Section]:
        """Read the context files of the workspace; in a small window they get no more than a quarter of it."""
        if not turn.workspace:
            return ()
        workspace, fixed = Path(turn.workspace), self._manner.around.per == "fixed"
        top = top_of(workspace, self._rooms.home.path, fixed=fixed)
        limit = min(limit_for(model.window, self._manner.file_chars), model.window)
        loaded = await asyncio.to_thread(load.load, workspace, top, limit, passing, read_file="read_file" in tools)
        return [
            Section(file.name, "the workspace", f"## {file.name}\n\n{file.text}", Tier.CONTEXT)
            for file in loaded.sections
            if file.text
        ]

    async def _skills(self, platform: str, tools: frozenset[str], window: int) -> Section | None:
        library = self._rooms.library
        if library is None or "skill_view" not in tools:
            return None
        room = min(MOST_TOKENS, window // WINDOW_SHARE)
        text = await asyncio.to_thread(library.index, Audience(platform=platform, tools=tools, tokens=room))
        return Section("skills", "the skills folder", text, Tier.VOLATILE)


def _sendable(limits: Limits) -> tuple[str, ...]:
    return (INSIDE,) if limits.attachments else ()
