"""Changes of skills that wait for an owner: what is the skills' in `gateway.agent.pending`."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, dataclass

from gateway.agent import pending
from gateway.agent.memory.scopes import HOME
from gateway.agent.pending import Row
from gateway.agent.skills.change import Author, Change
from gateway.agent.skills.workshop import Workshop, difference
from gateway.errors import ToolError
from gateway.storage.database import Connection, Database

SKILLS = "skills"
AN_OWNER = Author()
"""Who carries a change out: a person who has seen what it is about, whoever wanted it."""


@dataclass(frozen=True, slots=True)
class StagedSkill:
    """
    A change that waits: its id, 8 hexadecimal digits, and one line that says what it is.

    `person` is whose turn wanted it, `origin` foreground or background_review.
    """

    id: str
    summary: str
    change: Change
    person: str
    origin: str


def stage(connection: Connection, change: Change, *, person: str, origin: str, profile: str = "") -> str:
    """Keep a change of a profile's skills ("" for the gateway's own) until an owner decides; return its id."""
    summary = " ".join(f"{change.action} {change.name} {change.file_path}".split())
    row = Row(SKILLS, _home(profile), person, origin, summary, json.dumps(asdict(change)))
    return pending.stage(connection, row)


def waiting(connection: Connection, profile: str = "") -> list[StagedSkill]:
    """Return what waits in a profile's home, oldest first."""
    rows = [row for row in pending.waiting(connection, SKILLS) if row.owner == _home(profile)]
    return [StagedSkill(row.id, row.summary, Change(**json.loads(row.payload)), row.person, row.origin) for row in rows]


def forget(connection: Connection, person: str) -> int:
    """Remove every change that a person's turn wanted, decided or not; return how many."""
    return pending.forget(connection, SKILLS, "", person)


def _home(profile: str) -> str:
    """Return whose skills are: the home's, whoever wanted to change them."""
    return str(HOME.within(profile))


class SkillApprovals:
    """The changes that wait in the home of one profile, "" for the gateway's own. Only for owners."""

    def __init__(self, database: Database, workshop: Workshop, profile: str = "") -> None:
        self._database, self._workshop, self._profile = database, workshop, profile

    async def waiting(self) -> list[StagedSkill]:
        """Return what waits, oldest first."""
        return await self._database.read(lambda connection: waiting(connection, self._profile))

    async def difference(self, staged: StagedSkill) -> str:
        """Return a unified diff of what it would change now, or a sentence that says why it cannot."""
        try:
            step = await asyncio.to_thread(self._workshop.check, staged.change, AN_OWNER)
        except ToolError as error:
            return f"it cannot be carried out as things are: {error}"
        return difference(step) or "it changes nothing any more."

    async def approve(self, staged: StagedSkill, by: str) -> str:
        """Carry it out on the skills as they are now; return a sentence. What cannot be carried out waits again."""
        if not await self._database.write(lambda connection: pending.begin(connection, staged.id, by)):
            return "somebody else has decided on it."
        try:
            changed = await asyncio.to_thread(self._workshop.carry_out, staged.change, AN_OWNER)
        except ToolError as error:
            await self._database.write(lambda connection: pending.end(connection, staged.id, "waiting"))
            return f"it cannot be carried out and still waits: {error}"
        await self._database.write(lambda connection: pending.end(connection, staged.id, "approved"))
        return changed.message

    async def reject(self, staged: StagedSkill, by: str) -> str:
        """Drop it; return a sentence."""
        done = await self._database.write(lambda connection: pending.reject(connection, staged.id, by))
        return "rejected." if done else "somebody else has decided on it."
