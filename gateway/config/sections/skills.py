"""`skills`: what the agent has learned to do."""

from __future__ import annotations

from pydantic import Field

from gateway.config.sections.base import Section


class CuratorSettings(Section):
    """Skills that the agent made and nobody uses any more are put away, never deleted."""

    enabled: bool = True
    """Put them away."""
    interval_hours: float = Field(168, ge=1, le=87_600)
    """How often they are looked for; the first time after as long."""
    min_idle_hours: float = Field(2, ge=0, le=87_600)
    """Only where nobody has spoken for so long."""
    stale_after_days: float = Field(30, ge=0, le=36_500)
    """Days without use after which the list calls one stale; 0 is never."""
    archive_after_days: float = Field(90, ge=0, le=36_500)
    """Days without use after which one is put away; 0 is never."""


class SkillSettings(Section):
    """Skills: what the agent has learned to do."""

    creation_nudge_interval: int = Field(15, ge=0)
    """Calls of tools after which the agent considers a new skill; 0 is never."""
    external_dirs: list[str] = []
    """More directories with skills, read only."""
    disabled: list[str] = []
    """Names of skills that are not shown."""
    write_approval: bool = False
    """Skills the agent writes wait for approval."""
    curator: CuratorSettings = CuratorSettings()
    """What becomes of skills that nobody uses."""
