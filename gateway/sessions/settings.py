"""How a group is divided into sessions, and when a session starts anew."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class SharingSettings(BaseModel):
    """Who shares a session in a group."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    group_sessions_per_user: bool = True
    """In a group each member has a session of their own."""
    thread_sessions_per_user: bool = False
    """In a thread or topic each member has a session of their own."""
