"""What a text, a message and a conversation take of a window, against the counts of three tokenizers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.contracts.tool import ToolSpec
from gateway.llm.tokens.messages import CALL, IMAGE, MESSAGE, Estimates, estimate, estimate_tools
from gateway.llm.tokens.text import estimate_text
from gateway.messages import Message, ToolCall

CORPUS = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))["texts"]
    for path in sorted((Path(__file__).parents[2] / "data/tokens").glob("*.json"))
}
UNEVEN = {"tables", "others"}
"""Digits, and scripts that one tokenizer knows and another does not, differ by up to 3 between tokenizers."""
KINDS = sorted(CORPUS.keys() - UNEVEN)
HALVES = {"the half the weights were fitted on": 0, "the half they have not seen": 1}


def ratios(kind: str, half: int, tokenizer: str) -> list[float]:
    return [estimate_text(entry["text"]) / entry[tokenizer] for entry in CORPUS[kind][half::2]]


def test_the_corpus_has_twelve_long_texts_of_each_kind() -> None:
    assert len(KINDS) == 13
    for kind in KINDS:
        texts = {entry["text"] for entry in CORPUS[kind]}
        assert len(texts) >= 12
        assert min(map(len, texts)) >= 600


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES.keys())
@pytest.mark.parametrize("tokenizer", ["o200k", "qwen", "deepseek"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_estimate_is_near_what_each_tokenizer_counts(kind: str, tokenizer: str, half: int) -> None:
    found = ratios(kind, half, tokenizer)
    assert min(found) >= 0.77
    assert max(found) <= 1.3


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES.keys())
@pytest.mark.parametrize("kind", KINDS)
def test_the_newest_qwen_is_a_little_further_off(kind: str, half: int) -> None:
    found = ratios(kind, half, "qwen3.6")
    assert min(found) >= 0.7
    assert max(found) <= 1.4


@pytest.mark.parametrize("kind", sorted(UNEVEN))
@pytest.mark.parametrize("tokenizer", ["o200k", "qwen", "qwen3.6", "deepseek"])
def test_tables_of_numbers_and_rarer_scripts_are_within_the_double(kind: str, tokenizer: str) -> None:
    found = ratios(kind, 0, tokenizer) + ratios(kind, 1, tokenizer)
    assert min(found) >= 0.48
    assert max(found) <= 1.8


def test_twenty_thousand_chinese_characters_do_not_fit_where_as_many_english_ones_do() -> None:
    chinese = "".join(entry["text"] for entry in CORPUS["chinese"]) * 3
    english = "".join(entry["text"] for entry in CORPUS["english"]) * 3
    assert estimate_text(chinese[:20_000]) > 12_000
    assert estimate_text(english[:20_000]) < 5_000


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("a", 1, 1),
        (" ", 1, 1),
        ("?", 1, 1),
        ("ok", 1, 2),
        ("你好", 1, 3),
        ("👍", 1, 4),
        ("\x00\ud800\uffff", 2, 8),
        ("=" * 4_000, 20, 200),  # o200k: 63
        (" " * 4_000, 30, 100),  # o200k: 32
        ("haha" * 1_000, 500, 2_000),
    ],
)
def test_odd_texts_have_estimates_that_make_sense(text: str, least: int, most: int) -> None:
    assert least <= estimate_text(text) <= most


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_has_an_estimate_between_one_and_a_few_tokens_a_character(text: str) -> None:
    assert bool(text) <= estimate_text(text) <= 4 * len(text) + 2


@pytest.mark.parametrize("kind", sorted(CORPUS))
def test_twice_the_text_is_twice_the_estimate(kind: str) -> None:
    text = CORPUS[kind][0]["text"] + "\n"
    assert estimate_text(text * 50) == pytest.approx(50 * estimate_text(text), rel=0.02)


def test_a_message_counts_with_its_frame_and_what_the_model_reads_of_it() -> None:
    said = Message("user", "hi", api_content="[Ann] " + "hi " * 100)
    assert estimate(said) == MESSAGE + estimate_text(said.content)
    assert estimate(Message("user")) == MESSAGE


def test_calls_count_with_name_arguments_and_frame() -> None:
    call = ToolCall("call_1", "read_file", '{"path": "/srv/app/main.py"}')
    one, two = Message("assistant", "", (call,)), Message("assistant", "", (call, call))
    assert estimate(one) == MESSAGE + CALL + estimate_text(call.name) + estimate_text(call.arguments)
    assert estimate(two) - estimate(one) == estimate(one) - MESSAGE


def test_an_image_costs_the_same_whatever_it_weighs() -> None:
    assert estimate(Message("user", "look"), images=2) == estimate(Message("user", "look")) + 2 * IMAGE


def test_tools_count_with_their_schemas_and_none_costs_nothing() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string", "description": "Where"}}}
    spec = ToolSpec("weather", "Tell the weather of a place.", schema)
    assert estimate_tools([]) == 0
    assert estimate_tools([spec]) > estimate_text(json.dumps(schema))
    assert estimate_tools([spec, spec]) - estimate_tools([spec]) < estimate_tools([spec])


class Counting:
    """A counter that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, text: str) -> int:
        self.asked.append(text)
        return len(text)


def test_a_message_is_counted_once_however_often_the_conversation_is_asked_for() -> None:
    count = Counting()
    estimates = Estimates(count)
    history = [Message("user", f"message {number}") for number in range(1_000)]
    before = estimates.total(history)
    asked = len(count.asked)
    history.append(Message("assistant", "four"))
    assert estimates.total(history) == before + MESSAGE + 4
    assert count.asked[asked:] == ["four"]


def test_what_a_compression_kept_is_not_counted_again() -> None:
    count = Counting()
    estimates = Estimates(count)
    history = [Message("user", f"message {number}") for number in range(100)]
    estimates.total(history)
    asked = len(count.asked)
    shorter = [Message("user", "the summary"), *history[80:]]
    assert list(estimates.each(shorter)) == [estimate(message, len) for message in shorter]
    assert count.asked[asked:] == ["the summary"]
    assert estimates.total(history[:50]) == sum(estimate(message, len) for message in history[:50])


def test_a_conversation_read_anew_from_the_rows_has_the_same_estimate() -> None:
    estimates = Estimates()
    first = [Message("user", f"message {number}") for number in range(10)]
    again = [Message("user", f"message {number}") for number in range(10)]
    assert estimates.total(first) == estimates.total(again) == Estimates().total(again)
    assert estimates.total([]) == 0
    assert list(estimates.each(first[:1])) == [estimate(first[0])]
