"""The settings of memory: the notes on the world and on each person, and the service that remembers more."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class MemoryServiceSettings(_Section):
    """A memory service outside this machine; what is empty here is looked for in its own file and variables."""

    api_key: SecretStr = SecretStr("")
    """The key of the service."""
    endpoint: str = ""
    """Its address; empty is the public one."""


class HonchoSettings(MemoryServiceSettings):
    """Honcho; what is empty here is looked for in honcho.json and in its variables."""

    workspace: str = ""
    """The workspace of all that this home remembers; empty is hermes."""
    peer: str = ""
    """The peer that the home's own memories are about; empty is one of its own, as every other person and group has."""
    ai_peer: str = ""
    """How the peers that speak for the agent are called; empty is hermes."""
    recall_mode: Literal["", "hybrid", "context", "tools"] = ""
    """What is recalled comes with each message, by tools, or both (hybrid); empty is hybrid."""
    save_messages: bool | None = None
    """Let Honcho learn from what is said; empty is true."""
    dialectic_cadence: int | None = Field(None, ge=0, le=1000)
    """Turns between two questions to Honcho's own model, which costs; 0 is never, empty is 1."""
    reasoning_level: Literal["", "minimal", "low", "medium", "high", "max"] = ""
    """How hard Honcho's own model thinks; empty is low."""


class Mem0Settings(MemoryServiceSettings):
    """Mem0; what is empty here is looked for in mem0.json and in its variables."""

    mode: Literal["", "platform", "selfhosted", "oss"] = ""
    """The hosted service, a server of one's own (at the endpoint), or the library on this machine (oss, by mem0.json);
    empty is a server where there is an endpoint, else the hosted service."""
    user_id: str = ""
    """Whose the home's own memories are at Mem0; empty is home. Two homes under one key need one each."""
    rerank: bool = False
    """Let the hosted service order what it finds once more."""


class HindsightSettings(MemoryServiceSettings):
    """Hindsight."""

    bank_id: str = "hermes"
    """The bank that memories are kept in."""


class SupermemorySettings(MemoryServiceSettings):
    """Supermemory."""

    container_tag: str = "hermes"
    """The container that memories are kept in."""


class HolographicSettings(_Section):
    """The store of facts in a file of the home."""

    min_trust: float = Field(0.3, ge=0, le=1)
    """Facts that are trusted less are not recalled."""
    half_life_days: float = Field(0, ge=0, le=36_500)
    """Days after which a fact that was not changed counts half; 0: facts do not age."""


class MemorySettings(_Section):
    """Notes on the world and on the person."""

    memory_enabled: bool = True
    """Keep MEMORY.md."""
    user_profile_enabled: bool = True
    """Keep USER.md."""
    memory_char_limit: int = Field(2200, ge=1, le=1_000_000)
    """Characters of MEMORY.md."""
    user_char_limit: int = Field(1375, ge=1, le=1_000_000)
    """Characters of USER.md."""
    nudge_interval: int = Field(10, ge=0)
    """Messages of a person between two reviews of what to remember; 0 is never."""
    flush_min_turns: int = Field(6, ge=0)
    """Messages since the last save that have a conversation reviewed when it is left; 0 is never."""
    provider: str = ""
    """honcho, mem0, retaindb, supermemory, hindsight, holographic, byterover, openviking or a plugin's name."""
    write_approval: Literal["allow", "stage", "block"] = "allow"
    """Writes of the agent take effect, wait for approval, or are refused."""
    scope: Literal["person", "home"] = "person"
    """Whose the notes are: each person's own, or one store for everybody in this home."""
    honcho: HonchoSettings = HonchoSettings()
    """Honcho."""
    mem0: Mem0Settings = Mem0Settings()
    """Mem0."""
    retaindb: MemoryServiceSettings = MemoryServiceSettings()
    """RetainDB."""
    supermemory: SupermemorySettings = SupermemorySettings()
    """Supermemory."""
    hindsight: HindsightSettings = HindsightSettings()
    """Hindsight."""
    holographic: HolographicSettings = HolographicSettings()
    """The store of facts in a file of the home."""
    byterover: MemoryServiceSettings = MemoryServiceSettings()
    """ByteRover."""
    openviking: MemoryServiceSettings = MemoryServiceSettings()
    """OpenViking."""
    plugin: dict[str, SecretStr] = {}
    """Settings of the plugin that `provider` names, over those of its own file in the home."""
