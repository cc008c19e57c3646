"""What rooms log while a command works is told once, and without secrets."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.cli.logged import Logged


def record(text: str) -> logging.LogRecord:
    return logging.LogRecord("gateway", logging.WARNING, "", 0, text, (), None)


def test_a_warning_is_told_once_on_one_line_and_without_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    handler = Logged()
    handler.redact = lambda text: text.replace("s3cret", "***")
    for text in ("the key s3cret\nis wrong", "the key s3cret\nis wrong", "another \ud800"):
        handler.handle(record(text))
    assert capsys.readouterr().err == "warning: the key *** is wrong\nwarning: another \\ud800\n"


def test_a_command_that_has_no_log_tells_each_warning_once(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("model: {base_url: 'http://127.0.0.1:9/v1', default: x}\n")
    (tmp_path / "SOUL.md").mkdir()
    command = [sys.executable, "-m", "gateway.cli", "context-files", "list", "--home", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    lines = ran.stderr.splitlines()
    assert lines.count("warning: context files: 'SOUL.md': it is a folder") == 1
