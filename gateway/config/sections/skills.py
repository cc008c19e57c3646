"""`skills`: what the agent has learned to do."""

from __future__ import annotations

from pydantic import Field

from gateway.config.sections.base import Section


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
