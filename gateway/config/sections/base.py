"""What all sections have in common."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A mapping of the configuration: immutable, and no key but those it names."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


@dataclass(frozen=True, slots=True)
class UrlWithPassword:
    """Marks text that may be ``scheme://user:password@host``: the password is a secret like any other."""
