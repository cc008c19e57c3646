"""What counts as said: thoughts do not, nor what the gateway wrote in a person's role."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.context.summary.spoken import answered, asked, unthought
from gateway.contracts.context import Row
from tests.unit.agent.context.summary.talk import agent, call, rows, user


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("<think>so</think>\n\nYes.", "Yes."),
        ("<think>so</think>Yes.<think>hm</think>", "Yes.<think>hm</think>"),
        ("Yes.\n<thinking>and\nno</thinking>\nNo.", "Yes.\n\nNo."),
        ("it began before\n</think>\nYes.", "Yes."),
        ("<think>a <think>b</think> c</think>\nYes.", "Yes."),
        ("Yes.\n<think>it never ends", "Yes."),
        ("<REASONING_SCRATCHPAD>x</REASONING_SCRATCHPAD>Yes.", "Yes."),
        ("Write <think> before and </think> behind it.", "Write <think> before and </think> behind it."),
        ("<think>nothing else</think>", "<think>nothing else</think>"),
        ("<think>nothing else", "<think>nothing else"),
        ("no tags", "no tags"),
        ("", ""),
    ],
)
def test_thoughts_are_taken_out(answer: str, said: str) -> None:
    assert unthought(answer) == said


@given(st.text(alphabet="<>/think \n", max_size=200))
def test_whatever_the_tags_something_remains_of_something(text: str) -> None:
    assert bool(unthought(text)) == bool(text)


def test_what_the_gateway_writes_in_a_persons_role_is_no_request() -> None:
    said = rows(
        user("first"),
        agent("yes"),
        user("[System: Your previous response was truncated by the output length limit.]"),
        user("[IMPORTANT: Background process 4 ended]"),
        user("Continue from the compressed conversation context above. This marker exists because …"),
        user("  "),
        user("second"),
    )
    assert list(asked(said)) == ["second", "first"]


def test_a_request_is_answered_once_there_is_something_to_read() -> None:
    open_: list[Row] = rows(user("do it"), *call("c", "shell", "ok"))
    assert not answered(open_)
    assert answered([*open_, *rows(agent("Done."))])
    assert answered([])
