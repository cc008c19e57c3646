"""The references in what a person wrote. Pure, and linear in the length of the text.

In: the text of a message. Out: each reference once, in the order of the text. What stands in code is no reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice


class Kind(StrEnum):
    """What a reference leads to."""

    FILE = "file"
    FOLDER = "folder"
    DIFF = "diff"
    STAGED = "staged"
    GIT = "git"
    URL = "url"


@dataclass(frozen=True, slots=True)
class Reference:
    """
    One reference. `value` is a path, a number of commits or a URL, "" for diff and staged.

    `first` and `last` are the lines of a file that are meant, counted from 1; both are 0 where all of it is.
    """

    kind: Kind
    value: str = ""
    first: int = 0
    last: int = 0

    def __str__(self) -> str:
        lines = f":{self.first}-{self.last}" if self.first != self.last else f":{self.first}" if self.first else ""
        return f"@{self.kind}:{self.value}{lines}" if self.value else f"@{self.kind}"


_LONGEST = 4096
_LETTER = "A-Za-z0-9_\u00aa-\u024f\u0370-\u052f"
"""What words are written in that have spaces between them; 看@file:x is a reference, me@file:x is none."""
_BREAKS = "，。；！？、（）「」『』【】《》“”"
"""Punctuation that ends a name where no space does."""
_QUOTED = rf'"[^"\n]{{1,{_LONGEST}}}"|\'[^\'\n]{{1,{_LONGEST}}}\'|`[^`\n]{{1,{_LONGEST}}}`|“[^”\n]{{1,{_LONGEST}}}”'
_LINES = r":[0-9]{1,9}(?:-[0-9]{1,9})?"
_CODE = r"(?<!`)(?P<ticks>`{1,8})(?!`).{1,500}?(?<!`)(?P=ticks)(?!`)"
_FOUND = re.compile(
    rf"{_CODE}|(?<![{_LETTER}/])@(?:"
    rf"(?P<alone>diff|staged)(?![{_LETTER}/@-]|[.:][{_LETTER}])"
    rf"|(?P<kind>file|folder|git|url):(?:(?P<quoted>{_QUOTED})(?P<lines>{_LINES})?|(?P<bare>[^\s{_BREAKS}]{{1,{_LONGEST}}}))"
    r")"
)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_RANGED = re.compile(rf"(.+?)({_LINES})", re.DOTALL)
_AROUND = ",.;:!?\"'`*"
_CLOSERS = {")": "(", "]": "[", "}": "{", ">": "<"}


def references(text: str, most: int | None = None) -> tuple[Reference, ...]:
    """Return what a text refers to; the text is read no further than to the last of so many."""
    if "@" not in text:
        return ()
    found = (_reference(match) for line in _outside_fences(text) for match in _FOUND.finditer(line))
    return tuple(islice(_each_once(found), most))


def _each_once(found: Iterable[Reference | None]) -> Iterator[Reference]:
    seen = set[Reference]()
    for reference in found:
        if reference is not None and reference not in seen:
            seen.add(reference)
            yield reference


def _outside_fences(text: str) -> Iterator[str]:
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        elif mark and not (mark[1][0] == "`" and "`" in mark[2]):
            fence = mark[1]
        else:
            yield line


def _reference(match: re.Match[str]) -> Reference | None:
    if alone := match["alone"]:
        return Reference(Kind(alone))
    if match["kind"] is None:
        return None
    kind, value, lines = Kind(match["kind"]), match["bare"], ""
    if value is None:
        value, lines = match["quoted"][1:-1].strip(), match["lines"] or ""
    else:
        value = _trimmed(value)
        if kind is Kind.FILE and (ranged := _RANGED.fullmatch(value)):
            value, lines = ranged[1], ranged[2]
    if not value:
        return None
    if kind is not Kind.FILE or not lines:
        return Reference(kind, value)
    first, _, last = lines[1:].partition("-")
    return Reference(kind, value, int(first), int(last or first))


def _trimmed(value: str) -> str:
    """Take off what belongs to the sentence: punctuation, and brackets that were opened before the reference."""
    if len(value) > 2 and not value.strip("."):
        return ""
    left = {bracket: value.count(bracket) for pair in _CLOSERS.items() for bracket in pair}
    end = len(value)
    while end:
        last = value[end - 1]
        if last in _CLOSERS and left[last] > left[_CLOSERS[last]]:
            left[last] -= 1
        elif last not in _AROUND or value[max(0, end - 3) : end].rpartition("/")[2] in {".", ".."}:
            break
        end -= 1
    return value[:end]
