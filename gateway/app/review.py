"""Reviews put together for one process: who looks back over conversations, when, and what chats are told of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gateway.agent.memory.memories import Memories
from gateway.agent.memory.settings import MemorySettings
from gateway.agent.review.reviewer import Reviewer
from gateway.storage.database import Database
from gateway.toolkit.function import Tool


def keeps_notes(memories: Memories, settings: MemorySettings) -> bool:
    """Say whether a review could write notes, and is ever asked to."""
    asked = settings.nudge_interval or settings.flush_min_turns
    return bool(memories.on and settings.write_approval != "block" and asked)


def reviewer_of(
    memories: Memories, database: Database, settings: MemorySettings, skills: Callable[[], Sequence[Tool]] | None
) -> Reviewer | None:
    """Return who reviews; nobody where it could write nothing. `skills` are its tools for them, None for no skills."""
    if not keeps_notes(memories, settings) and skills is None:
        return None
    return Reviewer(memories, database, settings.write_approval, skills or tuple)
