"""The settings of the models: which endpoint answers, which ones stand in for it, and which do the side tasks."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr


def _web_address(url: str) -> str:
    if url and not url.startswith(("http://", "https://")):
        raise ValueError("must begin with http:// or https://")
    if url and "@" in url.split("/")[2]:
        raise ValueError("must not hold a user or password; a key goes into api_key")
    return url


def _sendable(key: SecretStr) -> SecretStr:
    # A key goes into a header: letters beyond ASCII are a slip of the clipboard, and httpx would fail on each request.
    if not (key.get_secret_value().isascii() and key.get_secret_value().strip().isprintable()):
        raise ValueError("holds characters that no key has; copy it again")
    return key


Url = Annotated[str, AfterValidator(_web_address)]
Key = Annotated[SecretStr, AfterValidator(_sendable)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class ModelSettings(_Section):
    """The model that answers."""

    default: str = ""
    """The model's id; empty is the only one of the endpoint. With neither key nor base_url: the offline model."""
    base_url: Url = ""
    """Any OpenAI-compatible endpoint; empty is OpenAI's. OPENAI_BASE_URL stands for it."""
    api_key: Key = SecretStr("")
    """Its key. OPENAI_API_KEY stands for it."""
    context_length: int | None = Field(None, ge=1024, le=100_000_000)
    """Tokens of the window; null: as known, as the endpoint says, else 128000 and a warning."""
    max_tokens: int | None = Field(None, ge=1, le=100_000_000)
    """Tokens of one answer; null is the endpoint's own limit."""
    temperature: float | None = Field(None, ge=0, le=2)
    """How freely it chooses its words; null is the endpoint's own."""
    timeout_seconds: float = Field(600, gt=0, le=86_400)
    """How long the endpoint may be silent within one request."""

    @property
    def offline(self) -> bool:
        """Say whether the small model that comes along answers, for want of an endpoint."""
        return not self.base_url and not self.api_key.get_secret_value()


class FallbackSettings(_Section):
    """Another endpoint, asked where the one before it fails."""

    name: str = Field(min_length=1)
    """What the entry is called elsewhere."""
    model: str = Field(min_length=1)
    """The model's id."""
    base_url: Url = ""
    """The endpoint; empty is that of `model`."""
    api_key: Key = SecretStr("")
    """Its key; empty is that of `model` where the endpoint is too."""


class AuxiliaryTask(_Section):
    """The model of one side task."""

    provider: str = "auto"
    """auto: the main model; else the name of an entry of fallback_providers."""
    model: str = ""
    """The model's id; empty is the provider's."""
    base_url: Url = ""
    """An endpoint of its own."""
    api_key: Key = SecretStr("")
    """Its key."""
    timeout_seconds: float = Field(120, gt=0, le=86_400)
    """How long the endpoint may be silent within one request."""

    @property
    def is_main(self) -> bool:
        """Say whether it is the main model, for all that is set here."""
        own = self.model or self.base_url or self.api_key.get_secret_value()
        return self.provider in {"", "auto"} and not own


class AuxiliarySettings(_Section):
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
