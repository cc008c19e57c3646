"""`cron`, `plugins`, `prices`: the clock, and the rest of the operator's."""

from __future__ import annotations

from pydantic import Field

from gateway.config.sections.base import Section


class CronRunSettings(Section):
    """One run of a job."""

    max_turns: int = Field(30, ge=1, le=10_000)
    """Model calls."""
    minutes: float = Field(30, gt=0, le=1440)
    """Time."""
    cost: float = Field(0, ge=0)
    """Cost, by `prices`; 0 is no limit."""


class QuietHours(Section):
    """When jobs say nothing; both empty: always allowed."""

    start: str = Field("", pattern=r"^(([01]\d|2[0-3]):[0-5]\d)?$")
    """As "22:00"."""
    end: str = Field("", pattern=r"^(([01]\d|2[0-3]):[0-5]\d)?$")
    """As "07:00"."""


class CronSettings(Section):
    """Jobs on a schedule."""

    enabled: bool = True
    """Run jobs."""
    max_parallel: int = Field(4, ge=1, le=1000)
    """Jobs that run at once."""
    catch_up_minutes: int = Field(120, ge=0, le=525_600)
    """A job missed by no more than this is run late, once."""
    run: CronRunSettings = CronRunSettings()
    """What one run may use up."""
    quiet_hours: QuietHours = QuietHours()
    """When jobs say nothing."""


class PluginSettings(Section):
    """Code of others."""

    allow: list[str] = []
    """Names of plugins that are loaded."""


class Price(Section):
    """What a model costs, per million tokens."""

    input: float = Field(0, ge=0)
    """Tokens of the prompt."""
    output: float = Field(0, ge=0)
    """Tokens of the answer."""
    cached: float = Field(0, ge=0)
    """Tokens of the prompt that were cached."""
