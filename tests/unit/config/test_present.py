"""The configuration shown: every key, where it came from, and no secret."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.config.document import parse
from gateway.config.node import Origin, plain, split
from gateway.config.present import lines, origins, value, values
from tests.unit.config.conftest import Read

TEXT = """
model: {default: gpt-5, api_key: hunter2-hunter2}
gateway: {database: "postgresql://u:hunter3-hunter3@h/d", bus: "redis://:hunter4-hunter4@h:1/0"}
mcp_servers:
  x: {command: run, args: [--key, hunter2-hunter2], env: {KEY: hunter5-hunter5}}
fallback_providers:
  - {name: b, model: m, base_url: "http://h", api_key: hunter6-hunter6}
platforms:
  telegram: {accounts: {ops: {token: "123456:hunter7hunter7hunter7hunter7hunt"}}}
"""


def test_no_secret_is_shown_however_it_is_asked_for(read: Read) -> None:
    config = read(TEXT)
    shown = [json.dumps(values(config)), *lines(config), *lines(config, origins=True), json.dumps(origins(config))]
    assert "hunter" not in "\n".join(shown)
    assert len(config.secrets) == 6


def test_what_is_shown_is_yaml_of_the_same_values(read: Read) -> None:
    config = read(TEXT)
    shown: Any = plain(parse("\n".join(lines(config)), Origin()))
    assert shown == json.loads(json.dumps(values(config)))
    assert shown["model"]["default"] == "gpt-5"
    assert shown["model"]["api_key"] == "***"
    assert shown["gateway"]["database"] == "postgresql://u:***@h/d"
    assert shown["gateway"]["bus"] == "redis://:***@h:1/0"
    assert shown["mcp_servers"]["x"]["env"] == {"KEY": "***"}
    assert shown["mcp_servers"]["x"]["args"] == ["--key", "***"]
    assert shown["fallback_providers"][0]["api_key"] == "***"
    assert shown["platforms"]["telegram"]["accounts"]["ops"]["token"] == "***"
    assert shown["platforms"]["telegram"]["token"] == ""


def test_every_value_says_where_it_comes_from(read: Read) -> None:
    config = read(
        "\nagent: {max_turns: 3}\naccess: {owners: [a:1]}\n",
        dotenv="HERMES_GATEWAY__STREAMING__ENABLED=false",
        environ={"OPENAI_API_KEY": "sk-of-mine-sk"},
        flags={"web.port": "0"},
    )
    flat = origins(config)
    assert flat["agent.max_turns"] == {"value": 3, "origin": "config.yaml:2:20"}
    assert flat["access.owners"] == {"value": ["a:1"], "origin": "config.yaml:3:10"}
    assert flat["streaming.enabled"] == {"value": False, "origin": "HERMES_GATEWAY__STREAMING__ENABLED .env:1:1"}
    assert flat["model.api_key"] == {"value": "***", "origin": "environment OPENAI_API_KEY"}
    assert flat["web.port"] == {"value": 0, "origin": "flag on the command line"}
    assert flat["web.host"] == {"value": "127.0.0.1", "origin": "default"}
    assert "  max_turns: 3  # config.yaml:2:20" in list(lines(config, origins=True))


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("web.port", 8642),
        ("gateway.agent_cache", {"max_entries": 128, "idle_seconds": 3600, "max_megabytes": 512}),
        ("model.api_key", "***"),
        ("fallback_providers.0.model", "m"),
        ("mcp_servers.x.command", "run"),
        ('compression.model_thresholds."glm-5.2"', 0.4),
    ],
)
def test_one_value_can_be_asked_for(read: Read, key: str, shown: object) -> None:
    config = read(TEXT + "compression: {model_thresholds: {glm-5.2: 0.4}}\n")
    assert value(config, split(key)) == shown


@pytest.mark.parametrize("key", ["web.prot", "web.port.x", "zzz", "fallback_providers.9.model", "mcp_servers.y"])
def test_a_key_that_is_none_is_a_key_error(read: Read, key: str) -> None:
    with pytest.raises(KeyError):
        value(read(TEXT), split(key))


@pytest.mark.parametrize("key", ["", ".", "a.", ".a", "a..b", 'a."b', 'a.b"c'])
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match=r"write the key as section\.key"):
        split(key)
