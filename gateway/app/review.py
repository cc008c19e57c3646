"""Reviews put together for one process: who looks back over conversations, when, and what chats are told of it."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.agent.memory.memories import Memories
from gateway.agent.memory.settings import MemorySettings
from gateway.agent.review.report import Notifications
from gateway.agent.review.reviewer import Reviewer
from gateway.storage.database import Database
from gateway.turns.reviews import ReviewSettings


def reviewer_of(memories: Memories, database: Database, settings: MemorySettings) -> Reviewer | None:
    """Return who reviews; nobody where it could write nothing, or is never asked to."""
    mode = settings.write_approval
    if not memories.on or mode == "block" or not (settings.nudge_interval or settings.flush_min_turns):
        return None
    return Reviewer(memories, database, mode)


def review_settings(settings: MemorySettings, notices: Mapping[str, Notifications]) -> ReviewSettings:
    """Return when reviews happen; an adapter that `notices` does not name tells of them in a line."""
    return ReviewSettings(settings.nudge_interval, settings.flush_min_turns, lambda adapter: notices.get(adapter, "on"))
