"""The file of its own in which a plugin may have settings; how plugins are loaded is tested with those that are."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.agent.plugins import own_file
from gateway.errors import ConfigError


def test_an_own_file_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert own_file(tmp_path / "mem0.json") == {}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"{", r"mem0.json:1:2: not JSON: Expecting property name"),
        (b"[1]", r"mem0.json: must be a JSON object; write \{\} around its settings"),
        (b'{"a": "\xff"}', r"mem0.json: not JSON in UTF-8"),
        (b"[" * 100_000, r"mem0.json: not JSON in UTF-8"),
    ],
)
def test_an_own_file_that_cannot_be_read_is_said_to_be_so(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "mem0.json").write_bytes(content)
    with pytest.raises(ConfigError, match=told):
        own_file(tmp_path / "mem0.json")


def test_an_own_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "mem0.json").write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert own_file(tmp_path / "mem0.json") == {"a": 1}
