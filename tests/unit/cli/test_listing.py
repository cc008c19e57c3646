"""Lists and strangers' texts on a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import wcswidth

from gateway.cli.listing import columns, indented, local, local_of, one_line, utc, visible

ANY = st.text(st.characters(codec=None))


@pytest.mark.parametrize("text", ["two\nlines\tand a tab", "مرحبا بالعالم", "こんにちは世界", "👩‍👩‍👧 naïve", ""])
def test_text_of_any_language_is_shown_as_it_is(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("title\x07", "title\\x07"),
        ("over\rwritten", "over\\x0dwritten"),
        ("\x9b31m", "\\x9b31m"),
        ("a\u202egnp.exe", "a\\u202egnp.exe"),
        ("NUL\0", "NUL\\x00"),
    ],
)
def test_what_would_steer_a_terminal_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(ANY, st.integers(1, 60))
def test_a_line_is_one_and_no_wider_than_it_may_be(text: str, width: int) -> None:
    line = one_line(text, width)
    assert "\n" not in line
    assert "\t" not in line
    assert wcswidth(line) <= width or not all(map(str.isprintable, line))


def test_a_short_line_is_whole_and_a_long_one_says_that_it_is_cut() -> None:
    assert one_line("  a  b\n c ", 10) == "a b c"
    assert one_line("東京都千代田区", 6) == "東京…"
    assert one_line("x" * 1_000_000, 5) == "xxxx…"


def test_columns_stand_under_each_other_in_any_script() -> None:
    lines = list(columns([("ID", "NAME", "TEXT"), ("1", "東京", "a"), ("22", "x", "b")]))
    assert [wcswidth(line.partition("TEXT")[0].partition("a")[0].partition("b")[0]) for line in lines] == [10, 10, 10]


def test_no_rows_are_no_lines() -> None:
    assert list(columns([])) == []


def test_a_strangers_line_never_begins_where_ours_do() -> None:
    assert list(indented("one\n2026-01-01  user\n")) == ["  one", "  2026-01-01  user", "  "]


def test_a_time_that_never_was_is_nothing() -> None:
    assert (utc(0.0), local(0.0), local_of(None)) == (None, "", "")
    assert utc(1.5) == "1970-01-01T00:00:01.500+00:00"
    assert local_of(utc(86_400.0)) == local(86_400.0)
