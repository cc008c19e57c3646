"""Chunks of all kinds of endpoints, and the answer they make."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.contracts.model import Completed
from gateway.errors import BadResponse
from gateway.llm.chunks import Answer
from gateway.messages import ToolCall, Usage
from gateway.types import clean

DONE = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def delta(given: object, ending: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": given, "finish_reason": ending}]}


def call(given: object) -> dict[str, Any]:
    return delta({"tool_calls": [given]})


def gathered(chunks: Iterable[object], taken: set[str] | None = None) -> Completed:
    answer = Answer("seed", taken or set())
    said = "".join([answer.feed(chunk) for chunk in chunks]) + answer.rest()
    completed = answer.completed()
    assert said == completed.text
    return completed


@pytest.mark.parametrize(
    "noise",
    [
        {},
        {"choices": []},
        {"choices": None},
        {"choices": [None]},
        {"choices": [{}]},
        {"choices": [{"delta": None, "message": None}]},
        {"choices": [], "prompt_filter_results": [{"index": 0}]},
        {"usage": None},
        {"usage": {"prompt_tokens": None, "completion_tokens": "many"}},
        delta({"role": "assistant"}),
        delta({"content": None, "tool_calls": None}),
        delta({"content": 7, "tool_calls": {"0": "x"}}),
        delta({"tool_calls": [None]}),
        delta({"reasoning_content": "Hmm, let me think", "reasoning": "hmm"}),
        {"choices": [{"delta": {"content": ""}, "finish_reason": 3}]},
    ],
)
def test_chunks_that_say_nothing_are_passed_over(noise: object) -> None:
    assert gathered([noise, delta({"content": "yes"}), noise, DONE, noise]) == Completed("yes")


def test_content_in_parts_is_joined_without_the_thoughts() -> None:
    parts = [{"type": "thinking", "thinking": [{"text": "hm"}]}, {"type": "text", "text": "It"}, {"text": " is"}, "x"]
    assert gathered([delta({"content": parts}), DONE]).text == "It is"


def test_a_refusal_is_what_the_model_says() -> None:
    assert gathered([delta({"refusal": "I will not."}), DONE]).text == "I will not."


def test_an_answer_in_one_piece_counts_too() -> None:
    assert gathered([{"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]}]).text == "whole"


@pytest.mark.parametrize("wrong", [None, "text", 3, [], [delta({"content": "x"})]])
def test_what_is_no_chunk_is_a_bad_response(wrong: object) -> None:
    with pytest.raises(BadResponse, match="not a chunk"):
        Answer("").feed(wrong)


def test_without_an_ending_the_answer_was_cut_off() -> None:
    with pytest.raises(BadResponse, match="cut off"):
        gathered([delta({"content": "half of"})])


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("stop", "stop"),
        ("tool_calls", "stop"),
        ("length", "length"),
        ("MAX_TOKENS", "length"),
        ("content_filter", "filter"),
        ("eos", "stop"),
    ],
)
def test_endings_are_told_apart(said: str, meant: str) -> None:
    assert gathered([delta({}, said)]).ending == meant


def test_tokens_are_counted_as_the_endpoint_does() -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 64}}
    assert gathered([DONE, {"choices": [], "usage": usage}]).usage == Usage(100, 7, 64)
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_cache_hit_tokens": 32}
    assert gathered([DONE, {"usage": usage}]).usage == Usage(100, 7, 32)


def test_calls_whose_index_begins_at_five_are_gathered_from_their_pieces() -> None:
    chunks = [
        call({"index": 5, "id": "a", "function": {"name": "read", "arguments": ""}}),
        call({"index": 6, "id": "b", "function": {"name": "list", "arguments": '{"x'}}),
        call({"index": 5, "function": {"arguments": '{"path": '}}),
        call({"index": 6, "function": {"arguments": '": 1}'}}),
        call({"index": 5, "function": {"arguments": '"f"}'}}),
        DONE,
    ]
    assert gathered(chunks).calls == (ToolCall("a", "read", '{"path": "f"}'), ToolCall("b", "list", '{"x": 1}'))


def test_calls_that_share_an_index_are_told_apart_by_their_ids() -> None:
    chunks = [
        call({"index": 0, "id": "a", "function": {"name": "read", "arguments": "{}"}}),
        call({"index": 0, "id": "b", "function": {"name": "read", "arguments": '{"n": 1}'}}),
        DONE,
    ]
    assert gathered(chunks).calls == (ToolCall("a", "read", "{}"), ToolCall("b", "read", '{"n": 1}'))


def test_an_id_and_a_name_repeated_in_each_piece_are_one_call() -> None:
    chunks = [
        call({"index": 0, "id": "a", "function": {"name": "read", "arguments": part}}) for part in ('{"n"', ": 1}")
    ]
    assert gathered([*chunks, DONE]).calls == (ToolCall("a", "read", '{"n": 1}'),)


def test_calls_without_an_index_are_told_apart() -> None:
    chunks = [
        call({"id": "a", "function": {"name": "read", "arguments": '{"n"'}}),
        call({"function": {"arguments": ": 1}"}}),
        call({"id": "b", "function": {"name": "list"}}),
        call({"id": "a", "function": {"arguments": " "}}),
        DONE,
    ]
    assert gathered(chunks).calls == (ToolCall("a", "read", '{"n": 1} '), ToolCall("b", "list", "{}"))


def test_arguments_that_come_as_an_object_are_written_out() -> None:
    chunks = [call({"index": 0, "id": "a", "function": {"name": "t", "arguments": {"city": "Zürich"}}}), DONE]
    assert gathered(chunks).calls[0].arguments == '{"city":"Zürich"}'


def test_calls_without_an_id_get_one_that_asking_again_gives_again() -> None:
    chunks = [call({"index": n, "function": {"name": "t", "arguments": "{}"}}) for n in (0, 1)] + [DONE]
    first, second = gathered(chunks).calls
    assert (first, second) == gathered(chunks).calls
    assert first.id != second.id
    again = gathered(chunks, {first.id}).calls
    assert len({first.id, *(call.id for call in again)}) == 3


def test_an_id_the_conversation_has_is_not_used_twice() -> None:
    chunks = [call({"index": n, "id": "call_0", "function": {"name": "t"}}) for n in (0, 1)] + [DONE]
    ids = [call.id for call in gathered(chunks, {"call_0"}).calls]
    assert "call_0" not in ids
    assert len(set(ids)) == 2


def test_a_call_without_a_name_is_a_bad_response() -> None:
    with pytest.raises(BadResponse, match="without naming"):
        gathered([call({"index": 0, "id": "a", "function": {"arguments": "{}"}}), DONE])


def test_a_character_in_two_halves_becomes_one() -> None:
    assert gathered([delta({"content": "a\ud83d"}), delta({"content": "\ude00b"}), DONE]).text == "a😀b"


def test_half_a_character_at_the_end_is_replaced() -> None:
    assert gathered([delta({"content": "a\ud83d"}), DONE]).text == "a\ufffd"


@given(st.lists(st.text(st.characters(codec=None), max_size=8), max_size=8))
@settings(deadline=None)
def test_however_a_text_is_cut_the_pieces_joined_are_the_answer(parts: list[str]) -> None:
    text = gathered([*(delta({"content": part}) for part in parts), DONE]).text
    text.encode()
    assert text == clean("".join(parts))


json = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda kind: (
        st.lists(kind, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "content",
                    "tool_calls",
                    "function",
                    "name",
                    "id",
                    "index",
                    "usage",
                    "arguments",
                    "finish_reason",
                    "message",
                    "prompt_tokens",
                    "prompt_tokens_details",
                ]
            ),
            kind,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(json, max_size=4))
@settings(deadline=None)
def test_no_chunk_raises_anything_but_a_bad_response(chunks: list[Any]) -> None:
    with suppress(BadResponse):
        gathered(chunks)
