"""A conversation held in memory: shared by every entry of the cache that speaks with it."""

from __future__ import annotations

from asyncio import Task
from collections.abc import Sequence
from dataclasses import dataclass, field

from gateway.agent.context.assembly import viewed, wire
from gateway.agent.context.conversation import Conversation
from gateway.agent.context.guards import unpacked
from gateway.agent.context.meter import Meter
from gateway.agent.history import repair
from gateway.agent.prompt.prompt import Prompt
from gateway.contracts.context import ContextEngine
from gateway.messages import Message
from gateway.sessions import store
from gateway.sessions.store import Stored
from gateway.sessions.whose import Whose
from gateway.storage.database import Connection

UNKNOWN = -1
"""The version of what was not read yet, or may no longer be true."""


@dataclass(slots=True, weakref_slot=True, eq=False)
class LiveSession:
    """
    A session as the next request needs it, and the lane's version it is true for.

    `stored` says that the prompt is in the rows, `guards` are those in the rows. `origin` is the id of the session
    that it began as, before any that only goes on from another. `reads` counts how often it was read from the rows.
    """

    id: str
    lane: str
    version: int = UNKNOWN
    conversation: Conversation = field(default_factory=Conversation)
    stored: bool = False
    guards: str = ""
    origin: str = ""
    whose: Whose = Whose()
    reads: int = 0

    def __post_init__(self) -> None:
        self.origin = self.origin or self.id

    @property
    def prompt(self) -> Prompt:
        """The system's prompt as it is stored."""
        return self.conversation.prompt

    @property
    def history(self) -> Sequence[Message]:
        """What goes to the model behind the prompt."""
        return self.conversation.messages

    @property
    def bytes(self) -> int:
        """The UTF-8 length of all it holds."""
        return self.conversation.bytes

    def begin(self, prompt: Prompt, version: int) -> None:
        """Hold a conversation in which nothing was said."""
        self.read(Stored(prompt.text, (), outline=prompt.outline(), origin=self.id), version)

    def prompted(self, prompt: Prompt) -> None:
        """Go on with another prompt, which is not in the rows yet."""
        self.conversation.prompt, self.stored = prompt, False

    def keep_prompt(self, connection: Connection) -> None:
        """Store the prompt; a part of the transaction that stores what was said under it."""
        prompt = self.prompt
        store.keep_prompt(connection, self.id, prompt.text, prompt.outline(), self.whose.alone)

    def read(self, stored: Stored, version: int, *, open_end: bool = False) -> None:
        """Hold what the rows say, in place of whatever was held; `open_end` says that the last turn goes on."""
        conversation = self.conversation
        conversation.prompt, conversation.spoken = Prompt.stored(stored.prompt, stored.outline), stored.spoken
        conversation.guards = unpacked(stored.guards)
        conversation.fill(viewed(stored.rows, stored.views), open_end=open_end)
        conversation.warm()
        if not open_end:
            conversation.told(*stored.counted)
        self.version, self.guards, self.origin = version, stored.guards, stored.origin or self.id
        self.reads += 1


@dataclass(slots=True)
class Entry:
    """
    What the AgentCache holds under ``session_id::home::model_id``: the session, and what is the model's own.

    `seen` are the session's `reads` that the engine knows of, `told` what it is being told beside the turns.
    """

    session: LiveSession
    model: str
    engine: ContextEngine
    meter: Meter
    seen: int = 0
    told: Task[None] | None = None


def said_in(stored: Stored) -> list[Message]:
    """Return the conversation of a session that is not live."""
    return repair(wire(viewed(stored.rows, stored.views)))


def cache_key(session_id: str, home: str, model: str) -> str:
    """Return the key of a live session, in the form of the seed documents."""
    return f"{session_id}::{home}::{model}"
