"""Whatever the text is, the work grows as its length does. The work is counted, not timed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import CodeType, FrameType
from typing import Any

import pytest

from gateway.agent.threats import Scope, scan
from gateway.agent.threats.fold import fold
from gateway.agent.threats.patterns import patterns
from gateway.agent.threats.spans import spans
from tests.unit.agent.threats.hostile import hostile

SIZE, SMALL = 30_000, 6_000
NAMES = sorted(hostile(100))


def lines_run(work: Callable[[], object]) -> int:
    """How many lines of the scan's own code are run."""
    run, ours = 0, dict[CodeType, bool]()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal run
        code = frame.f_code
        if not ours.setdefault(code, "threats" in code.co_filename):
            return None
        run += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return run


def assert_even(work: Callable[[str, Scope], object], texts: Sequence[str]) -> None:
    """Say that of three texts, each longer by the same, the last takes no more on top than the one before it did."""
    patterns()
    one, two, three = (lines_run(partial(work, text, "strict")) for text in texts)
    assert min(one, two, three) > 0, "the work was not counted"
    assert three - two <= 1.3 * (two - one) + 2_000


@pytest.mark.parametrize("name", NAMES)
def test_each_further_part_of_a_text_is_as_much_work_as_the_one_before(name: str) -> None:
    assert_even(scan, [hostile(size)[name] for size in (SIZE, 2 * SIZE, 3 * SIZE)])


@pytest.mark.parametrize("name", NAMES)
def test_to_say_where_is_for_each_further_part_as_much_work_too(name: str) -> None:
    assert_even(spans, [hostile(size)[name] for size in (SMALL, 2 * SMALL, 3 * SMALL)])


@pytest.mark.parametrize("name", NAMES)
def test_a_text_is_cut_into_no_more_pieces_than_it_has_letters(name: str) -> None:
    text = hostile(SIZE)[name]
    folded = fold(text)
    assert len(folded) <= 5 * len(text)
    assert sum(map(len, patterns().lexer.findall(folded))) <= len(folded)


def test_few_steps_are_open_to_any_one_word() -> None:
    made = patterns()
    assert max(len(made.can(word)) for word in (*made.words, *made.stems)) <= 40
    assert max(map(len, made.after)) <= 25


@pytest.mark.parametrize("name", NAMES)
def test_a_very_long_text_comes_to_an_end(name: str) -> None:
    scan(hostile(250_000)[name], "strict")
