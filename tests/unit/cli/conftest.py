"""A terminal at a home that nobody has used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.console import Console


@pytest.fixture
def console(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Console:
    return Console(tmp_path / "home", capsys, monkeypatch)
