"""`agent`, `platform_hints`, `toolsets` and the options of a run: how the agent thinks and what it is told."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gateway.config.sections.base import Section

ToolProgress = Literal["off", "new", "all"]


class AgentSettings(Section):
    """One turn of the agent."""

    max_turns: int = Field(90, ge=1, le=10_000)
    """Model calls in one turn of a person; at the limit the agent sums up what it did."""
    context_file_max_chars: int | None = Field(None, ge=1_000, le=10_000_000)
    """Characters of all context files (AGENTS.md …) together; null: 6 % of the model's window, 20,000 at least."""
    tool_use_enforcement: Literal["auto", "on", "off"] | list[str] = "auto"
    """Tell the model to act by its tools and not only to announce it; auto: the families of models that need it; or a
    list of parts of models' names."""
    personalities: dict[str, str] = {}
    """Name: text, for /personality."""


class PlatformHint(Section):
    """What the prompt says of one platform."""

    append: str = ""
    """Said after our own hint."""
    replace: str = ""
    """Said in place of it."""


class ToolsetSettings(Section):
    """Which tools the agent has. A list in place of this section is its `default`."""

    default: list[str] = ["default"]
    """Toolsets where no other rule applies."""
    by_platform: dict[str, list[str]] = {}
    """Platform: toolsets."""
    by_chat: dict[str, list[str]] = {}
    """Address of a chat: toolsets."""
    by_role: dict[str, list[str]] = {}
    """guest, member or owner: toolsets."""


class RunOptions(Section):
    """How the runs of an API key or a job differ from a chat's; what is null is as elsewhere."""

    skip_memory: bool | None = None
    """Neither read nor write the memory."""
    skip_context_files: bool | None = None
    """Leave AGENTS.md and its like out of the prompt."""
    load_soul_identity: bool | None = None
    """Begin the prompt with SOUL.md."""
    quiet_mode: bool | None = None
    """Send no progress and no notices, the answer only."""
    tool_progress: ToolProgress | None = None
    """Show the tools at work."""
    max_turns: int | None = Field(None, ge=1, le=10_000)
    """Model calls in one turn."""
    model: str | None = None
    """The model that answers."""
    home: str | None = None
    """The home the run belongs to."""
    toolset: str | None = None
    """The toolset of the run."""
