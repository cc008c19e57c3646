"""A profile that runs: what its turns, its reviews and its commands work with, and how its conversations begin.

In: a `Profile` and its `Mind`, on what all profiles of the process share. Out: the rooms of that agent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

from gateway.agent.context.looked import Measure
from gateway.agent.context.meter import Meter
from gateway.agent.loop import Agent
from gateway.agent.memory.approve import Approvals
from gateway.agent.memory.backing.queues import Desk
from gateway.agent.memory.manager import MemoryManager
from gateway.agent.memory.scopes import HOME, Kind, Owner
from gateway.agent.prompt import system_prompt
from gateway.app.fits import crowded
from gateway.app.process import Mind, Profile
from gateway.app.remember import Remember, open_memories
from gateway.app.review import reviewer_of
from gateway.app.speakers import Speakers
from gateway.app.terminal import PLATFORM as LOCAL
from gateway.contracts.model import Model
from gateway.contracts.resource import Resource
from gateway.contracts.tool import Tools
from gateway.home import Home
from gateway.llm.tokens.calibration import Calibrations
from gateway.llm.tokens.messages import Count
from gateway.llm.tokens.text import estimate_text
from gateway.sessions.settings import SharingSettings
from gateway.sessions.tools import NAME as SEARCH
from gateway.sessions.tools import search_tool
from gateway.sessions.whose import Whose
from gateway.storage.database import Database
from gateway.toolkit.toolset import FunctionTools, Union
from gateway.turns.engines import Engines
from gateway.turns.fitting import Fitting
from gateway.turns.notices import wanted
from gateway.turns.reviews import Reviewing
from gateway.turns.rooms import AgentRooms
from gateway.types import Event, Role, SessionKey, Turn


@dataclass(frozen=True, slots=True)
class Grounds:
    """
    What the profiles of a process share.

    `hint` is what the adapter of an event says of its platform, `ids` makes the ids of sessions. `works` says that the
    process runs turns, `reviews` that it looks back over them.
    """

    database: Database
    desk: Desk
    speakers: Speakers
    sharing: SharingSettings
    hint: Callable[[Event], str]
    ids: Callable[[], str]
    works: bool = True
    reviews: bool = True


class Household(Resource):
    """One profile. Enter it before anything else: then `agent` and `reviewing` are there."""

    def __init__(self, profile: Profile, mind: Mind, grounds: Grounds) -> None:
        self.profile = profile
        self.mind = mind
        self._grounds = grounds
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        try:
            await self._open()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def _open(self) -> None:
        works, enter = self._grounds.works, self._stack.enter_async_context
        self.engines = await enter(Engines())
        manager = await enter(MemoryManager(self.mind.provider() if works else None))
        self._count: Count = await asyncio.to_thread(self.mind.count) if works else estimate_text
        self.remember = self._make_remember(manager)
        search = FunctionTools([search_tool(self._grounds.database)])
        offered = self._engine_tools()
        self._with_search = lru_cache(maxsize=8)(lambda more: Union(more, search))
        self._with_engine = lru_cache(maxsize=8)(lambda more: Union(more, offered) if offered.specs() else more)
        self.agent = self._make_agent()
        self.reviewing = self._make_reviewing()

    @property
    def name(self) -> str:
        return self.profile.name

    @property
    def home(self) -> Home:
        return Home(self.profile.home)

    # --- the rooms

    def _make_remember(self, manager: MemoryManager) -> Remember:
        grounds, settings = self._grounds, self.profile.memory
        memories = open_memories(grounds.database, grounds.desk, self.home.memories, settings)
        taken = (*self.mind.taken, SEARCH)
        return Remember(grounds.database, memories, manager, settings, grounds.sharing, grounds.speakers, taken=taken)

    def _make_agent(self) -> AgentRooms:
        compression = self.profile.compression
        return AgentRooms(
            home=str(self.profile.home),
            agent=Agent(steps=self.profile.max_steps),
            model=self.mind.model,
            tools=self.tools,
            whose=self.remember.whose,
            prompt=self.prompt,
            workspace=self.mind.workspace,
            attach=self.mind.references.attach,
            recall=self.remember.recall,
            begun=self.remember.begun,
            shown=self.remember.shown,
            learn=self.remember.learn,
            fitting=Fitting(
                compression,
                self.mind.engine,
                self.mind.writers,
                self.remember.before_compression,
                self.renewed,
                self.remember.followed,
                engines=self.engines,
                count=self._count,
            ),
            follow=None if compression.in_place else self._grounds.ids,
            told=wanted(compression),
        )

    def _make_reviewing(self) -> Reviewing:
        settings = self.profile.memory
        looks = self._grounds.works and self._grounds.reviews
        reviewer = reviewer_of(self.remember.memories, self._grounds.database, settings) if looks else None
        return Reviewing(
            settings.nudge_interval,
            settings.flush_min_turns,
            reviewer,
            self.mind.reviews() if reviewer else None,
            self.mind.model,
            self.tools,
            self.remember.whose,
        )

    def approvals(self) -> Approvals:
        """Return who decides on writes to this profile's notes."""
        memories, mode = self.remember.memories, self.profile.memory.write_approval
        return Approvals(self._grounds.database, memories, mode, self.remember.heard)

    # --- what a turn is given

    async def prompt(self, event: Event, whose: Whose) -> str:
        """Return how a conversation begins."""
        notes = await self.remember.snapshot(whose)
        return system_prompt(identity=self.profile.identity, hint=self._grounds.hint(event), notes=notes)

    async def renewed(self, event: Event, whose: Whose, prompt: str) -> str:
        """Return a prompt for after a compression: the same to the byte, unless the notes in it have changed."""
        notes = await self.remember.snapshot(whose)
        return prompt if notes and notes in prompt else await self.prompt(event, whose)

    def tools(self, turn: Turn, model: Model) -> Tools:
        """Return what a turn may do."""
        more = self.remember.tools(turn)
        more = self._with_search(more) if turn.person else more
        return self.mind.tools(turn.role, model, self._with_engine(more))

    def _engine_tools(self) -> Tools:
        """Ask an engine once what tools those of all live sessions offer."""
        if not self._grounds.works:
            return FunctionTools(())
        return self.engines.tools(self.mind.engine(), {*self.mind.taken, SEARCH, *self.remember.taken})

    async def crowded(self) -> tuple[str, str] | None:
        """Say that prompt and tools of the owner's private chat leave the default model no room, and what mends it."""
        whose, model = Whose(person=LOCAL, notes=str(self.own(home=True))), self.mind.model("")
        turn = Turn(id="", session=SessionKey(""), session_id="", events=(), role=Role.OWNER)
        turn = replace(turn, person=whose.person, notes=whose.notes)
        prompt = system_prompt(identity=self.profile.identity, notes=await self.remember.snapshot(whose))
        meter = Meter(Calibrations(), model.name, self._count)
        return crowded(self.profile.compression, Measure(model, self.tools(turn, model).specs(), meter), prompt)

    def own(self, person: str = "", *, home: bool) -> Owner:
        """Return whose notes are a person's own; `home` says that it is the one who owns the home."""
        return HOME if home else Owner(Kind.PERSON, person)
