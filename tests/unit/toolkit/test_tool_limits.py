from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from gateway.toolkit.limits import brief, chars_for, narrow, shorten

NOTE = re.compile(r"\n\[cut: ([\d,]+) characters\]\n")


@given(st.text("a\n漢", min_size=0, max_size=2_000), st.integers(100, 500), st.integers(100, 300))
def test_a_shortened_text_fits_and_keeps_head_and_tail_and_the_true_count(text: str, chars: int, lines: int) -> None:
    short = shorten(text, chars=chars, lines=lines)
    assert len(short) <= max(chars, 0)
    assert short.count("\n") < lines
    if short == text:
        return
    [count] = NOTE.findall(short)
    head, tail = short.split(f"\n[cut: {count} characters]\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert head or tail
    assert len(head) + len(tail) + int(count.replace(",", "")) == len(text)


@given(st.text(max_size=200))
def test_a_text_within_the_limits_is_left_alone(text: str) -> None:
    assert shorten(text, chars=200, lines=201) == text


def test_long_lines_are_cut_with_a_note() -> None:
    assert narrow("a" * 12 + "\nb", width=10) == "aaaaaaaaaa [cut: 2 characters]\nb"


def test_a_quotation_is_one_printable_line() -> None:
    assert brief("a\n\u202e\ud83d\0") == r"'a\n\u202e\ud83d\x00'"
    assert len(brief("x" * 1_000)) == 82


def test_a_small_window_gives_an_answer_less_room() -> None:
    assert [chars_for(window) for window in (0, 8_192, 32_768, 1_000_000)] == [8_000, 8_000, 19_660, 100_000]
