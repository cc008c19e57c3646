"""YAML with places: where things stand, and what is said of what is no YAML. A value is never said."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.config.document import LONGEST, parse, parse_value, read
from gateway.config.node import Branch, ConfigErrors, Items, Leaf, Node, Origin, Source, find, leaves, plain
from gateway.errors import ConfigError

FILE = Origin(Source.FILE, "config.yaml")


def at(tree: Node, *path: str) -> tuple[str, str]:
    """Where a key and its value stand."""
    entry = find(tree, path)
    assert entry is not None
    return str(entry.key), str(entry.node.origin)


def test_every_key_and_value_knows_its_line_and_column() -> None:
    tree = parse("a: 1\nb:\n  c:  [x, {d: y}]\n", FILE)
    assert at(tree, "a") == ("config.yaml:1:1", "config.yaml:1:4")
    assert at(tree, "b", "c") == ("config.yaml:3:3", "config.yaml:3:7")
    assert at(tree, "b", "c", "0")[1] == "config.yaml:3:8"
    assert at(tree, "b", "c", "1", "d") == ("config.yaml:3:12", "config.yaml:3:15")


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "~", "---\n", "\ufeff"])
def test_an_empty_document_is_empty(text: str) -> None:
    assert plain(parse(text.removeprefix("\ufeff"), FILE)) == {}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("off", "off"),
        ("yes", "yes"),
        ("12:30", "12:30"),
        ("2026-01-01", "2026-01-01"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("0x10", 16),
        ("0o17", 15),
        ("012", 12),
        ("-5", -5),
        ("1_000", 1000),
        ("1.5", 1.5),
        ("1e9", 1e9),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("1e999", "1e999"),
        ("9" * 50, "9" * 50),
        ("'5'", "5"),
        ('"é🤖"', "é🤖"),
        ("مرحبا 東京", "مرحبا 東京"),
    ],
)
def test_a_scalar_is_what_yaml_1_2_makes_of_it(written: str, meant: object) -> None:
    value = plain(parse(f"k: {written}\n", FILE))
    assert value == {"k": meant}
    assert isinstance(value, dict)
    assert type(value["k"]) is type(meant)


def test_a_file_that_asks_for_yaml_1_1_gets_it() -> None:
    assert plain(parse("%YAML 1.1\n---\na: yes\nb: off\n", FILE)) == {"a": True, "b": False}


def test_keys_are_kept_as_spelled() -> None:
    assert plain(parse('-100123: a\n1.0: b\ntrue: c\nnull: d\n"x.y": e\n', FILE)) == {
        "-100123": "a",
        "1.0": "b",
        "true": "c",
        "null": "d",
        "x.y": "e",
    }


def test_anchors_and_merged_mappings_are_read() -> None:
    tree = parse("base: &b {x: 1, y: 2}\nover:\n  <<: *b\n  y: 3\nsame: *b\n", FILE)
    assert plain(tree) == {"base": {"x": 1, "y": 2}, "over": {"x": 1, "y": 3}, "same": {"x": 1, "y": 2}}


def test_an_anchor_may_be_used_anew() -> None:
    assert plain(parse("a: &x 1\nb: &x 2\nc: *x\n", FILE)) == {"a": 1, "b": 2, "c": 2}


def test_of_several_merged_mappings_the_first_wins() -> None:
    assert plain(parse("a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b]}\n", FILE)) == {
        "a": {"x": 1},
        "b": {"x": 2, "y": 2},
        "c": {"x": 1, "y": 2},
    }


def test_each_duplicate_is_named_with_the_line_of_the_first() -> None:
    with pytest.raises(ConfigErrors) as raised:
        parse("a: 1\nb: {c: 1, c: 2}\na: 2\na: 3\n", FILE)
    assert str(raised.value).splitlines() == [
        "config.yaml:2:11: b.c: already set in line 2",
        "config.yaml:3:1: a: already set in line 1",
        "config.yaml:4:1: a: already set in line 1",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [hunter2", "config.yaml:1:12: not YAML: a bracket that does not end"),
        ("a: {b: hunter2", "config.yaml:1:15: not YAML: a bracket that does not end"),
        ("a:\n\t- hunter2", "config.yaml:2:1: not YAML: a character that cannot begin a value"),
        ("a: @hunter2", "config.yaml:1:4: not YAML: a character that cannot begin a value"),
        ("a: `hunter2`", "config.yaml:1:4: not YAML: a character that cannot begin a value"),
        ("a: hunter2: c", "config.yaml:1:11: not YAML: a ':' where none can stand"),
        ("a: *hunter2", "config.yaml:1:4: not YAML: a value that begins with '*' needs quotes"),
        ("a: 'hunter2", "config.yaml:1:12: not YAML: a quote that does not end"),
        ('a: "hunter2', "config.yaml:1:12: not YAML: a quote that does not end"),
        ('a: "\\q hunter2"', "config.yaml:1:6: not YAML: an unknown escape in double quotes"),
        ("a: 1\nhunter2\n", "config.yaml:3:1: not YAML: a key without its ':'"),
        ("a: 1\n b: hunter2\n", "config.yaml:2:3: not YAML: a ':' where none can stand"),
        ("a:\n  b: 1\n c: hunter2\n", "config.yaml:3:2: not YAML: indented differently from the lines before it"),
        ("a: 1\n---\nb: hunter2\n", "config.yaml:2:1: not YAML: a second document ('---')"),
        ("%hunter2\n", "config.yaml:2:1: not YAML: a mistake in the notation"),
        ("a: !hunter2 x", "config.yaml:1:4: a: a value that begins with '!' needs quotes"),
        ("- hunter2", "config.yaml:1:1: expects keys with values, not a list or a single value"),
        ("hunter2", "config.yaml:1:1: expects keys with values, not a list or a single value"),
        ("? [hunter2]\n: 1\n", "config.yaml:1:3: a key must be one word or text"),
        ("a: &a [*a, hunter2]", "config.yaml:1:4: a.0: holds itself"),
        ("a: {<<: hunter2}", "config.yaml:1:9: a.<<: expects a mapping"),
        ('a: "\\ud800 hunter2"', "config.yaml:1:4: a: holds half of a character (a lone surrogate)"),
        ("a: hun\0ter2", "config.yaml:1:7: the character U+0000 cannot stand in YAML"),
        ("k: 1\na: \x07hunter2", "config.yaml:2:4: the character U+0007 cannot stand in YAML"),
    ],
)
def test_what_is_no_yaml_is_one_sentence_at_its_place_that_does_not_quote(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse(text, FILE)
    first, *others = str(raised.value).splitlines()
    assert first.startswith(said)
    assert "hunter2" not in first.replace(said, "")
    assert others == []


@pytest.mark.parametrize("text", ["[" * 1500, "a: " + "{b: " * 3000, "- " * 5000 + "x"])
def test_a_document_nested_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="nested too deeply"):
        parse(text, FILE)


def test_aliases_that_multiply_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(ConfigError, match="more than 50000 values"):
        parse("\n".join(lines), FILE)


def test_a_file_that_is_not_utf_8_names_the_place(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_bytes("a: é\nb: xyz".encode() + b"\xe9\n")
    with pytest.raises(ConfigError, match=r"^config\.yaml:2:7: not UTF-8 text$"):
        read(file)


def test_a_byte_order_mark_and_windows_line_ends_are_no_matter(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: [x,\r\n  y]\r\n")
    tree = read(file)
    assert plain(tree) == {"a": 1, "b": ["x", "y"]}
    assert at(tree, "b")[0] == "config.yaml:2:1"


def test_a_file_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert plain(read(tmp_path / "config.yaml")) == {}


def test_a_directory_and_a_huge_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read(tmp_path)
    (tmp_path / "config.yaml").write_bytes(b"#" * (LONGEST + 1))
    with pytest.raises(ConfigError, match=r"config\.yaml: is larger than 4 MB"):
        read(tmp_path / "config.yaml")


def test_a_value_of_a_variable_comes_from_the_variable_altogether() -> None:
    origin = Origin(Source.ENVIRONMENT, name="X")
    node = parse_value("{a: [1, 2], b: x}", origin)
    assert isinstance(node, Branch)
    assert {leaf.origin for _, leaf in leaves(node)} == {origin}
    items = parse_value("[a]", origin)
    assert isinstance(items, Items)
    assert isinstance(items.nodes[0], Leaf)
