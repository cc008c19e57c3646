from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.contracts.tool import ToolSpec
from gateway.errors import ToolError
from gateway.messages import ToolCall
from gateway.toolkit.arguments import parse_arguments, repaired, unknown_tool
from gateway.toolkit.repair import repair

SPEC = ToolSpec(
    "read_file", "Read.", {"type": "object", "properties": {"path": {}, "offset": {}}, "required": ["path"]}
)


def parsed(text: str) -> dict[str, Any]:
    return parse_arguments(ToolCall("c1", "read_file", text), SPEC)


def refusal(text: str) -> str:
    with pytest.raises(ToolError) as failed:
        parsed(text)
    return str(failed.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_every_object_is_read_as_it_was_written(arguments: dict[str, Any]) -> None:
    assert parsed(json.dumps(arguments)) == arguments
    assert parsed(json.dumps(arguments, ensure_ascii=False)) == arguments
    assert parsed(json.dumps(json.dumps(arguments))) == arguments


@pytest.mark.parametrize("text", ["", "  \n", "null", "{}", '"{}"'])
def test_nothing_means_no_arguments(text: str) -> None:
    assert parsed(text) == {}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('{"path": "a",}', {"path": "a"}),
        ("{'path': 'it\\'s', \"offset\": 2}", {"path": "it's", "offset": 2}),
        ("{'path': 'say \"hi\"'}", {"path": 'say "hi"'}),
        ("{path: a.txt, offset: 2}", {"path": "a.txt", "offset": 2}),
        ('{"path": "a", "deep": True, "no": None}', {"path": "a", "deep": True, "no": None}),
        ('```json\n{"path": "a",}\n```', {"path": "a"}),
        ('{"path": "a" "offset": 3}', {"path": "a", "offset": 3}),
        ('{"path": "a", "list": [{"b": "ж 😀"},],}', {"path": "a", "list": [{"b": "ж 😀"}]}),
        ('{"path": "two\nlines",}', {"path": "two\nlines"}),
    ],
)
def test_damage_with_one_reading_is_repaired_and_logged(
    text: str, meant: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert parsed(text) == meant
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "a.txt" not in caplog.text


@pytest.mark.parametrize(
    "text",
    [
        '{"path": "a',  # cut off: the rest may be anything
        '{"path": "a"',
        '{"path": "a", "offset": 1',
        '{"path": "a", "offset":}',
        '{"path": "a", "offset"}',
        '{"path": , "offset": 1}',
        '{"path": "say "hi" now"}',
        '{"path": "C:\\dir"}',  # which backslashes are escapes?
        "{path: rm -rf x}",
        '{"path": "a", // why\n "offset": 1}',
        '{"path": ["a": 1]}',
        '{"path": "a", "path": "b",}',
        '{"path": "a"} {"path": "b"}',
        '{"path": "a", ...}',
        '{"path": 01}',
        "read the file a",
        "Here it is: {'path': 'a'}",
        "{'path': 'it's'}",
        "{\u201cpath\u201d: \u201ca\u201d}",
        "{",
        "'",
        "\x00",
        "{\ud83d}",
        '{"a": "' * 3_000,
        "[" * 15_000,
    ],
)
def test_damage_that_takes_a_guess_is_refused(text: str) -> None:
    assert repair(text) is None
    told = refusal(text)
    assert told.startswith("read_file was not called: ")
    assert told.endswith(" It takes a JSON object with path (required), offset.")
    assert told.isprintable()
    assert len(told) < 300


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ('{"path": "é",}', '{"path": "é"}'),
        ('"{\\"path\\": 1}"', '{"path": 1}'),
        ('{"path": "two\nlines"}', '{"path": "two\\nlines"}'),
        ('{"path": "\\ud83d"}', '{"path": "\ufffd"}'),
        ('{"path": "\\u0000"}', '{"path": "\\u0000"}'),
        ('{"path": "cut', ""),
        ("[1]", ""),
        ("[" * 100_000, ""),
    ],
)
def test_a_damaged_call_is_stored_as_json_or_not_at_all(text: str, stored: str) -> None:
    assert repaired(text) == stored


@given(st.text(max_size=60) | st.text("{}[]'\",:\\ ab1\n", max_size=60))
def test_any_text_is_an_object_or_a_sentence(text: str) -> None:
    try:
        told = repr(parsed(text))
    except ToolError as error:
        told = str(error)
    assert told.isprintable()


@given(st.dictionaries(st.text(min_size=1), JSON, min_size=1, max_size=4), st.data())
def test_an_object_that_was_cut_off_is_never_repaired(arguments: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(arguments)
    assert repair(text[: data.draw(st.integers(0, len(text) - 1))]) is None


def test_the_place_of_the_damage_is_quoted() -> None:
    told = refusal('{"path": "a" oops}')
    assert "Expecting ',' delimiter at character 14, near '{\"path\": \"a\" oops}'" in told


@pytest.mark.parametrize("text", ["[1]", "7", '"plain"', "true", '["{}"]'])
def test_what_is_no_object_is_refused(text: str) -> None:
    assert "arguments" in refusal(text)


def test_a_key_that_is_given_twice_is_refused() -> None:
    assert "'path' is given twice" in refusal('{"path": "a", "path": "b"}')


@pytest.mark.parametrize("text", ['{"offset": NaN}', '{"offset": -Infinity}'])
def test_numbers_that_are_no_json_are_refused(text: str) -> None:
    assert "is not JSON" in refusal(text)


def test_a_number_of_many_thousand_digits_is_refused() -> None:
    assert "read_file was not called" in refusal('{"offset": ' + "9" * 10_000 + "}")


@pytest.mark.parametrize("text", ['{"path": "a\\ud83d"}', '{"path": ["a\udc00"]}', '{"\\ud83d": 1}'])
def test_half_a_character_is_refused_and_named(text: str) -> None:
    told = refusal(text)
    assert "holds half a character (the lone surrogate U+D" in told
    assert told.isprintable()


def test_two_halves_make_a_character() -> None:
    assert parsed('{"path": "\\ud83d\\ude00"}') == {"path": "😀"}


def test_nul_and_text_of_any_direction_are_kept() -> None:
    assert parsed('{"path": "a\\u0000 \u202e שלום 漢字"}') == {"path": "a\0 \u202e שלום 漢字"}


def test_more_than_a_megabyte_is_refused_unread() -> None:
    assert "the arguments have 1,000,012 characters" in refusal('{"path": "' + "x" * 1_000_000 + '"}')


def test_nesting_without_end_is_refused() -> None:
    assert "nested too deeply" in refusal('{"path": ' + "[" * 400_000 + "]" * 400_000 + "}")


def test_an_unknown_name_is_answered_with_the_nearest_and_the_list() -> None:
    told = str(unknown_tool("ReadFile", ["write_file", "read_file", "terminal"]))
    assert told.startswith("there is no tool named 'ReadFile'; did you mean read_file")
    assert told.endswith("The tools are: read_file, terminal, write_file.")


def test_a_hostile_name_does_not_fill_the_answer() -> None:
    told = str(unknown_tool("\u202e\ud83d" * 100_000, []))
    assert told.endswith("There are no tools in this turn.")
    assert len(told) < 1_000
    assert told.isprintable()
