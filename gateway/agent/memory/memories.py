"""All notes of a process: one store for each owner, shared by every session that uses it.

In: an owner. Out: its store, while anybody holds it; and what its owner lets pass, whatever the scan finds.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from functools import partial
from weakref import WeakValueDictionary

from cachetools import LRUCache

from gateway.agent.memory.backing import allowed, pending
from gateway.agent.memory.backing.contract import Backing
from gateway.agent.memory.notes import Target
from gateway.agent.memory.operations import Operation, Refusal
from gateway.agent.memory.scopes import Owner
from gateway.agent.memory.settings import MemorySettings
from gateway.agent.memory.store import Limits, NotesStore
from gateway.storage.database import Connection, Database

KEPT = 1024
"""Stores that stay though nobody holds them."""


def limits_of(settings: MemorySettings) -> Limits:
    """Return the limits of the texts that are switched on."""
    both = {
        Target.MEMORY: (settings.memory_enabled, settings.memory_char_limit),
        Target.USER: (settings.user_profile_enabled, settings.user_char_limit),
    }
    return Limits({target: limit for target, (enabled, limit) in both.items() if enabled})


class Memories:
    """The stores by owner. A text that is switched off is not loaded; `on` is false where both are."""

    def __init__(self, database: Database, settings: MemorySettings, backing: Callable[[Owner], Backing]) -> None:
        self.limits = limits_of(settings)
        self._database = database
        self._backing = backing
        self._stores: WeakValueDictionary[Owner, NotesStore] = WeakValueDictionary()
        self._recent: LRUCache[Owner, NotesStore] = LRUCache(KEPT)

    @property
    def on(self) -> bool:
        return bool(self.limits.of)

    def store(self, owner: Owner) -> NotesStore:
        """Return the one store of an owner in this process."""
        store = self._stores.get(owner)
        if store is None:
            store = NotesStore(str(owner), self._backing(owner), self.limits, partial(self._allowed, owner))
            self._stores[owner] = store
        self._recent[owner] = store
        return store

    async def allow(self, owner: Owner, handle: str, by: str) -> bool:
        """
        Let an entry pass from the next session on, whatever the scan finds in it; False where there is none.

        `by` is an account.
        """
        store = self.store(owner)
        sheets = [await store.sheet(target) for target in store.targets]
        if handle not in {entry.handle for sheet in sheets for entry in sheet.entries}:
            return False
        await self._database.write(lambda connection: allowed.allow(connection, str(owner), handle, by))
        return True

    async def erase(self, owner: Owner, person: str) -> int:
        """Remove an owner's notes, what it let pass and what waits of its person; return the characters of notes."""

        def job(connection: Connection) -> None:
            allowed.forget(connection, str(owner))
            pending.forget(connection, str(owner), person)

        await self._database.write(job)
        return await self.store(owner).erase()

    async def join(self, owner: Owner, other: Owner) -> list[str]:
        """Move what passes the scan to another owner's notes; return in sentences why something stays, if it does."""
        source, goal, stays = self.store(owner), self.store(other), list[str]()
        for target in source.targets:
            entries = [entry for entry in (await source.sheet(target)).entries if not entry.blocked]
            if not entries:
                continue
            moved = await goal.write(target, [Operation("add", entry.text) for entry in entries])
            if not isinstance(moved, Refusal):
                moved = await source.write(target, [Operation("remove", old_text=entry.handle) for entry in entries])
            stays += [f"{target.file}: {moved.error}"] if isinstance(moved, Refusal) else []
        return stays

    async def _allowed(self, owner: Owner) -> Set[str]:
        return await self._database.read(lambda connection: allowed.handles(connection, str(owner)))
