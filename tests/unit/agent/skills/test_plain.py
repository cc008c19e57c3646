"""The fast reader of front matter says what a YAML reader says, or nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from gateway.agent.skills.plain import plain

READ = [
    "name: a\ndescription: b c",
    "name: \"a b\"\ndescription: 'it''s'\nempty:\nversion: 1.0",
    "a:\n  b:\n    c: [x, y z]\n  d: []\ne: f",
    "tags: [\"a, b\", 'c', d]",
    "list:\n- a\n- b c\nnext: 1",
    "list:\n  - name: A\n    help: b\n  - name: C\nnext: x",
    "text: >\n  one\n  two\nnext: x",
    "text: >-\n  one\n  two",
    "text: |\n  one\n  two\n",
    "# said\nname: a\n\n# more\nb: c # d".replace(" # d", ""),
    "url: http://example.org/a:b",
    "name: 部署\ndescription: النشر",
    "flag: true\nnothing: ~\nnumber: 012",
]
LEFT = [
    "a: &b c",
    "a: *b",
    "a: !tag b",
    "a: b: c",
    "a: b # c",
    "a: {b: c}",
    "a: [b, [c]]",
    'a: "b\\n"',
    "a: b\n  c",
    "a: b\na: c",
    "\ta: b",
    "a: >\n  b\n\n  c",
    "a: >\n  b\n   c",
    "- a",
    "'a': b",
    "? a\n: b",
    "a: b\n   c: d",
    "a: @b",
    "a: [b,]",
    "a: [b",
    "--- a",
    "a: |\n  # b\n  c",
]


def read(text: str) -> object:
    return YAML(typ="base", pure=True).load(text)


@pytest.mark.parametrize("text", READ)
def test_it_reads_what_heads_mostly_are(text: str) -> None:
    assert plain(text) == read(text)


@pytest.mark.parametrize("text", LEFT)
def test_it_leaves_what_it_is_not_sure_of(text: str) -> None:
    assert plain(text) is None


@pytest.mark.parametrize("inside", ["a", '"a"', "'a'", "a,b", "", "-"])
def test_a_list_of_mostly_space_takes_no_more_time_than_another(inside: str) -> None:
    """A list that takes quadratic time would take hours, and hold everything else up meanwhile."""
    assert plain(f"a: [{inside}{' ' * 1_000_000}: x]") is None


PIECES = st.lists(
    st.sampled_from(
        [*"ab:-#[]{},'\"|>&*!?%~ ", ": ", "\n", "\n  ", "\n    ", "- ", "key: ", "\n- ", ", ", "1.0", "é", "''", "---"]
    ),
    max_size=14,
)


@given(PIECES)
def test_whatever_it_reads_a_yaml_reader_reads_too(pieces: list[str]) -> None:
    text = "key: " + "".join(pieces)
    ours = plain(text)
    if ours is None:
        return
    try:
        theirs = read(text)
    except YAMLError as error:
        raise AssertionError(f"{text!r} was read as {ours!r}") from error
    assert ours == theirs
