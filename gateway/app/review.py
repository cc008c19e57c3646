"""Reviews put together for one process: who looks back over conversations, when, and what chats are told of it."""

from __future__ import annotations

from gateway.agent.memory.memories import Memories
from gateway.agent.memory.settings import MemorySettings
from gateway.agent.review.reviewer import Reviewer
from gateway.storage.database import Database


def reviewer_of(memories: Memories, database: Database, settings: MemorySettings) -> Reviewer | None:
    """Return who reviews; nobody where it could write nothing, or is never asked to."""
    mode = settings.write_approval
    if not memories.on or mode == "block" or not (settings.nudge_interval or settings.flush_min_turns):
        return None
    return Reviewer(memories, database, mode)
