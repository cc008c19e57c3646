"""What a provider is made from, and where a value is looked for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from gateway.agent.memory.settings import MemorySettings
from gateway.errors import ConfigError


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


def own_file(path: Path) -> dict[str, Any]:
    """Read a provider's own file, which may be missing; raise `ConfigError` for anything but a JSON object."""
    try:
        values = json.loads(path.read_text("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", file=str(path)) from error
    except json.JSONDecodeError as error:
        raise ConfigError(f"not JSON: {error.msg}", file=str(path), line=error.lineno, column=error.colno) from None
    except (ValueError, RecursionError):
        raise ConfigError("not JSON in UTF-8", file=str(path)) from None
    if not isinstance(values, dict):
        raise ConfigError("must be a JSON object", file=str(path), hint="write {} around its settings")
    return values
