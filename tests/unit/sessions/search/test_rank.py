"""The order of what fits."""

from __future__ import annotations

from gateway.sessions.search.query import parse
from gateway.sessions.search.rank import COUNTED_TERMS, scores
from gateway.storage.matches import Candidate


def said(text: str) -> Candidate:
    return Candidate(1, "s", "user", 0.0, 100, text)


def test_of_many_words_the_longest_are_counted_and_those_of_one_length_in_their_order() -> None:
    long = [f"word{number:02}" for number in range(COUNTED_TERMS)]
    texts = (" ".join(long), f"{' '.join(long)} ox ox ox", f"{' '.join(long)} {long[-1]}")
    plain, short, last = scores([said(text) for text in texts], parse(" OR ".join(["ox", *long, "word99"])), 0.0)
    assert plain == short < last


def test_of_few_words_each_is_counted() -> None:
    plain, more = scores([said("ox word"), said("ox ox word")], parse("ox word"), 0.0)
    assert plain < more
