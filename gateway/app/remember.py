"""Memory put together for one process: who speaks, whose notes that means, and the tool that writes them.

In: events, from turns. Out: people, the section of a new conversation's prompt, the tools of a turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from gateway.access import people
from gateway.agent.memory.backing.contract import Backing
from gateway.agent.memory.backing.files import FileBacking
from gateway.agent.memory.backing.queues import Desk
from gateway.agent.memory.backing.table import TableBacking, owners
from gateway.agent.memory.memories import Memories
from gateway.agent.memory.notes import Target
from gateway.agent.memory.operations import Operation
from gateway.agent.memory.scopes import HOME, Kind, Owner, chat_of, owner_of
from gateway.agent.memory.settings import MemorySettings
from gateway.agent.tools.notes import Writing, memory_tool
from gateway.contracts.tool import Tools
from gateway.sessions.keys import of_one
from gateway.sessions.live import Whose
from gateway.sessions.settings import SharingSettings
from gateway.storage.database import Connection, Database
from gateway.toolkit.toolset import FunctionTools
from gateway.types import ChatType, Event, Turn

NOTHING = FunctionTools(())


def open_memories(database: Database, desk: Desk, folder: Path, settings: MemorySettings) -> Memories:
    """Return the notes: files below `folder`, or rows where several machines may share the database."""

    def backing(owner: Owner) -> Backing:
        files = FileBacking(owner.folder(folder), desk)
        return files if database.url.startswith("sqlite") else TableBacking(database, str(owner), files)

    return Memories(database, settings, backing)


class Remember:
    """
    What turns need of memory.

    `first` are the accounts, besides the local ones, of the person who owns the home: its notes are the home's own.
    """

    def __init__(
        self,
        database: Database,
        memories: Memories,
        settings: MemorySettings,
        sharing: SharingSettings,
        *,
        local: str,
        first: str,
    ) -> None:
        self.memories = memories
        self._database = database
        self._settings = settings
        self._sharing = sharing
        self._local, self._first = local, first
        tools = [memory_tool(memories, database, Writing(settings.write_approval), _heard)] if memories.on else []
        self._tools = FunctionTools(tools)

    async def whose(self, event: Event) -> Whose:
        """Say who wrote an event and whose notes its conversation uses; whoever is new becomes a person."""
        if event.chat_type is ChatType.WEBHOOK:
            return Whose()
        account = f"{event.origin.platform}:{event.sender.id}"
        person, home = await self._database.read(partial(_person, account=account))
        if not person:
            first = event.origin.platform == self._local or account == self._first
            person, home = await self._database.write(partial(_meet, account=account, first=first))
        owner = owner_of(event, self._settings.scope, HOME if home else Owner(Kind.PERSON, person))
        notes = str(owner) if owner is not None and self.memories.on else ""
        return Whose(person, notes, person if of_one(event, self._sharing) else "")

    async def snapshot(self, whose: Whose) -> str:
        """Return the notes as they stand, for the prompt of a conversation that begins."""
        return await self.memories.store(Owner.parse(whose.notes)).snapshot() if whose.notes else ""

    def tools(self, turn: Turn) -> Tools:
        """Return what the turn may do to its notes."""
        return self._tools if turn.notes else NOTHING


def _person(connection: Connection, account: str) -> tuple[str, bool]:
    person = people.known(connection, account)
    return person, people.is_home(connection, person)


def _meet(connection: Connection, account: str, *, first: bool) -> tuple[str, bool]:
    person = people.meet(connection, account, home=first)
    return person, people.is_home(connection, person)


async def _heard(turn: Turn, target: Target, operations: Sequence[Operation]) -> None:
    return


async def all_owners(database: Database, folder: Path) -> list[Owner]:
    """Return everybody who may have notes: the home, the people, the chats that have a folder or a row."""
    ids = await database.read(people.everybody)
    rows = await database.read(owners)
    chats = await asyncio.to_thread(_chats, folder)
    found = [HOME, *(Owner(Kind.PERSON, id) for id in ids), *map(Owner.parse, rows), *chats]
    return list(dict.fromkeys(found))


def _chats(folder: Path) -> list[Owner]:
    try:
        names = sorted(path.name for path in (folder / "chats").iterdir())
    except OSError:
        return []
    return [owner for name in names if (owner := chat_of(name)) is not None]
