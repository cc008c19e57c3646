"""``.env``, the environment, and ``${NAME}`` in the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.config import ConfigErrors
from gateway.config.document import parse
from gateway.config.node import Origin, Source, leaves, plain
from gateway.config.variables import expand, gather
from gateway.errors import ConfigError

FILE = Origin(Source.FILE, "config.yaml")


def expanded(text: str, **environ: str) -> object:
    return plain(expand(parse(text, FILE), gather(environ, Path("/nowhere/.env"))))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("${NAME}", "value"),
        ('"${NAME}"', "value"),
        ("a-${NAME}-b", "a-value-b"),
        ("${NAME}${NAME}", "valuevalue"),
        ("${GONE}", ""),
        ("${GONE:-else}", "else"),
        ("${GONE:-}", ""),
        ("${EMPTY}", ""),
        ("${EMPTY:-else}", "else"),
        ("${NAME:-else}", "value"),
        ('"${GONE:-http://x:1/y?z=1}"', "http://x:1/y?z=1"),
        ("$${NAME}", "${NAME}"),
        ("$NAME", "$NAME"),
        ("$(NAME)", "$(NAME)"),
        ("${NO NAME}", "${NO NAME}"),
        ("${1}", "${1}"),
        ("pa$$word", "pa$$word"),
    ],
)
def test_a_variable_stands_in_for_its_name(written: str, meant: str) -> None:
    assert expanded(f"k: {written}\n", NAME="value", EMPTY="") == {"k": meant}


def test_what_comes_out_of_a_variable_is_not_expanded_again() -> None:
    assert expanded("k: ${A}\n", A="${B}", B="secret") == {"k": "${B}"}


def test_what_comes_out_of_a_variable_is_text_and_no_yaml() -> None:
    assert expanded("k: ${A}\nl: [x]\n", A="1, {b: c}\nroot: true") == {"k": "1, {b: c}\nroot: true", "l": ["x"]}


def test_variables_stand_in_lists_and_mappings_too() -> None:
    assert expanded("a: ['${X}', {b: '${X}'}]\n", X="1") == {"a": ["1", {"b": "1"}]}


def test_keys_are_not_expanded() -> None:
    assert expanded("${X}: 1\n", X="a") == {"${X}": 1}


def test_a_value_remembers_which_variables_were_missing() -> None:
    tree = expand(parse("k: ${A}${B:-x}${C}\n", FILE), gather({}, Path("/nowhere/.env")))
    assert [leaf.unset for _, leaf in leaves(tree)] == [("A", "C")]


DOTENV = """\
# a comment
PLAIN=value
export EXPORTED=value   # with a comment

QUOTED="two words # and no comment"
SINGLE='it is $HOME'
DOLLAR=pa$$w${PLAIN}rd
EMPTY=
UNICODE="東京 🤖 مرحبا"
LINES="first
second"
"""


def test_dotenv_is_read_to_the_letter(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(DOTENV, "utf-8")
    variables = gather({}, tmp_path / ".env")
    assert {variable.name: variable.value for variable in variables} == {
        "PLAIN": "value",
        "EXPORTED": "value",
        "QUOTED": "two words # and no comment",
        "SINGLE": "it is $HOME",
        "DOLLAR": "pa$$w${PLAIN}rd",
        "EMPTY": "",
        "UNICODE": "東京 🤖 مرحبا",
        "LINES": "first\nsecond",
    }
    found = variables.get("QUOTED")
    assert found is not None
    assert str(found.origin) == "QUOTED .env:5:1"


def test_the_environment_wins_over_dotenv(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=dotenv\nB=dotenv\n")
    variables = gather({"A": "environment"}, tmp_path / ".env")
    values = {name: found.value for name in ("A", "B") if (found := variables.get(name))}
    assert values == {"A": "environment", "B": "dotenv"}
    assert variables.get("C") is None


def test_every_line_of_dotenv_that_is_none_is_named_and_not_quoted(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=1\n\nhunter2 is my password\nB='hunter2\nC=1\n")
    with pytest.raises(ConfigErrors) as raised:
        gather({}, tmp_path / ".env")
    assert str(raised.value).splitlines() == [".env:3:1: not NAME=value", ".env:4:1: not NAME=value"]


def test_a_dotenv_that_is_no_text_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"A=1\nB=xyz\xe9\n")
    with pytest.raises(ConfigError, match=r"^\.env:2:1: not UTF-8 text$"):
        gather({}, tmp_path / ".env")
    (tmp_path / ".env").unlink()
    (tmp_path / ".env").mkdir()
    with pytest.raises(ConfigError, match=r"^\.env: cannot be read: Is a directory$"):
        gather({}, tmp_path / ".env")
