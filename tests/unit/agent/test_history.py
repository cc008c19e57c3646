"""Whatever was stored, what goes to the model is a history that a strict provider accepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.agent.history import INTERRUPTED, NO_ANSWER, distinct, is_object, later_half, repair, unanswered
from gateway.messages import Message, ToolCall
from tests.fakes.openai_rules import fault_of

NEXT = Message("user", "and now?")


def wire(message: Message) -> dict[str, Any]:
    found: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        found["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    if message.role == "tool":
        found["tool_call_id"] = message.call_id
    return found


def fault(history: Sequence[Message]) -> str:
    """What a strict provider says to the history and the next message of the person."""
    return fault_of({"model": "strict", "messages": [wire(message) for message in (*history, NEXT)]})


def user(text: str = "hello") -> Message:
    return Message("user", text)


def assistant(text: str = "", *calls: str) -> Message:
    return Message("assistant", text, tuple(ToolCall(id, "tool") for id in calls))


def result(call: str, text: str = "found") -> Message:
    return Message("tool", text, call_id=call, name="tool")


IDS = st.sampled_from(["a", "b", "c", "", "a_2", "\u202eid"])
TEXTS = st.sampled_from(["", " ", "text", "long\n\ntext 東京", "x" * 1000])
CALLS = st.lists(st.builds(ToolCall, IDS, st.just("tool")), max_size=3).map(tuple)
ANYTHING = st.lists(
    st.one_of(
        st.builds(Message, st.just("user"), TEXTS, api_content=st.none() | TEXTS),
        st.builds(Message, st.just("assistant"), TEXTS, CALLS),
        st.builds(Message, st.just("tool"), TEXTS, call_id=IDS, name=st.just("tool")),
        st.builds(Message, st.just("system"), TEXTS),
    ),
    max_size=14,
)


@st.composite
def valid(draw: st.DrawFn) -> list[Message]:
    """A history as turns leave it: a question, rounds of tools, an answer."""
    said = st.sampled_from(["text", "more text", "東京"])
    history: list[Message] = []
    number = 0
    for _ in range(draw(st.integers(0, 4))):
        history.append(Message("user", draw(said), api_content=draw(st.none() | said)))
        for _ in range(draw(st.integers(0, 3))):
            ids = [f"c{number + place}" for place in range(draw(st.integers(1, 3)))]
            number += len(ids)
            history.append(assistant(draw(st.just("") | said), *ids))
            history += [result(id, draw(TEXTS)) for id in ids]
        history.append(assistant(draw(said)))
    return history


@given(ANYTHING)
@example([assistant("", "a"), result("a"), user()])
@example([user(), assistant("", "a", "a"), result("a", "1"), result("a", "2")])
@example([user(), assistant("", "a"), user(), result("a")])
@example([user(""), user(" ")])
@example([user(), assistant("", "")])
def test_whatever_was_stored_a_strict_provider_accepts(history: list[Message]) -> None:
    assert fault(repair(history)) == ""


@given(valid())
def test_a_history_that_is_as_it_should_be_stays_as_it_is(history: list[Message]) -> None:
    assert fault(history) == ""
    repaired = repair(history)
    assert repaired == history
    assert all(mine is theirs for mine, theirs in zip(repaired, history, strict=True))


@given(ANYTHING)
def test_what_was_repaired_needs_no_second_repair(history: list[Message]) -> None:
    once = repair(history)
    assert repair(once) == once


@given(ANYTHING)
def test_nothing_a_person_said_is_lost(history: list[Message]) -> None:
    kept = "\n\n".join(message.content for message in repair(history) if message.role == "user")
    for message in history:
        if message.role == "user" and message.content.strip():
            assert message.content in kept


@given(valid(), st.data())
def test_a_history_cut_anywhere_is_usable_at_once(history: list[Message], data: st.DataObject) -> None:
    """As after a crash (the end is missing), a compression (the middle) or an eviction (the beginning)."""
    first = data.draw(st.integers(0, len(history)))
    last = data.draw(st.integers(first, len(history)))
    assert fault(repair(history[first:last])) == ""
    assert fault(repair(history[:first] + history[last:])) == ""


@given(valid(), st.data())
def test_a_history_in_which_rows_were_doubled_is_usable(history: list[Message], data: st.DataObject) -> None:
    doubled = [message for message in history for _ in range(data.draw(st.integers(1, 2)))]
    assert fault(repair(doubled)) == ""


# --- cases


def test_a_result_whose_call_is_gone_is_dropped() -> None:
    """PAIR-01: a cut between a call and its result."""
    history = [
        user(),
        result("a"),
        assistant("done"),
        user(),
        assistant("", "b"),
        result("a"),
        result("b"),
        assistant("ok"),
    ]
    assert repair(history) == [user(), assistant("done"), user(), assistant("", "b"), result("b"), assistant("ok")]


def test_a_call_whose_result_is_missing_is_answered_once() -> None:
    """PAIR-02: two of three results are there when the run is interrupted; then the person writes again."""
    call = assistant("", "a", "b", "c")
    history = [user(), call, result("a"), result("c")]
    lost = unanswered(call.calls[1])
    assert lost.text == INTERRUPTED
    repaired = repair(history)
    assert repaired == [user(), call, result("a"), lost, result("c"), assistant(NO_ANSWER)]
    assert repair([*history, user("hi")]) == [*repaired, user("hi"), assistant(NO_ANSWER)]


@pytest.mark.parametrize(
    "stored",
    [
        [user(), assistant("", "a")],
        [user(), assistant("", "a"), result("a")],
        [user()],
        [user(), result("a")],
        [assistant("", "a"), result("a")],
    ],
    ids=["call without result", "result without answer", "nothing yet", "result without call", "no question"],
)
def test_a_crash_in_the_middle_of_tools_blocks_nothing(stored: list[Message]) -> None:
    """PAIR-06."""
    assert fault(repair(stored)) == ""


def test_results_that_came_out_of_order_stand_in_the_order_of_their_calls() -> None:
    history = [user(), assistant("", "a", "b"), result("b"), result("a"), assistant("done")]
    assert repair(history) == [user(), assistant("", "a", "b"), result("a"), result("b"), assistant("done")]


def test_a_second_result_of_one_call_is_dropped() -> None:
    history = [user(), assistant("", "a"), result("a", "first"), result("a", "second"), assistant("done")]
    assert repair(history) == [user(), assistant("", "a"), result("a", "first"), assistant("done")]


def test_a_model_that_counts_its_calls_anew_gets_ids_of_their_own() -> None:
    history = [
        user(), assistant("", "call_1"), result("call_1", "first"), assistant("one"),
        user(), assistant("", "call_1"), result("call_1", "second"), assistant("two"),
    ]  # fmt: skip
    repaired = repair(history)
    assert [call.id for message in repaired for call in message.calls] == ["call_1", "call_1_2"]
    assert [message.text for message in repaired if message.role == "tool"] == ["first", "second"]
    assert fault(repaired) == ""


def test_neighbours_of_one_role_are_joined_with_what_the_model_was_shown() -> None:
    history = [
        Message("user", "one", api_content="[Ann] one"), user("two"), assistant("a"), assistant("b", "c"), result("c"),
    ]  # fmt: skip
    assert repair(history) == [
        Message("user", "one\n\ntwo", api_content="[Ann] one\n\ntwo"),
        assistant("a\n\nb", "c"),
        result("c"),
        assistant(NO_ANSWER),
    ]


def test_the_same_message_twice_is_two_messages() -> None:
    """One object may stand in a list more than once; each has the results that follow it."""
    call = assistant("", "a")
    history = [
        user("1"),
        call,
        result("a", "first"),
        assistant("x"),
        user("2"),
        call,
        result("a", "second"),
        assistant("y"),
    ]
    assert [message.text for message in repair(history) if message.role == "tool"] == ["first", "second"]


def test_an_empty_history_stays_empty() -> None:
    assert repair([]) == []
    assert repair([result("a"), assistant("only me")]) == []


# --- less of the past


@given(valid())
def test_the_later_half_is_shorter_and_still_valid(history: list[Message]) -> None:
    half = later_half(history)
    assert len(half) < len(history) or not history
    assert half == history[len(history) - len(half) :]
    assert fault(half) == ""


@given(valid())
def test_halving_comes_to_an_end(history: list[Message]) -> None:
    for _ in range(len(history) + 1):
        history = later_half(history)
    assert history == []


# --- ids


@given(CALLS, ANYTHING)
def test_calls_are_given_ids_that_none_had_before(calls: tuple[ToolCall, ...], before: list[Message]) -> None:
    used = {call.id for message in before for call in message.calls}
    named = distinct(calls, before)
    ids = [call.id for call in named]
    assert len(set(ids)) == len(ids)
    assert not set(ids) & used
    assert all(ids)
    assert [(call.name, call.arguments) for call in named] == [(call.name, call.arguments) for call in calls]


def test_an_id_that_is_free_is_kept() -> None:
    calls = (ToolCall("a", "tool"), ToolCall("b", "tool"))
    assert distinct(calls, [assistant("", "c")]) == calls


@pytest.mark.parametrize(
    ("arguments", "fits"),
    [
        ("{}", True),
        ('{"a": [1, null, "東京"]}', True),
        ("[]", False),
        ('"{}"', False),
        ("", False),
        ("{", False),
        ("{'a': 1}", False),
        ('{"a": NaN}', False),
        ('{"a": "\ud800"}', False),
        ("{" * 10_000, False),
    ],
)
def test_arguments_are_the_json_of_an_object_or_not(arguments: str, fits: bool) -> None:
    assert is_object(arguments) is fits
