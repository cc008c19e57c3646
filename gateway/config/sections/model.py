"""`model`, `fallback_providers`, `auxiliary`: which endpoints answer."""

from __future__ import annotations

from pydantic import Field, SecretStr

from gateway.config.sections.base import Section


class ModelSettings(Section):
    """The model that answers."""

    default: str = ""
    """The model's id; empty is the only one of the endpoint. With neither key nor base_url: the offline model."""
    base_url: str = ""
    """Any OpenAI-compatible endpoint; empty is OpenAI's. OPENAI_BASE_URL stands for it."""
    api_key: SecretStr = SecretStr("")
    """Its key. OPENAI_API_KEY stands for it."""
    context_length: int | None = Field(None, ge=1024, le=100_000_000)
    """Tokens of the window; null: as known, as the endpoint says, else 128000 and a warning."""
    max_tokens: int | None = Field(None, ge=1, le=100_000_000)
    """Tokens of one answer; null is the endpoint's own limit."""
    temperature: float | None = Field(None, ge=0, le=2)
    """How freely it chooses its words; null is the endpoint's own."""
    timeout_seconds: float = Field(600, gt=0, le=86_400)
    """How long one request may take."""


class FallbackSettings(Section):
    """Another endpoint, asked where the one before it fails."""

    name: str = Field(min_length=1)
    """What the entry is called elsewhere."""
    model: str = Field(min_length=1)
    """The model's id."""
    base_url: str = ""
    """The endpoint; empty is that of `model`."""
    api_key: SecretStr = SecretStr("")
    """Its key; empty is that of `model`."""


class AuxiliaryTask(Section):
    """The model of one side task."""

    provider: str = "auto"
    """auto: the main model; else the name of an entry of fallback_providers."""
    model: str = ""
    """The model's id; empty is the provider's."""
    base_url: str = ""
    """An endpoint of its own."""
    api_key: SecretStr = SecretStr("")
    """Its key."""
    timeout_seconds: float = Field(120, gt=0, le=86_400)
    """How long one request may take."""


class AuxiliarySettings(Section):
    """Models of side tasks."""

    compression: AuxiliaryTask = AuxiliaryTask()
    """Summaries of long conversations."""
    background_review: AuxiliaryTask = AuxiliaryTask()
    """What to remember of a conversation."""
    title: AuxiliaryTask = AuxiliaryTask()
    """Titles of sessions."""
    approval: AuxiliaryTask = AuxiliaryTask()
    """Judging dangerous actions, with approvals.mode: model."""
    vision: AuxiliaryTask = AuxiliaryTask()
    """Looking at pictures."""
