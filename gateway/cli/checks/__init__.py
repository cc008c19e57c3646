"""What ``doctor`` finds: what is wrong, why that matters, and the command or setting that mends it.

A check takes the configuration, or the home where that is all it needs, and yields findings. It changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gateway.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, why it matters, and what mends it."""

    about: str
    problem: str
    why: str
    mend: str


def of_config(error: ConfigError, about: str, why: str) -> Iterator[Finding]:
    """Yield a finding for each thing that is wrong with the settings."""
    problems: tuple[ConfigError, ...] = getattr(error, "problems", (error,))
    for one in problems:
        place = f"{one.file}:{one.line}:{one.column}: " if one.line else ""
        yield Finding(about, f"{place}{one.text}", why, one.hint or "mend the setting; hermes-gateway config validate")
