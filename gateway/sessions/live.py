"""A conversation held in memory: its history, shared by every entry of the cache that speaks with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gateway.messages import Message

UNKNOWN = -1
"""The version of what was not read yet, or may no longer be true."""


@dataclass(frozen=True, slots=True)
class Whose:
    """
    Who speaks, as the id of a person, and whose notes the conversation uses ("" for nobody's).

    `alone` is the person again where nobody else speaks in the conversation.
    """

    person: str = ""
    notes: str = ""
    alone: str = ""


@dataclass(slots=True, weakref_slot=True, eq=False)
class LiveSession:
    """
    The history of a session as the next request needs it, and the lane's version it is true for.

    `stored` says that the prompt is in the rows; `bytes` is the UTF-8 length of all it holds.
    """

    id: str
    lane: str
    prompt: str = ""
    version: int = UNKNOWN
    history: list[Message] = field(default_factory=list)
    stored: bool = False
    bytes: int = 0
    whose: Whose = Whose()

    def fill(self, prompt: str, history: list[Message], version: int) -> None:
        """Hold what the rows say, in place of whatever was held."""
        self.prompt, self.history, self.version = prompt, history, version
        self.bytes = _length(prompt) + sum(map(_bytes, history))

    def extend(self, said: Sequence[Message]) -> None:
        """Add what a turn has stored."""
        self.history += said
        self.bytes += sum(map(_bytes, said))


@dataclass(slots=True)
class Entry:
    """What the AgentCache holds under ``session_id::home::model_id``."""

    session: LiveSession
    model: str


def cache_key(session_id: str, home: str, model: str) -> str:
    """Return the key of a live session, in the form of the seed documents."""
    return f"{session_id}::{home}::{model}"


def _bytes(message: Message) -> int:
    called = sum(_length(call.name) + _length(call.arguments) for call in message.calls)
    return _length(message.text) + _length(message.api_content or "") + called


def _length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
