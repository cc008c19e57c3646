"""The marked place in a message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.sessions.search.query import QueryError, parse
from gateway.sessions.search.snippet import SNIPPET_CHARS, snippet


@pytest.mark.parametrize(
    ("text", "query", "shown"),
    [
        ("the blue Whale", "whale", "the blue >>>Whale<<<"),
        ("Café au lait", "cafe", ">>>Café<<< au lait"),
        ("Объём ё", "объем", ">>>Объём<<< ё"),
        ("我们上周讨论了备份失败的原因", "备份失败", "我们上周讨论了>>>备份失败<<<的原因"),
        ("两只猫", "猫", "两只>>>猫<<<"),
        ("我用Docker部署", "docker部署", "我用>>>Docker部署<<<"),
        ("reconfigure configures", "conf*", "reconfigure >>>configures<<<"),
        ("several\n  lines\tof it", "lines", "several >>>lines<<< of it"),
        ("nothing of it", "absent", "nothing of it"),
        ("우리 \u1112\u1161\u11ab\u1100\u1173\u11af 책", "한글", "우리 >>>\u1112\u1161\u11ab\u1100\u1173\u11af<<< 책"),
        ("ﾃﾞｰﾀ を", "データ", ">>>ﾃﾞｰﾀ<<< を"),
        ("un cafe\u0301.", "café", "un >>>cafe\u0301<<<."),
        ("so\u00adft ice", "soft", ">>>so\u00adft<<< ice"),
        ("a か\u3099く", "がく", "a >>>か\u3099く<<<"),
    ],
)
def test_what_fits_is_marked_as_it_was_written(text: str, query: str, shown: str) -> None:
    assert snippet(text, parse(query)) == shown


def test_of_a_long_text_the_part_with_most_that_fits_is_shown() -> None:
    text = f"{'a tulip ' + 'x ' * 400}tulip and rose and tulip {'y ' * 400}"
    shown = snippet(text, parse("tulip rose"))
    assert shown.startswith("...")
    assert shown.endswith("...")
    assert ">>>tulip<<< and >>>rose<<< and >>>tulip<<<" in shown
    assert len(shown) < SNIPPET_CHARS + 40


def test_a_place_behind_the_first_pages_is_found() -> None:
    assert ">>>needle<<<" in snippet(f"{'hay ' * 20_000}needle", parse("needle"))


@given(st.text(), st.text())
def test_no_text_and_no_query_breaks_it(text: str, typed: str) -> None:
    try:
        query = parse(typed)
    except QueryError:
        return
    marked = snippet(text, query, 10_000)
    if ">" not in text and "<" not in text:
        assert marked.replace(">>>", "").replace("<<<", "") == " ".join(text.split())


@given(st.text(alphabet="aée\u0301\u1112\u1161\u11ab한ﾃﾞか\u3099\u20d0\u0323ｗ\u200b字 ", max_size=8))
def test_what_the_index_finds_is_marked_however_its_letters_are_written(text: str) -> None:
    for word in text.split():
        query = parse(word)
        if not query.empty:
            assert ">>>" in snippet(text, query), word
