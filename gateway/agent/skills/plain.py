"""
The YAML that front matter mostly is, read fast: keys, nested keys, lists and scalars of the plain sort. Pure.

What it cannot be sure of it leaves to a real reader, by None. What it does return is what YAML says, with every scalar
as the text it is written as.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

Value: TypeAlias = "str | list[Value] | dict[str, Value]"

_FOREIGN = re.compile("[\t\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_KEY = re.compile(r"([A-Za-z_][\w.-]*):(?: +|$)(.*)", re.ASCII)
_PLAIN = re.compile(r"(?![\[\]{},#&*!|>'\"%@`]|[-?:](?: |$)|---|\.\.\.)(?!.*(?:: | #|:$)).+")
_QUOTED = re.compile(r"\"([^\"\\]*)\"|'((?:[^']|'')*)'")
_SIMPLE = re.compile(r"[A-Za-z0-9_][\w ./-]*(?:, ?[A-Za-z0-9_][\w ./-]*)*")
_ITEM = re.compile(r" *(?:\"([^\"\\]*)\" *|'([^']*)' *|([^\[\]{},#&*!|>'\"%@`?: -][^\[\]{},#:\"']*))(,|$)")
_BLOCKS = frozenset({">", ">-", "|", "|-"})
_DEEPEST = 16


class _Doubt(Exception):
    """This may be read otherwise."""


class _Line(NamedTuple):
    indent: int
    text: str
    number: int


_END = _Line(-1, "", -1)


def plain(text: str) -> dict[str, Value] | None:
    """Return what a mapping says, None where it takes a real reader to tell."""
    if _FOREIGN.search(text):
        return None
    rows = text.split("\n")
    lines = [
        _Line(len(row) - len(rest), rest.rstrip(" "), number)
        for number, row in enumerate(rows)
        if (rest := row.lstrip(" ")) and rest[0] != "#"
    ]
    try:
        reader = _Reader(lines, rows)
        value = reader.mapping(0, 0)
    except _Doubt:
        return None
    return value if reader.ended else None


class _Reader:
    def __init__(self, lines: list[_Line], rows: list[str]) -> None:
        self._lines, self._rows = [*lines, _END], rows
        self._at = 0

    @property
    def ended(self) -> bool:
        return self._lines[self._at] is _END

    def mapping(self, indent: int, depth: int) -> dict[str, Value]:
        """Read the keys that stand at this indentation."""
        found: dict[str, Value] = {}
        while (line := self._lines[self._at]).indent == indent and not line.text.startswith("- "):
            match = _KEY.fullmatch(line.text)
            if match is None or match[1] in found:
                raise _Doubt
            self._at += 1
            found[match[1]] = self._value(match[2], indent, depth)
        if line.indent > indent:
            raise _Doubt
        return found

    def _list(self, indent: int, depth: int) -> list[Value]:
        found: list[Value] = []
        while (line := self._lines[self._at]).indent == indent and line.text.startswith("- "):
            rest = line.text[1:].lstrip(" ")
            if _KEY.fullmatch(rest):
                inner = indent + len(line.text) - len(rest)
                self._lines[self._at] = _Line(inner, rest, line.number)
                found.append(self.mapping(inner, depth + 1))
            else:
                self._at += 1
                found.append(self._scalar(rest, indent))
        if line.indent > indent:
            raise _Doubt
        return found

    def _value(self, rest: str, indent: int, depth: int) -> Value:
        if rest:
            return self._block(rest, indent) if rest in _BLOCKS else self._scalar(rest, indent)
        line = self._lines[self._at]
        if depth > _DEEPEST:
            raise _Doubt
        if line.indent >= indent and line.text.startswith("- "):
            return self._list(line.indent, depth + 1)
        return self.mapping(line.indent, depth + 1) if line.indent > indent else ""

    def _scalar(self, text: str, indent: int) -> Value:
        if self._lines[self._at].indent > indent:
            raise _Doubt  # it goes on there
        if quoted := _QUOTED.fullmatch(text):
            return quoted[1] if quoted[1] is not None else quoted[2].replace("''", "'")
        if text[0] == "[":
            return _flow(text)
        if not _PLAIN.fullmatch(text):
            raise _Doubt
        return text

    def _block(self, mark: str, indent: int) -> str:
        """Read lines that are all equally far in, without anything else among them."""
        first = self._lines[self._at]
        said = []
        number = self._lines[self._at - 1].number + 1
        while (line := self._lines[self._at]).indent > indent:
            if line.indent != first.indent or line.number != number:
                raise _Doubt
            said.append(self._rows[number][line.indent :])
            self._at += 1
            number += 1
        if not said or any(self._rows[number : line.number if line is not _END else None]):
            raise _Doubt
        if any(row.endswith(" ") for row in said):
            raise _Doubt
        return (" " if mark[0] == ">" else "\n").join(said) + (
            "" if mark.endswith("-") or number == len(self._rows) else "\n"
        )


def _flow(text: str) -> list[Value]:
    inside = text[1:-1]
    if text[-1] != "]":
        raise _Doubt
    if _SIMPLE.fullmatch(inside):
        return [item.strip(" ") for item in inside.split(",")]
    found: list[Value] = []
    at, end = 0, ","
    while at < len(inside):
        match = _ITEM.match(inside, at)
        if match is None or end != ",":
            raise _Doubt
        double, single, bare = match.groups()[:3]
        found.append(bare.rstrip(" ") if bare is not None else double if double is not None else single)
        at, end = match.end(), match[4]
    if end == "," and (found or inside.strip()):
        raise _Doubt
    return found
