"""What a provider is made from, and where a value is looked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from gateway.agent.memory.settings import MemorySettings


@dataclass(frozen=True, slots=True)
class Given:
    """The settings, the provider's own file in the home (``mem0.json``, an object), and the environment."""

    settings: MemorySettings
    home: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    file: Mapping[str, Any] = field(default_factory=dict)

    def find(self, setting: str | SecretStr, key: str, *variables: str) -> str:
        """Return the setting, else what the file has under the key, else the first variable that is not empty."""
        value = setting.get_secret_value() if isinstance(setting, SecretStr) else setting
        found = self.file.get(key)
        candidates = (value, "" if found is None else str(found), *(self.variables.get(name, "") for name in variables))
        return next((candidate for candidate in candidates if candidate), "")
