"""Settings that change nothing in this version say so, once, and only where somebody set them to something."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from gateway.config.effect import IN_EFFECT
from gateway.config.loading import shape_of
from gateway.config.node import said
from gateway.config.shape import known
from tests.unit.config.conftest import Read


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("cron: {max_parallel: 7}", "1:8: cron.max_parallel"),
        ("auxiliary: {title: {model: x}}", "1:21: auxiliary.title.model"),
        ("quick_commands: {hi: {reply: hello}}", "1:1: quick_commands"),
        ("mcp_servers: {}\nmedia: {max_inbound_mb: 3}", "2:9: media.max_inbound_mb"),
        ("platforms: {telegram: {display: {footer: true}}}", "1:34: platforms.telegram.display.footer"),
        ("platforms: {slack: {bot_token: x}}", "1:21: platforms.slack.bot_token"),
    ],
)
def test_a_setting_that_changes_nothing_says_so(read: Read, text: str, key: str) -> None:
    assert read(text).warnings == (f"config.yaml:{key}: accepted, but not in effect in this version",)


@pytest.mark.parametrize(
    "text",
    [
        "cron: {max_parallel: 4, run: {cost: 0}}",
        "memory: {honcho: {api_key: '', endpoint: ''}}",
        "quick_commands: {}",
        "profiles: []",
        "compression: {threshold: 0.50, threshold_tokens: null}",
        "platforms: {discord: {enabled: auto, token: '${DISCORD_BOT_TOKEN}', allowed_users: []}}",
    ],
)
def test_a_default_that_is_written_out_is_no_matter(read: Read, text: str) -> None:
    assert read(text).warnings == ()


@pytest.mark.parametrize(
    "text",
    [
        "web: {port: 1}",
        "agent: {max_turns: 3}",
        "gateway: {agent_cache: {max_entries: 2}}",
        "access: {owners: [a:1]}",
        "context: {engine: mine}",
        "compression: {model_thresholds: {x: 0.4}, in_place: false, keep_notices: true}",
        "auxiliary: {compression: {model: x, timeout_seconds: 9}}",
    ],
)
def test_a_setting_that_does_something_says_nothing(read: Read, text: str) -> None:
    assert read(text).warnings == ()


@pytest.mark.parametrize("pattern", IN_EFFECT)
def test_every_entry_of_the_table_is_a_key(pattern: str) -> None:
    assert any(fnmatchcase(said(path), pattern) for path, _ in known(shape_of(set())))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("compression: {threshold: 0.9}", "1:26: compression.threshold: 0.9 is above 0.85: "),
        ("context: {threshold_percent: 95}", "1:30: compression.threshold: 0.95 is above 0.85: "),
        (
            "compression: {model_thresholds: {gpt-5.2: 0.86, x: 0.85}}",
            '1:43: compression.model_thresholds."gpt-5.2": 0.86 is above 0.85: ',
        ),
    ],
)
def test_a_threshold_that_leaves_no_room_says_so_where_it_was_set(read: Read, text: str, told: str) -> None:
    *_, warning = read(text).warnings
    assert warning.startswith(f"config.yaml:{told}")
    assert warning.endswith("may not fit before compression begins; 0.85 or less leaves room")


def test_a_threshold_of_the_environment_is_told_by_its_variable(read: Read) -> None:
    (warning,) = read("", environ={"HERMES_GATEWAY__COMPRESSION__THRESHOLD": "0.9"}).warnings
    assert "HERMES_GATEWAY__COMPRESSION__THRESHOLD: compression.threshold: 0.9 is above 0.85" in warning


def test_a_threshold_that_leaves_room_says_nothing(read: Read) -> None:
    assert read("compression: {threshold: 0.85, model_thresholds: {gpt: 0.3}}").warnings == ()
