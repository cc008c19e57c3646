"""Memory put together for one process: who speaks, whose notes that means, and the tool that writes them.

In: events, from turns. Out: people, the section of a new conversation's prompt, the tools of a turn.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gateway.access import people
from gateway.agent.memory.backing.contract import Backing
from gateway.agent.memory.backing.files import FileBacking
from gateway.agent.memory.backing.pending import Staging
from gateway.agent.memory.backing.queues import Desk
from gateway.agent.memory.backing.table import TableBacking, owners
from gateway.agent.memory.fence import compose
from gateway.agent.memory.manager import MemoryManager
from gateway.agent.memory.memories import Memories
from gateway.agent.memory.notes import Target
from gateway.agent.memory.operations import Operation
from gateway.agent.memory.scopes import HOME, Kind, Owner, chat_of, owner_of
from gateway.agent.memory.scrub import scrubbed
from gateway.agent.memory.settings import MemorySettings
from gateway.agent.prompt.prompt import Section, Tier
from gateway.agent.review.reviewer import ORIGIN
from gateway.agent.tools.notes import NAME, Writing, memory_tool
from gateway.app.speakers import Speakers
from gateway.contracts.memory import Scope
from gateway.contracts.tool import Tools
from gateway.messages import Message, Progress
from gateway.sessions import store
from gateway.sessions.keys import of_one
from gateway.sessions.settings import SharingSettings
from gateway.sessions.whose import Whose
from gateway.storage.database import Connection, Database
from gateway.toolkit.toolset import FunctionTools, Union
from gateway.turns.live import LiveSession, said_in
from gateway.types import ChatType, Event, Turn

log = logging.getLogger(__name__)

NOTHING = FunctionTools(())
PROVIDER_CHARS = 8_000
"""How much of what a provider says for the prompt is used."""


def open_memories(database: Database, desk: Desk, folder: Path, settings: MemorySettings) -> Memories:
    """Return the notes: files below `folder`, or rows where several machines may share the database."""

    def backing(owner: Owner) -> Backing:
        files = FileBacking(owner.folder(folder), desk)
        return files if database.url.startswith("sqlite") else TableBacking(database, str(owner), files)

    return Memories(database, settings, backing)


class Remember:
    """
    What turns need of memory.

    `speakers` says who speaks; the notes of the person who owns the home are the home's own. `taken` are the names of
    the tools there are, `profile` is the name of the agent who remembers, "" for the gateway's own.
    """

    def __init__(
        self,
        database: Database,
        memories: Memories,
        manager: MemoryManager,
        settings: MemorySettings,
        sharing: SharingSettings,
        speakers: Speakers,
        *,
        taken: Collection[str],
        profile: str = "",
    ) -> None:
        self.memories = memories
        self.manager = manager
        self.profile = profile
        self._database = database
        self._settings = settings
        self._sharing = sharing
        self._speakers = speakers
        writing = Writing(settings.write_approval)
        own = FunctionTools([memory_tool(memories, database, writing, self._wrote)] if memories.on else [])
        self._tools = Union(own, manager.tools((*taken, NAME), scope_of))

    @property
    def taken(self) -> Sequence[str]:
        """The names that no other tool may have."""
        return [NAME, *(spec.name for spec in self._tools.specs())]

    async def whose(self, event: Event) -> Whose:
        """Say who wrote an event and whose notes its conversation uses; whoever is new becomes a person."""
        if event.chat_type is ChatType.WEBHOOK:
            return Whose()
        known = await self._speakers.of(event)
        person = known.person
        owner = owner_of(event, self._settings.scope, self.own(person, home=known.home))
        notes = str(owner) if owner is not None and (self.memories.on or self.manager.name) else ""
        return Whose(person, notes, person if of_one(event, self._sharing) else "")

    def own(self, person: str, *, home: bool) -> Owner:
        """Return whose notes are a person's own; `home` says that it is the one who owns the home."""
        return (HOME if home else Owner(Kind.PERSON, person)).within(self.profile)

    async def joined(self, person: str) -> None:
        """Give the home the notes of somebody who turned out to be its owner."""
        owner = self.own(person, home=False)
        for why in await self.memories.join(owner, self.own(person, home=True)):
            log.warning("notes of the owner's browser stay apart (memory show --of %s): %s", owner, why)

    async def notes(self, owner: str) -> list[Section]:
        """Return what is remembered, as it stands, for the prompt of a conversation that begins; "" is nobody's."""
        if not owner:
            return []
        found = sections(await self.memories.store(Owner.parse(owner)).sections())
        told = self.manager.system_prompt_block()
        provided = Section("provider", f"memory.provider {self.manager.name}", told, Tier.VOLATILE, PROVIDER_CHARS)
        return [*found, provided] if told else found

    def tools(self, turn: Turn) -> Tools:
        """Return what the turn may do to its notes."""
        return self._tools if turn.notes else NOTHING

    async def recall(self, turn: Turn, history: Sequence[Message], said: Message) -> Message:
        """Return the user's message with what the provider remembers, behind a fence in what the model reads."""
        if not self.manager.name or (scope := scope_of(turn)) is None:
            return said
        number = 1 + sum(message.role == "user" for message in history)
        recalled = await self.manager.start_turn(number, said.text, scope)
        return replace(said, api_content=compose(said.content, recalled)) if recalled else said

    async def before_compression(self, turn: Turn, said: Sequence[Message]) -> str:
        """Let the provider look at what a compression is about to hide; return what the summary must keep."""
        if not self.manager.name or (scope := scope_of(turn)) is None:
            return ""
        return await self.manager.pre_compress(said, scope)

    def followed(self, turn: Turn, session_id: str) -> None:
        """Let the provider hear that a compressed conversation goes on under another id."""
        if self.manager.name and (scope := scope_of(turn)) is not None:
            self.manager.session_switched(session_id, scope, reason="compression")

    async def begun(self, event: Event, session: LiveSession) -> None:
        """Let the provider hear that the conversation before this one in the same place is over."""
        if not (self.manager.name and session.whose.notes):
            return

        def job(connection: Connection) -> tuple[str, Sequence[Message]]:
            before = store.previous(connection, session.lane, session.id)
            return before, said_in(store.load(connection, before)) if before else ()

        before, said = await self._database.read(job)
        if said:
            scope = replace(_scope(event, session.whose), gateway_session_key=session.lane, session_id=before)
            self.manager.session_ended(said, scope, reason="new", new_session_id=session.id)

    def shown(self, report: AsyncGenerator[Progress]) -> AsyncGenerator[Progress]:
        """Return what is reported, without a fence that the model repeats."""
        return scrubbed(report) if self.manager.name else report

    def learn(self, turn: Turn, said: Message, answer: str) -> None:
        """Let the provider hear of a completed turn."""
        if self.manager.name and (scope := scope_of(turn)) is not None:
            self.manager.after_turn(said.text, answer, scope)

    async def forget(self, owner: Owner, person: str) -> list[str]:
        """Have the provider forget an owner; report it, where there is a provider."""
        if not self.manager.name:
            return []
        forgotten = await self.manager.forget(_beside(str(owner), person))
        return [forgotten.problem or f"{forgotten.count} memories of {self.manager.name}"]

    def heard(self, write: Staging, operations: Sequence[Operation]) -> None:
        """Let the provider hear of a write that a person made or allowed, but of no review's."""
        if self.manager.name and write.origin != ORIGIN:
            self._tell(_beside(write.owner, write.person), write.target, operations)

    async def _wrote(self, turn: Turn, target: Target, operations: Sequence[Operation]) -> None:
        if (scope := scope_of(turn)) is None:
            return
        self._tell(scope, target, operations)

    def _tell(self, scope: Scope, target: Target, operations: Sequence[Operation]) -> None:
        for done in operations:
            about = {"old_text": done.old_text} if done.old_text else {}
            about |= {"write_origin": "foreground", "session_id": scope.session_id, "tool_name": NAME}
            self.manager.memory_write(done.action, str(target), done.content, scope, about)


def sections(written: Mapping[Target, str]) -> list[Section]:
    """Return notes as sections of a prompt."""
    return [Section(str(target), target.file, text, Tier.VOLATILE) for target, text in written.items()]


def _beside(owner: str, person: str) -> Scope:
    """Return what is about somebody's memory outside all conversations."""
    return Scope(owner=owner, user_id=person, chat_id="", gateway_session_key="", session_id="", platform="")


def scope_of(turn: Turn) -> Scope | None:
    """Say whose memory a turn is about, None where it is nobody's."""
    if not turn.notes:
        return None
    scope = _scope(turn.events[-1], Whose(turn.person, turn.notes))
    return replace(scope, gateway_session_key=str(turn.session), session_id=turn.session_id)


def _scope(event: Event, whose: Whose) -> Scope:
    return Scope(
        owner=whose.notes,
        user_id=whose.person,
        chat_id=str(event.origin),
        gateway_session_key="",
        session_id="",
        platform=event.origin.platform,
        user_name=event.sender.name,
    )


async def all_owners(database: Database, folder: Path, profile: str = "") -> list[Owner]:
    """
    Return everybody of whom a profile may have notes: the home, the people, the chats that have a folder or a row.

    `folder` is that of the profile's notes.
    """
    ids = await database.read(people.everybody)
    rows = [owner for owner in map(Owner.parse, await database.read(owners)) if owner.profile == profile]
    chats = await asyncio.to_thread(_chats, folder)
    found = [HOME, *(Owner(Kind.PERSON, id) for id in ids), *rows, *chats]
    return list(dict.fromkeys(owner.within(profile) for owner in found))


def _chats(folder: Path) -> list[Owner]:
    try:
        names = sorted(path.name for path in (folder / "chats").iterdir())
    except OSError:
        return []
    return [owner for name in names if (owner := chat_of(name)) is not None]
