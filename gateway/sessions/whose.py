"""Who speaks in a conversation, and whose notes it uses."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Whose:
    """
    Who speaks, as the id of a person, and whose notes the conversation uses ("" for nobody's).

    `alone` is the person again where nobody else speaks in the conversation.
    """

    person: str = ""
    notes: str = ""
    alone: str = ""
