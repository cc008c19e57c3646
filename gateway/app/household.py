"""A profile that runs: what its turns, its reviews and its commands work with, and how its conversations begin.

In: a `Profile` and its `Mind`, on what all profiles of the process share. Out: the rooms of that agent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

from gateway.agent.context.looked import Measure
from gateway.agent.context.meter import Meter
from gateway.agent.context_files.allowed import digests
from gateway.agent.context_files.nearby import Nearby, Visited
from gateway.agent.loop import Agent
from gateway.agent.memory.approve import Approvals
from gateway.agent.memory.backing.queues import Desk
from gateway.agent.memory.manager import MemoryManager
from gateway.agent.review.reviewer import ORIGIN
from gateway.agent.skills.audience import Audience
from gateway.agent.tools.skills import NAMES, SkillWriting, skill_tools
from gateway.app.fits import at_home, crowded
from gateway.app.opening import Opening
from gateway.app.process import Mind, Profile
from gateway.app.prompts import PromptRooms, Prompts
from gateway.app.remember import Remember, open_memories
from gateway.app.review import keeps_notes, reviewer_of
from gateway.app.skills import Skills, skills_of
from gateway.app.speakers import Speakers
from gateway.contracts.adapter import Limits
from gateway.contracts.model import Model
from gateway.contracts.tool import Tools
from gateway.home import Home
from gateway.llm.tokens.calibration import Calibrations
from gateway.llm.tokens.messages import Count
from gateway.llm.tokens.text import estimate_text
from gateway.sessions.settings import SharingSettings
from gateway.sessions.tools import NAME as SEARCH
from gateway.sessions.tools import search_tool
from gateway.storage.database import Database
from gateway.toolkit.function import Tool
from gateway.toolkit.toolset import FunctionTools, Union
from gateway.turns.engines import Engines
from gateway.turns.fitting import Fitting
from gateway.turns.notices import wanted
from gateway.turns.reviews import Reviewing
from gateway.turns.rooms import AgentRooms
from gateway.types import Event, Turn


@dataclass(frozen=True, slots=True)
class Grounds:
    """
    What the profiles of a process share.

    `limits` is what the adapter of an event can carry, `ids` makes the ids of sessions. `works` says that the
    process runs turns, `reviews` that it looks back over them.
    """

    database: Database
    desk: Desk
    speakers: Speakers
    sharing: SharingSettings
    limits: Callable[[Event], Limits]
    ids: Callable[[], str]
    works: bool = True
    reviews: bool = True


class Household(Opening):
    """One profile. Enter it before anything else: then `agent` and `reviewing` are there."""

    def __init__(self, profile: Profile, mind: Mind, grounds: Grounds) -> None:
        super().__init__()
        self.profile = profile
        self.mind = mind
        self._grounds = grounds
        self.skills = self._make_skills()

    async def _open(self) -> None:
        works, enter = self._grounds.works, self._stack.enter_async_context
        self.engines = await enter(Engines())
        manager = await enter(MemoryManager(self.mind.provider() if works else None))
        self._count: Count = await asyncio.to_thread(self.mind.count) if works else estimate_text
        self.remember = self._make_remember(manager)
        search = FunctionTools([search_tool(self._grounds.database)])
        offered = self._engine_tools()
        skills = FunctionTools(self._skill_tools())
        self._visited = Visited()
        self._with_skills = lru_cache(maxsize=8)(lambda more: Union(more, skills))
        self._with_search = lru_cache(maxsize=8)(lambda more: Union(more, search))
        self._with_engine = lru_cache(maxsize=8)(lambda more: Union(more, offered) if offered.specs() else more)
        self.prompts = self._make_prompts()
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
        taken = (*self.mind.taken, SEARCH, *NAMES)
        return Remember(
            grounds.database,
            memories,
            manager,
            settings,
            grounds.sharing,
            grounds.speakers,
            taken=taken,
            profile=self.profile.apart,
        )

    def _make_prompts(self) -> Prompts:
        notes, library = self.remember.notes, self.mind.library
        rooms = PromptRooms(self.home, self._grounds.limits, self.tools, notes, self._passing, library)
        return Prompts(self.profile.manner, rooms)

    async def _passing(self) -> Set[str]:
        """Return what the owner lets pass in files whatever the scan finds there."""
        return await self._grounds.database.read(digests)

    def _make_skills(self) -> Skills | None:
        library = self.mind.library
        return skills_of(library, self._grounds.database, self.audience, self.profile.apart) if library else None

    def _make_agent(self) -> AgentRooms:
        compression = self.profile.compression
        return AgentRooms(
            home=str(self.profile.home),
            agent=Agent(steps=self.profile.max_steps),
            model=self.mind.model,
            tools=self.tools,
            whose=self.remember.whose,
            prompt=self.prompts.make,
            workspace=self.mind.workspace,
            attach=self.mind.references.attach,
            recall=self.remember.recall,
            beside=self.prompts.beside,
            begun=self.remember.begun,
            shown=self.remember.shown,
            learn=self.remember.learn,
            fitting=Fitting(
                compression,
                self.mind.engine,
                self.mind.writers,
                self.remember.before_compression,
                self.prompts.renewed,
                self.remember.followed,
                engines=self.engines,
                count=self._count,
            ),
            follow=None if compression.in_place else self._grounds.ids,
            told=wanted(compression),
            skills=self.skills.caller if self.skills else None,
        )

    def _make_reviewing(self) -> Reviewing:
        settings = self.profile.memory
        looks = self._grounds.works and self._grounds.reviews
        memories, steps = self.remember.memories, self.profile.skills.creation_nudge_interval if self.skills else 0
        learns = self._review_skills if steps else None
        reviewer = reviewer_of(memories, self._grounds.database, settings, learns) if looks else None
        notes = keeps_notes(memories, settings)
        return Reviewing(
            settings.nudge_interval if notes else 0,
            settings.flush_min_turns if notes else 0,
            reviewer,
            self.mind.reviews() if reviewer else None,
            self.mind.model,
            self.tools,
            self.remember.whose,
            steps,
        )

    def _review_skills(self) -> Sequence[Tool]:
        return self._skill_tools(ORIGIN)

    def approvals(self) -> Approvals:
        """Return who decides on writes to this profile's notes."""
        memories, mode = self.remember.memories, self.profile.memory.write_approval
        return Approvals(self._grounds.database, memories, mode, self.remember.heard, profile=self.profile.apart)

    # --- what a turn is given

    def tools(self, turn: Turn, model: Model) -> Tools:
        """Return what a turn may do."""
        more = self.remember.tools(turn)
        more = self._with_search(more) if turn.person else more
        more = self._with_skills(more)
        tools = self.mind.tools(turn.role, model, self._with_engine(more))
        return Nearby(tools, self._passing, self._visited)

    def _skill_tools(self, origin: str = "foreground") -> Sequence[Tool]:
        writing = SkillWriting(stage=self.profile.skills.write_approval, origin=origin)
        return skill_tools(self.skills.room, writing) if self.skills else ()

    def audience(self, turn: Turn) -> Audience:
        """Say what the conversation of a turn has, for whom skills are told apart."""
        names = frozenset(spec.name for spec in self.tools(turn, self.mind.model("")).specs())
        return Audience(platform=turn.target.platform, tools=names)

    def _engine_tools(self) -> Tools:
        """Ask an engine once what tools those of all live sessions offer."""
        if not self._grounds.works:
            return FunctionTools(())
        return self.engines.tools(self.mind.engine(), {*self.mind.taken, SEARCH, *NAMES, *self.remember.taken})

    async def crowded(self) -> tuple[str, str] | None:
        """Say that prompt and tools of the owner's private chat leave the default model no room, and what mends it."""
        model, turn = self.mind.model(""), at_home(str(self.remember.own("", home=True)))
        prompt = await self.prompts.make(turn, model)
        meter = Meter(Calibrations(), model.name, self._count)
        specs = self.tools(turn, model).specs()
        return crowded(self.profile.compression, Measure(model, specs, meter), prompt.text)
