"""The settings of the log."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Level = Literal["debug", "info", "warning", "error"]


class LogSettings(BaseModel):
    """What is written down of the work, to logs/agent.log of the home and to the terminal."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    level: Level = "info"
    """The least important lines that are kept."""
    levels: dict[str, Level] = {}
    """Part of the gateway or name of a logger: its own level."""
    format: Literal["auto", "json", "text"] = "auto"
    """What is shown of it: text for people, JSON for machines; auto: text on a terminal."""
    max_megabytes: float = Field(10, gt=0, le=10_240)
    """The file begins anew at this size."""
    keep: int = Field(5, ge=0, le=1000)
    """Older files that are kept."""
