"""`sessions`, `display`, `streaming`, `delivery`, `quick_commands`: what a conversation is and how it looks."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from gateway.config.sections.agent import ToolProgress
from gateway.config.sections.base import Section
from gateway.sessions.settings import SharingSettings


class ResetRule(Section):
    """When a session ends by itself and a new one begins."""

    mode: Literal["none", "idle", "daily", "both"] = "none"
    """Never, after a silence, every day, or whichever comes first."""
    at_hour: int = Field(4, ge=0, le=23)
    """The hour of the daily end."""
    idle_minutes: int = Field(1440, ge=1, le=5_256_000)
    """The silence after which it ends."""


class ResetSettings(ResetRule):
    """The rule for all chats, and those that replace it."""

    by_platform: dict[str, ResetRule] = {}
    """Platform: rule."""
    by_type: dict[str, ResetRule] = {}
    """dm, group, forum, thread, channel or webhook: rule."""


class SessionSettings(SharingSettings):
    """Whose conversation it is."""

    reset: ResetSettings = ResetSettings()
    """When a session ends by itself."""


class DisplaySettings(Section):
    """What a chat shows besides the answer; ``platforms.<name>.display`` overrides it for one platform."""

    tool_progress: ToolProgress = "off"
    """The tools at work: none, each when it is first used, or every call."""
    show_reasoning: bool = False
    """Show what the model thought."""
    footer: bool = False
    """End an answer with its model and the share of the window in use."""
    memory_notifications: Literal["off", "on", "verbose"] = "on"
    """Say what was remembered."""
    still_working_seconds: float = Field(0, ge=0, le=86_400)
    """Say after so long a silence that the turn still runs; 0 is never."""


class StreamingSettings(Section):
    """Answers that grow while the model speaks."""

    enabled: bool = True
    """Show the answer as it comes, where the platform can edit messages."""
    edit_interval_seconds: float = Field(1.0, ge=0.05, le=60)
    """Time between two edits of a message; a platform's own limit may make it longer."""


class DeliverySettings(Section):
    """Long answers."""

    max_parts: int = Field(8, ge=1, le=100)
    """Messages that one answer may take; a longer one is sent as a file."""


class QuickCommand(Section):
    """A command of your own: it either answers or asks the agent."""

    reply: str = ""
    """The answer, without a model."""
    prompt: str = ""
    """What the agent is asked."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if bool(self.reply) == bool(self.prompt):
            raise ValueError("needs either reply or prompt")
        return self
