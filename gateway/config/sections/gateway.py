"""`gateway`: where rows and hints live, what this process does, how much of it at once."""

from __future__ import annotations

from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, field_validator

from gateway.config.sections.base import Section, UrlWithPassword


class AgentCacheSettings(Section):
    """The live sessions kept in memory; whichever bound is met first puts the least recently used out."""

    max_entries: int = Field(128, ge=1, le=1_000_000)
    """Live sessions at most."""
    idle_seconds: float = Field(3600, gt=0, le=31_536_000)
    """A session that nobody has spoken in for so long is let go."""
    max_megabytes: float = Field(512, gt=0, le=1_048_576)
    """Memory of all live sessions together, as estimated from their texts."""


class GatewaySettings(Section):
    """The process itself."""

    database: Annotated[str, UrlWithPassword()] = Field("sqlite:///state.db", min_length=1)
    """sqlite:///FILE, relative to the home, or postgresql://user:password@host/name. DATABASE_URL stands for it."""
    bus: Annotated[str, UrlWithPassword()] = Field("embedded:", min_length=1)
    """embedded: for one process, or redis://host:6379/0 for several. REDIS_URL stands for it."""
    role: Literal["all", "edge", "worker"] = "all"
    """all in one process; edge: talk to the platforms; worker: run the turns."""
    agent_cache: AgentCacheSettings = AgentCacheSettings()
    """The live sessions kept in memory."""
    max_concurrent_turns: int = Field(64, ge=1, le=10_000)
    """Turns that run at once in this process."""
    max_turns_per_person: int = Field(4, ge=1, le=10_000)
    """Turns that one person may have running at once."""
    busy: Literal["queue", "steer", "interrupt"] = "queue"
    """What a message does while a turn of its chat runs: wait, join the turn, or stop it. /busy changes it per chat."""
    max_queue: int = Field(32, ge=1, le=10_000)
    """Messages that may wait in one session; beyond it the sender is told."""
    drain_seconds: float = Field(30, ge=0, le=3600)
    """How long running turns may take to end when the gateway is told to stop."""
    keep_days: float = Field(7, ge=4, le=36_500)
    """How long it is known which messages were taken and delivered; some platforms repeat one for three days."""
    timezone: str = ""
    """An IANA name, as Europe/Paris; empty is the machine's."""

    @field_validator("timezone")
    @classmethod
    def _exists(cls, name: str) -> str:
        try:
            return name and ZoneInfo(name).key
        except (OSError, ValueError, KeyError):
            raise ValueError("expects the name of a time zone, as Europe/Paris") from None
