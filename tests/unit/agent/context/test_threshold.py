"""When a conversation is compressed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.context.settings import CompressionSettings
from gateway.agent.context.threshold import threshold, too_high, too_small

DEFAULT = CompressionSettings()


@pytest.mark.parametrize(
    ("window", "max_tokens", "tokens"),
    [
        (32_000, None, 27_200),
        (64_000, None, 54_400),
        (65_536, 8_192, 48_742),
        (100_000, None, 75_000),
        (128_000, None, 96_000),
        (200_000, 64_000, 102_000),
        (262_144, None, 196_608),
        (512_000, None, 256_000),
        (1_000_000, None, 500_000),
    ],
)
def test_the_figures_are_the_references(window: int, max_tokens: int | None, tokens: int) -> None:
    assert threshold(DEFAULT, "any", window, max_tokens).tokens == tokens


def test_the_end_of_a_conversation_keeps_a_share_of_the_threshold() -> None:
    assert threshold(DEFAULT, "any", 128_000).tail == 19_200


def test_the_longest_part_of_a_models_name_decides() -> None:
    settings = CompressionSettings(model_thresholds={"gpt": 0.6, "gpt-5-mini": 0.8})
    assert threshold(settings, "openai/GPT-5-mini", 1_000_000).tokens == 800_000
    assert threshold(settings, "gpt-5", 1_000_000).tokens == 600_000
    assert threshold(settings, "claude", 1_000_000).tokens == 500_000


def test_an_absolute_number_only_lowers() -> None:
    assert threshold(CompressionSettings(threshold_tokens=50_000), "any", 128_000).tokens == 50_000
    assert threshold(CompressionSettings(threshold_tokens=500_000), "any", 128_000).tokens == 96_000


@given(st.integers(4_000, 2_000_000), st.none() | st.integers(1, 200_000), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_the_threshold_is_inside_the_window_and_the_tail_inside_the_threshold(
    window: int, max_tokens: int | None, share: float, target: float
) -> None:
    limit = threshold(CompressionSettings(threshold=share, target_ratio=target), "any", window, max_tokens)
    assert 0 < limit.tokens < limit.room <= window
    assert 0 <= limit.tail <= 0.8 * limit.tokens


def test_a_window_that_prompt_and_tools_fill_is_told_with_the_figures() -> None:
    limit = threshold(DEFAULT, "tiny", 4_096)
    assert too_small(limit, 1_000) == ""
    assert "3,500 of 4,096 tokens" in too_small(limit, 3_500)


def test_a_threshold_that_leaves_no_room_is_warned_of() -> None:
    assert too_high(DEFAULT) == {}
    told = too_high(CompressionSettings(threshold=0.9, model_thresholds={"gpt": 0.95, "glm": 0.85}))
    assert told.keys() == {("compression", "threshold"), ("compression", "model_thresholds", "gpt")}
    assert told["compression", "threshold"].startswith("0.9 is above 0.85: ")
