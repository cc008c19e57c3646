"""A home that one writes into, and its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import pytest

from gateway.config import Config, ConfigErrors, load


class Read(Protocol):
    def __call__(
        self,
        text: str = "",
        *,
        dotenv: str = "",
        flags: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Config: ...


class Wrong(Protocol):
    def __call__(self, text: str = "", *, dotenv: str = "", environ: Mapping[str, str] | None = None) -> list[str]: ...


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read a configuration with this file, this ``.env``, these flags and this environment."""

    def reading(
        text: str = "",
        *,
        dotenv: str = "",
        flags: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Config:
        if text:
            (tmp_path / "config.yaml").write_text(text, "utf-8")
        if dotenv:
            (tmp_path / ".env").write_text(dotenv, "utf-8")
        return load(tmp_path, flags=flags or {}, environ=environ or {})

    return reading


@pytest.fixture
def wrong(read: Read) -> Wrong:
    """Read a configuration that is wrong; return what is said, a line for each mistake."""

    def reading(text: str = "", *, dotenv: str = "", environ: Mapping[str, str] | None = None) -> list[str]:
        with pytest.raises(ConfigErrors) as raised:
            read(text, dotenv=dotenv, environ=environ)
        assert str(raised.value).splitlines() == [str(problem) for problem in raised.value.problems]
        return str(raised.value).splitlines()

    return reading
