"""The profiles of a process, found by the lane: its key says whose conversation it is, and nothing decides that again.

What is the gateway's, and reaches into every profile, is done here: people who join, and people who are forgotten.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from gateway.access import people
from gateway.agent.skills import approvals
from gateway.agent.tools.workspace import remove_folders
from gateway.app.household import Grounds, Household
from gateway.app.minds import of_profile
from gateway.app.opening import Opening
from gateway.app.process import Mind, Plan
from gateway.commands.notes import Remembered
from gateway.commands.skills import SkillRooms
from gateway.sessions.keys import namespace_of
from gateway.turns.reviews import Reviewing
from gateway.turns.rooms import AgentRooms
from gateway.types import SessionKey


class Households(Opening):
    """Every profile of a plan, with its mind from `minds`, by name."""

    def __init__(self, plan: Plan, minds: Mapping[str, Mind], grounds: Grounds) -> None:
        super().__init__()
        self._database = grounds.database
        made = [Household(profile, minds[profile.name], grounds) for profile in (plan.main, *plan.others)]
        self.main = made[0]
        self._by_name = {household.name: household for household in made}

    async def _open(self) -> None:
        for household in self:
            with of_profile(household.name):
                await self._stack.enter_async_context(household)

    def __iter__(self) -> Iterator[Household]:
        return iter(self._by_name.values())

    # --- by lane

    def knows(self, lane: SessionKey | str) -> bool:
        """Say whether the profile of a lane is still one of ours."""
        return namespace_of(lane) in self._by_name

    def of(self, lane: SessionKey | str) -> Household:
        """Return the profile of a lane; raise `LookupError` where it is not ours any more."""
        return self._by_name[namespace_of(lane)]

    def agent(self, lane: SessionKey | str) -> AgentRooms:
        return self.of(lane).agent

    def reviewing(self, lane: SessionKey | str) -> Reviewing | None:
        return self.of(lane).reviewing if self.knows(lane) else None

    def home(self, lane: SessionKey | str) -> str:
        """Return the home of a lane's sessions, "" where its profile is not ours any more."""
        return self.of(lane).agent.home if self.knows(lane) else ""

    def remembered(self, lane: SessionKey | str) -> Remembered:
        """Return what /memory and /forgetme work with."""
        household = self.of(lane)
        remember = household.remember
        return Remembered(
            self._database,
            remember.memories,
            household.approvals(),
            remember.whose,
            remember.own,
            remember.heard,
            self.forget,
            self.erase,
            remember.manager.name,
        )

    def skills(self, lane: SessionKey | str) -> SkillRooms | None:
        """Return what /skills works with."""
        skills = self.of(lane).skills
        return SkillRooms(skills.room.library, skills.approvals) if skills else None

    async def is_skill(self, lane: SessionKey | str, name: str, platform: str) -> bool:
        """Say whether the agent of a lane has a skill of this name."""
        skills = self.of(lane).skills if self.knows(lane) else None
        return skills is not None and await asyncio.to_thread(skills.caller.knows, name, platform)

    # --- in all of them

    async def joined(self, person: str) -> None:
        """Give the home the notes of somebody who turned out to be its owner."""
        for household in self:
            await household.remember.joined(person)

    async def forget(self, person: str, sessions: Sequence[str]) -> list[str]:
        """Remove the folders of conversations that are gone, and what services remember; report it."""
        folders = [folder for home in self for id in sessions if (folder := home.mind.folder(id)) is not None]
        gone = await asyncio.to_thread(remove_folders, [*folders, self.main.home.cache / person])
        home = await self._is_home(person)
        services = [
            line for one in self for line in await one.remember.forget(one.remember.own(person, home=home), person)
        ]
        return [f"{gone} files", *services, "not reached: backups that whoever runs this gateway has made"]

    async def erase(self, person: str) -> int:
        """Erase a person's own notes, and the changes of skills that wait; return how many characters the notes had."""
        await self._database.write(partial(approvals.forget, person=person))
        home = await self._is_home(person)
        all_of_us = [one.remember for one in self]
        return sum([await one.memories.erase(one.own(person, home=home), person) for one in all_of_us])

    async def _is_home(self, person: str) -> bool:
        return await self._database.read(partial(people.is_home, person=person))
