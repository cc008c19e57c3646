"""`mcp_servers`, `web_search`, `voice`, `media`: what the agent works with."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator

from gateway.config.sections.base import Section


class McpServer(Section):
    """A server of tools: a program, or an address."""

    command: str = ""
    """The program."""
    args: list[str] = []
    """Its arguments."""
    env: dict[str, SecretStr] = {}
    """Its environment; it gets nothing of ours."""
    url: str = ""
    """The address."""
    headers: dict[str, SecretStr] = {}
    """Headers of every request."""
    allow: list[str] = []
    """The tools that may be used; empty is all."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError("needs either command or url")
        return self


class WebSearchSettings(Section):
    """Searching the web."""

    backend: Literal["", "searxng", "brave", "tavily"] = ""
    """Who searches; empty: no such tool."""
    url: str = ""
    """The address of the search engine, for searxng."""
    api_key: SecretStr = SecretStr("")
    """Its key, for the others."""


class SpeechModel(Section):
    """An OpenAI-compatible endpoint for speech."""

    model: str = ""
    """The model; empty: none."""
    base_url: str = ""
    """The endpoint; empty is that of `model`."""
    api_key: SecretStr = SecretStr("")
    """Its key; empty is that of `model`."""


class VoiceSettings(Section):
    """Voice messages."""

    transcribe: SpeechModel = SpeechModel()
    """Speech to text."""
    speak: SpeechModel = SpeechModel()
    """Text to speech."""


class MediaSettings(Section):
    """Files on their way in and out."""

    allow_dirs: list[str] = []
    """More directories whose files the agent may send."""
    max_inbound_mb: float = Field(128, gt=0, le=10_240)
    """The largest file that is taken in."""
