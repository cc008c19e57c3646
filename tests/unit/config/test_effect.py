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
        ("compression: {model_thresholds: {x: 0.4}}", "1:15: compression.model_thresholds"),
        ("quick_commands: {hi: {reply: hello}}", "1:1: quick_commands"),
        ("profiles: [{home: /x}]", "1:1: profiles"),
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
    ["web: {port: 1}", "agent: {max_turns: 3}", "gateway: {agent_cache: {max_entries: 2}}", "access: {owners: [a:1]}"],
)
def test_a_setting_that_does_something_says_nothing(read: Read, text: str) -> None:
    assert read(text).warnings == ()


@pytest.mark.parametrize("pattern", IN_EFFECT)
def test_every_entry_of_the_table_is_a_key(pattern: str) -> None:
    assert any(fnmatchcase(said(path), pattern) for path, _ in known(shape_of(set())))
