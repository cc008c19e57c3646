"""One key of a file changed by hand of a program: everything else stays to the letter."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gateway.config.describe import written
from gateway.config.document import parse
from gateway.config.editing import set_value, take_out
from gateway.config.node import Origin, plain
from gateway.errors import ConfigError

TEXT = """\
# my bot

model:   # which model
  default: gpt-5   # the good one
  # a remark

# how much
agent: {max_turns: 3, personalities: {}}
access:
  owners:
    - telegram:1   # me
    - telegram:2
# the end of the owners
empty:
prompt: |
  several
    lines

last: 'x'"""


def meaning(text: str) -> Any:
    return plain(parse(text, Origin()))


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        (("model", "default"), "gpt-6", "default: gpt-5 ", "default: gpt-6 "),
        (("model", "max_tokens"), 5, "# the good one\n", "# the good one\n  max_tokens: 5\n"),
        (("agent", "max_turns"), 4, "max_turns: 3", "max_turns: 4"),
        (
            ("agent", "personalities", "kind"),
            "Be kind: 🤖",
            "personalities: {}",
            'personalities: {kind: "Be kind: 🤖"}',
        ),
        (("agent", "x"), [1], "{max_turns", "{x: [1], max_turns"),
        (("access", "owners"), ["a:1"], "owners:\n    - telegram:1   # me\n    - telegram:2\n", 'owners: ["a:1"]\n'),
        (("access", "pairing"), True, "telegram:2\n", "telegram:2\n  pairing: true\n"),
        (("empty",), "full", "empty:", "empty: full"),
        (("empty", "a", "b"), 1, "empty:", "empty: {a: {b: 1}}"),
        (("prompt",), "one line", "|\n  several\n    lines", '"one line"'),
        (("last",), "y", "last: 'x'", 'last: "y"'),
        (("web", "port"), 1, "last: 'x'", "last: 'x'\nweb:\n  port: 1\n"),
        (("web",), {}, "last: 'x'", "last: 'x'\nweb: {}\n"),
    ],
)
def test_only_the_key_is_changed(path: tuple[str, ...], value: object, old: str, new: str) -> None:
    assert TEXT.count(old) == 1
    assert set_value(TEXT, path, value) == TEXT.replace(old, new)


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (("model",), "model:   # which model\n  default: gpt-5   # the good one\n", ""),
        (("model", "default"), "\n  default: gpt-5   # the good one", " {}"),
        (("agent", "max_turns"), "max_turns: 3, ", ""),
        (("agent", "personalities"), ", personalities: {}", ""),
        (("access", "owners"), "\n  owners:\n    - telegram:1   # me\n    - telegram:2", " {}"),
        (("empty",), "empty:\n", ""),
        (("prompt",), "prompt: |\n  several\n    lines\n", ""),
        (("last",), "last: 'x'", ""),
    ],
)
def test_only_the_key_is_taken_out(path: tuple[str, ...], old: str, new: str) -> None:
    assert TEXT.count(old) == 1
    before = copy.deepcopy(meaning(TEXT))
    after = take_out(TEXT, path)
    section = before
    for part in path[:-1]:
        section = section[part]
    del section[path[-1]]
    assert meaning(after) == before
    assert {line.strip() for line in after.splitlines() if line.strip().startswith("#")} == {
        line.strip() for line in TEXT.splitlines() if line.strip().startswith("#")
    }
    if path != ("model", "default"):
        assert after == TEXT.replace(old, new)


@pytest.mark.parametrize("text", ["", "\n", "# only a remark\n", "{}\n", "---\n"])
def test_the_first_key_of_a_file_is_set(text: str) -> None:
    after = set_value(text, ("web", "port"), 1)
    assert meaning(after) == {"web": {"port": 1}}
    assert ("# only a remark" in after) == ("# only a remark" in text)


@pytest.mark.parametrize(
    "text", ["web: {port: 1}\n", "{web: {port: 1}}\n", "web:\n  port: 1\n", "# a\nweb:\n  port: 1 # b"]
)
def test_the_last_key_of_a_file_is_taken_out(text: str) -> None:
    assert meaning(take_out(text, ("web", "port"))) == {"web": {}}
    assert meaning(take_out(text, ("web",))) == {}


def test_a_model_in_the_short_form_keeps_its_name() -> None:
    after = set_value("model: gpt-5  # the good one\n", ("model", "base_url"), "http://h:1")
    assert after == 'model: {base_url: "http://h:1", default: gpt-5}  # the good one\n'


def test_windows_line_ends_stay() -> None:
    assert set_value("a: 1\r\nb: 2\r\n", ("a",), 3) == "a: 3\r\nb: 2\r\n"


@pytest.mark.parametrize(
    "path", [("zzz",), ("model", "zzz"), ("model", "default", "x"), ("access", "owners", "0", "x")]
)
def test_a_key_that_is_not_there_cannot_be_taken_out(path: tuple[str, ...]) -> None:
    with pytest.raises(KeyError):
        take_out(TEXT, path)


@pytest.mark.parametrize(
    ("text", "path"),
    [("a: &x {b: 1}\nc: *x\n", ("c", "b")), ("a: &x {b: 1}\nc:\n  <<: *x\n", ("c", "b"))],
)
def test_what_an_anchor_shares_is_left_to_a_person(text: str, path: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="cannot be changed in this file; change it in an editor"):
        set_value(text, path, 2)


KEYS = st.sampled_from(["a", "b", "web", "x.y", "-1", "é", "off", "null"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(-1e6, 1e6, allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)
VALUES = st.recursive(
    SCALARS,
    lambda below: st.one_of(st.lists(below, max_size=3), st.dictionaries(KEYS, below, max_size=3)),
    max_leaves=6,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=4)


def block(value: Any, column: int = 0) -> str:
    """Write a document the way people do: blocks, with a remark on every line."""
    pad = " " * column
    lines = []
    for key, one in value.items():
        if isinstance(one, dict) and one:
            lines.append(f"{pad}{written(key)}:  # of {len(one)}\n{block(one, column + 2)}")
        elif isinstance(one, list) and one and column < 4:
            items = "".join(f"{pad}  - {written(item)}\n" for item in one)
            lines.append(f"{pad}{written(key)}:\n{items}")
        else:
            lines.append(f"{pad}{written(key)}: {written(one)}  # remark\n\n")
    return "".join(lines)


def put(document: Any, path: list[str], value: Any) -> Any:
    made = copy.deepcopy(document)
    below = made
    for part in path[:-1]:
        if not isinstance(below.get(part), dict):
            below[part] = {}
        below = below[part]
    below[path[-1]] = value
    return made


@settings(max_examples=150, deadline=None)
@given(document=DOCUMENTS, path=st.lists(KEYS, min_size=1, max_size=3), value=VALUES, flow=st.booleans())
def test_any_key_can_be_set_in_any_document(document: Any, path: list[str], value: Any, flow: bool) -> None:
    text = (written(document) if flow else block(document)) + "\n"
    assume(not isinstance(document.get("model"), str))
    assert meaning(text) == document
    after = set_value(text, tuple(path), value)
    assert meaning(after) == put(document, path, value)


@settings(max_examples=100, deadline=None)
@given(document=DOCUMENTS, data=st.data(), flow=st.booleans())
def test_any_key_can_be_taken_out_of_any_document(document: Any, data: st.DataObject, flow: bool) -> None:
    text = (written(document) if flow else block(document)) + "\n"
    path: list[str] = []
    below = document
    while isinstance(below, dict) and below and (not path or data.draw(st.booleans())):
        path.append(data.draw(st.sampled_from(sorted(below))))
        below = below[path[-1]]
    assume(path)
    wanted = copy.deepcopy(document)
    section = wanted
    for part in path[:-1]:
        section = section[part]
    del section[path[-1]]
    assert meaning(take_out(text, tuple(path))) == wanted
