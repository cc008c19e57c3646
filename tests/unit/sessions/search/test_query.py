"""The language of a search: what it says, and that no text is anything but text in it."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.sessions.search.query import Query, QueryError, parse
from gateway.storage.matches import Adjacent, Together


def said(query: Query) -> list[list[str]]:
    """Return each alternative as its stretches and letters."""
    return [
        [*(" ".join(one.words) + "*" * one.prefix for one in together.stretches), *together.letters]
        for together in query.alternatives
    ]


@pytest.mark.parametrize(
    ("typed", "alternatives"),
    [
        ("blue whale", [["blue", "whale"]]),
        ('"blue whale" song', [["blue whale", "song"]]),
        ("a b OR c", [["a", "b"], ["c"]]),
        ("a AND b", [["a", "b"]]),
        ("or and", [["or", "and"]]),
        ("OR", [["or"]]),
        ("OR a", [["or", "a"]]),
        ("a OR", [["a", "or"]]),
        ("conf*", [["conf*"]]),
        ('"the conf"*', [["the conf*"]]),
        ("c++ -x title:foo", [["c", "x", "title foo"]]),
        ("“quoted words”", [["quoted words"]]),
        ('"not closed', [["not closed"]]),
        ("备份失败", [["备份 份失 失败"]]),
        ("备份*", [["备份"]]),
        ("猫 dog", [["dog", "猫"]]),
        ("用docker部署", [["docker 部署", "用"]]),
        ("same same", [["same"]]),
        ("*", []),
        ("", []),
        ('""', []),
        ("()[]{}^~!", []),
    ],
)
def test_a_query_says_what_people_mean_by_it(typed: str, alternatives: list[list[str]]) -> None:
    assert said(parse(typed)) == alternatives


def test_filters_narrow_and_are_no_words() -> None:
    query = parse("tulip role:user,assistant after:2026-11-30 before:2026-12")
    assert query.alternatives == (Together((Adjacent(("tulip",)),)),)
    assert query.roles == ("user", "assistant")
    assert query.since == datetime(2026, 11, 30, tzinfo=UTC).timestamp()
    assert query.until == datetime(2026, 12, 1, tzinfo=UTC).timestamp()
    assert said(parse('"role:user" "after:2026"')) == [["role user", "after 2026"]]
    assert parse("a after:2026-11-30T12:00:00+02:00").since == datetime(2026, 11, 30, 10, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("a role:admin", "role:admin is no role; write role:user, role:assistant or role:tool"),
        ("a after:tomorrow", "after:tomorrow is no date; write after:2026-11-30, or 2026-11"),
        ("a before:2026-02-30", "before:2026-02-30 is no date; write before:2026-11-30, or 2026-11"),
        ("after:0000", "after:0000 is no date; write after:2026-11-30, or 2026-11"),
        ("a*", "a* is too short: write at least 2 letters before the *"),
        ("x" * 1001, "the query has 1,001 characters; write at most 1,000"),
        (" ".join(f"w{number}" for number in range(65)), "the query has too many words; write at most 64"),
        ("字" + "字间" * 40, "the query has too many words; write at most 64"),
    ],
)
def test_what_cannot_be_understood_is_told_in_one_sentence(typed: str, told: str) -> None:
    with pytest.raises(QueryError, match=f"^{re.escape(told)}$"):
        parse(typed)


HOSTILE = st.text(alphabet=st.sampled_from("ab1 \"'*():^-+{}<>&|!@/=\\.,~#%_\0字あ가ก\u0301\u200bORNEAT")) | st.text()


@given(HOSTILE)
@example('" OR scope : "s1')
@example("NEAR(a b, 5)")
@example("words : x")
def test_whatever_is_typed_is_words_or_a_sentence(typed: str) -> None:
    try:
        query = parse(typed)
    except QueryError:
        return
    for stretch in query.stretches:
        assert stretch.words
        for word in stretch.words:
            assert word.split() == [word]
            assert not set(word) & set(" \"'\\*():&|!<>@/=^{}-+")
