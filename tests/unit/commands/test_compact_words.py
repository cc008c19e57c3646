"""What stands behind /compact: a topic, how much to keep, or a mistake that is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.commands.compact import HERE, Wanted, wanted


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("", Wanted()),
        ("  ", Wanted()),
        ("the tax form", Wanted(focus="the tax form")),
        ("今天的会议", Wanted(focus="今天的会议")),
        ("here", Wanted(keep=2)),
        ("HERE 7", Wanted(keep=7)),
        ("here 100", Wanted(keep=100)),
        ("here   1", Wanted(keep=1)),
        ("here ٣", Wanted(keep=3)),
        ("here is what matters: the form", Wanted(focus="here is what matters: the form")),
        ("here 3 people spoke of the form", Wanted(focus="here 3 people spoke of the form")),
        ("here: the form", Wanted(focus="here: the form")),
        ("there", Wanted(focus="there")),
        ("--preview", Wanted(preview=True)),
        ("--dry-run", Wanted(preview=True)),
        ("—preview", Wanted(preview=True)),
        ("--PREVIEW here 3", Wanted(keep=3, preview=True)),
        ("here 3 --preview", Wanted(keep=3, preview=True)),
        ("the form --preview", Wanted(focus="the form", preview=True)),
        ("what --preview does", Wanted(focus="what --preview does")),
        ("--verbose and what it prints", Wanted(focus="--verbose and what it prints")),
        ("first line\nsecond line", Wanted(focus="first line\nsecond line")),
        ("here\n3", Wanted(keep=3)),
    ],
)
def test_words_are_a_topic_unless_they_say_how_much_to_keep(words: str, meant: Wanted) -> None:
    assert wanted(words) == meant


@pytest.mark.parametrize("number", ["0", "101", "-1", "2.5", "x", "²", "1e2", "9" * 10_000])
def test_a_number_that_is_none_is_told_in_a_sentence(number: str) -> None:
    assert wanted(f"here {number}") == HERE
    assert wanted(f"here {number} --preview") == HERE


@pytest.mark.parametrize("words", ["--preveiw", "--aggressive", "—pre-view", "--keep --now"])
def test_an_option_there_is_not_is_no_topic(words: str) -> None:
    said = wanted(words)
    assert isinstance(said, str)
    assert words.split(maxsplit=1)[0] in said


@given(st.text())
def test_any_words_mean_something_or_are_told(words: str) -> None:
    said = wanted(words)
    assert isinstance(said, str) or said.keep is None or 1 <= said.keep <= 100
