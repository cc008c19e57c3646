"""Writes that wait for a person, decided: only the person whose turn wanted one, or an owner of the gateway, may."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gateway.agent.memory.backing import pending
from gateway.agent.memory.backing.pending import Staged, Staging
from gateway.agent.memory.memories import Memories
from gateway.agent.memory.operations import Operation, Refusal
from gateway.agent.memory.scopes import Kind, Owner
from gateway.storage.database import Database
from gateway.types import Role

Heard = Callable[[Staging, Sequence[Operation]], None]
"""Is told of a write that took effect, with the operations of it that changed something."""


class Approvals:
    """The writes of all people to the notes of one profile ("" for the gateway's own); `mode` is the setting."""

    def __init__(
        self, database: Database, memories: Memories, mode: str, heard: Heard | None = None, *, profile: str = ""
    ) -> None:
        self.mode = mode
        self.profile = profile
        self._heard = heard
        self._database = database
        self._memories = memories

    async def waiting(self, person: str, role: Role) -> list[Staged]:
        """Return what this person may decide on, oldest first."""
        whose = None if role.covers(Role.OWNER) else person
        waiting = await self._database.read(lambda connection: pending.waiting(connection, person=whose))
        return [one for one in waiting if Owner.parse(one.write.owner).profile == self.profile]

    async def approve(self, staged: Staged, by: str) -> str:
        """Carry a write out on the notes as they are now; return a sentence. What cannot be carried out waits again."""
        if not await self._database.write(lambda connection: pending.begin(connection, staged.id, by)):
            return "somebody else has decided on it."
        write = staged.write
        store = self._memories.store(Owner.parse(write.owner))
        if write.target in store.targets:
            result = await store.write(write.target, write.operations)
        else:
            result = Refusal(f"{write.target.file} is switched off.")
        state = "waiting" if isinstance(result, Refusal) else "approved"
        if not await self._database.write(lambda connection: pending.end(connection, staged.id, state)):
            return await self._take_back(write)
        if isinstance(result, Refusal):
            return f"it cannot be written and still waits: {result.error}"
        if self._heard is not None:
            self._heard(write, result.done)
        return f"written; {write.target.file} now: {result.usage}."

    async def _take_back(self, write: Staging) -> str:
        """Erase once more what /forgetme has erased while it was being written."""
        owner = Owner.parse(write.owner)
        if owner.kind is not Kind.CHAT:
            await self._memories.erase(owner, write.person)
        return "it is forgotten, as its person wished meanwhile."

    async def reject(self, staged: Staged, by: str) -> str:
        """Drop a write; return a sentence."""
        done = await self._database.write(lambda connection: pending.reject(connection, staged.id, by))
        return "rejected." if done else "somebody else has decided on it."
