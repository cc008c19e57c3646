"""Spans of any kind become entities within the rules, and mark no other letter than before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from adapters.telegram.entities import CODE, QUOTES, STYLES, Span, normalise
from tests.fakes import telegram_rules

LENGTH = 30
TEXT = "x" * LENGTH

spans = st.builds(
    lambda start, length, kind: Span(start, -(start + length), kind, "https://e.org" if kind == "text_link" else ""),
    st.integers(0, LENGTH + 3),
    st.integers(0, 20),
    st.sampled_from(sorted(STYLES | QUOTES | CODE | {"text_link"})),
)


def letters(found: list[Span], kinds: frozenset[str]) -> set[tuple[str, int]]:
    return {(span.type, at) for span in found if span.type in kinds for at in range(span.start, min(span.end, LENGTH))}


@given(st.lists(spans, max_size=12))
def test_whatever_overlaps_is_brought_within_the_rules(given_spans: list[Span]) -> None:
    entities = [span.as_json() for span in normalise(given_spans, LENGTH)]
    assert telegram_rules.violations(entities, TEXT) == []
    assert telegram_rules.checked_entities(entities, TEXT) == entities[: telegram_rules.ENTITIES]


@given(st.lists(spans, max_size=12))
def test_styles_keep_every_letter_that_is_not_code(given_spans: list[Span]) -> None:
    made = normalise(given_spans, LENGTH)
    code = {at for _, at in letters(made, CODE)}
    assert letters(made, STYLES) == {(kind, at) for kind, at in letters(given_spans, STYLES) if at not in code}


@given(st.lists(spans, max_size=12))
def test_nothing_is_marked_that_was_not(given_spans: list[Span]) -> None:
    every = STYLES | QUOTES | CODE | {"text_link"}
    assert letters(normalise(given_spans, LENGTH), every) <= letters(given_spans, every)


@given(st.lists(spans, max_size=12))
def test_doing_it_again_changes_nothing(given_spans: list[Span]) -> None:
    once = normalise(given_spans, LENGTH)
    assert normalise(once, LENGTH) == once


def test_a_link_is_never_cut() -> None:
    link, bold = Span(5, -15, "text_link", "https://e.org"), Span(0, -10, "bold")
    assert [span for span in normalise([bold, link], LENGTH) if span.type == "text_link"] == [link]
