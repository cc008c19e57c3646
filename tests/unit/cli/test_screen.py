"""How an answer grows on the terminal."""

from __future__ import annotations

import io

import pytest

from gateway.cli.chat import Screen


def shown(*steps: str, final: tuple[str, ...], streams: bool = True) -> str:
    stream = io.StringIO()
    screen = Screen(stream, streams=streams)
    for step in steps:
        screen.show(step)
    screen.finish(final)
    return stream.getvalue()


def test_an_answer_grows_and_is_said_once() -> None:
    assert shown("one", "one two", final=("one two three",)) == "one two three\n"


def test_where_nobody_looks_on_the_answer_comes_whole() -> None:
    assert shown("one", "one two", final=("one two three",), streams=False) == "one two three\n"


def test_what_was_taken_back_is_followed_by_what_holds() -> None:
    assert shown("wrong", "right", final=("right.",)) == "wrong\nright.\n"


def test_each_message_of_an_answer_is_whole() -> None:
    assert shown(final=("*a notice*", "the answer")) == "*a notice*\nthe answer\n"
    assert shown("the an", final=("*a notice*", "the answer")) == "the an\n*a notice*\nthe answer\n"


@pytest.mark.parametrize("marks", ["```", "~~~", "````"])
def test_a_code_block_grows_although_it_is_closed_for_the_time_being(marks: str) -> None:
    steps = [f"{marks}py\npri\n{marks}", f"{marks}py\nprint(1)\n{marks}"]
    whole = f"{marks}py\nprint(1)\n{marks}\n\nThere."
    assert shown(*steps, final=(whole,)) == f"{whole}\n"


def test_an_answer_that_was_broken_off_ends_its_line() -> None:
    assert shown("half of it", final=()) == "half of it\n"
    assert shown(final=()) == ""


def test_an_answer_cannot_steer_the_terminal() -> None:
    assert shown("\x1b[2J", final=("\x1b[2J\u202e",)) == "\\x1b[2J\\u202e\n"


def test_what_the_terminal_cannot_show_is_written_out() -> None:
    raw = io.BytesIO()
    screen = Screen(io.TextIOWrapper(raw, "ascii", newline="\n"), streams=False)
    screen.finish(("naïve 界 \ud83d",))
    assert raw.getvalue() == b"na\\xefve \\u754c \\ud83d\n"
