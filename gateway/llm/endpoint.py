"""Where a model is asked, and how."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import SecretStr

from gateway.types import clean

OPENAI = "https://api.openai.com/v1"
LONGEST = 300
"""Characters of an endpoint's own words that are repeated."""


@dataclass(frozen=True, slots=True)
class Asking:
    """How a model is asked. `model` "" is the only one of the endpoint; `window` None is whatever can be found out."""

    model: str = ""
    window: int | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    timeout: float = 600.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is asked. `setting` is the section of the configuration that says so."""

    base_url: str = ""
    key: SecretStr = SecretStr("")
    setting: str = "model"

    @property
    def model_setting(self) -> str:
        """The setting that names the model."""
        return f"{self.setting}.{'default' if self.setting == 'model' else 'model'}"

    @property
    def url(self) -> str:
        return (self.base_url or OPENAI).strip().rstrip("/")

    @property
    def host(self) -> str:
        """What may be shown: no path, no user, no password."""
        try:
            parts = urlsplit(self.url)
            port = f":{parts.port}" if parts.port else ""
        except ValueError:
            return f"the address in {self.setting}.base_url"
        return f"{parts.hostname}{port}" if parts.hostname else f"the address in {self.setting}.base_url"

    def quoted(self, words: str) -> str:
        """Repeat the endpoint's words: one line, not too long, and without the key."""
        line = " ".join(clean(words).split())
        key = self.key.get_secret_value().strip()
        line = line.replace(key, "[key]") if key else line
        return line if len(line) <= LONGEST else line[:LONGEST] + "…"
