"""
Where in a text the findings of the scan are. Pure.

In: a text as it was written. Out: the parts of it that hold what `scan` finds, as whole lines; of a long line whole
sentences. What pages hide from the eye is a part to where it ends. Linear, as the scan is.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gateway.agent.threats.classes import CLASSES, Scope, wanted
from gateway.agent.threats.fold import traced
from gateway.agent.threats.invisible import hidden, named
from gateway.agent.threats.match import hits
from gateway.agent.threats.patterns import patterns

LONG = 300
"""Characters of a line from which on its sentences are looked at one by one."""
FAR = 2_000
"""Characters in which the end of what is hidden is looked for."""
_CLOSING = {"html_comment_injection": "-->", "hidden_div": "</"}
_SENTENCE = re.compile(r"(?<=[.!?;])[ \t]+|(?<=[。！？；｡])")


@dataclass(frozen=True, slots=True)
class Span:
    """`text[start:end]` holds what the ids name, each once, in the order of `scan`. Spans do not overlap."""

    start: int
    end: int
    ids: tuple[str, ...]

    @property
    def unseen(self) -> bool:
        """Whether it is nothing but characters that nobody sees."""
        return not any(name in CLASSES for name in self.ids)


@dataclass(slots=True)
class _Part:
    """Units of the text, by their numbers; both are in it."""

    first: int
    last: int
    names: set[str]


def spans(text: str, scope: Scope) -> list[Span]:
    """Return the parts of the text that hold the findings; all their ids together are what `scan` returns."""
    starts = _units(text)
    found, unseen = list[Span](), list(hidden(text))
    for part in _parts(text, starts, scope):
        start, end = starts[part.first], starts[part.last + 1] if part.last + 1 < len(starts) else len(text)
        inside = text[start:end]
        end -= len(inside) - len(inside.rstrip())
        start += len(inside) - len(inside.lstrip())
        found.append(Span(start, max(start, end), tuple(name for name in CLASSES if name in part.names)))
    return _with_unseen(text, found, unseen)


def _units(text: str) -> list[int]:
    """The beginnings of lines, and of sentences in long ones."""
    starts, at = list[int](), 0
    for line in text.split("\n"):
        starts.append(at)
        if len(line) > LONG:
            starts += [at + match.end() for match in _SENTENCE.finditer(line)]
        at += len(line) + 1
    return starts


def _parts(text: str, starts: list[int], scope: Scope) -> list[_Part]:
    """What the hits cover, in order; hits in the same or in neighbouring units are one part."""
    merged = list[_Part]()
    for start, end, name in sorted(_hits(text, scope)):
        first, last = bisect_right(starts, start) - 1, bisect_right(starts, end - 1) - 1
        if merged and first <= merged[-1].last + 1:
            merged[-1].last = max(merged[-1].last, last)
            merged[-1].names.add(name)
        else:
            merged.append(_Part(first, last, {name}))
    return merged


def _hits(text: str, scope: Scope) -> Iterator[tuple[int, int, str]]:
    folded, places = traced(text)
    book = patterns()
    lexemes = [(match.start(), match.end()) for match in book.lexer.finditer(folded)]
    for hit in hits(book, [folded[start:end] for start, end in lexemes], wanted(scope)):
        start, end = places[lexemes[hit.first][0]][0], places[lexemes[hit.last][1] - 1][1]
        closing = _CLOSING.get(hit.name, "")
        close = text.find(closing, end, end + FAR) if closing else -1
        yield start, end if close < 0 else close + len(closing), hit.name


def _with_unseen(text: str, found: list[Span], unseen: Iterable[int]) -> list[Span]:
    """Add characters nobody sees: to the span they are in, else each run of them as a span of its own."""
    begins = [span.start for span in found]
    inside, runs = defaultdict[int, set[str]](set), list[list[int]]()
    for place in unseen:
        number = bisect_right(begins, place) - 1
        if number >= 0 and place < found[number].end:
            inside[number].add(text[place])
        elif runs and runs[-1][1] == place:
            runs[-1][1] += 1
        else:
            runs.append([place, place + 1])
    for number, characters in inside.items():
        span = found[number]
        found[number] = Span(span.start, span.end, (*span.ids, *map(named, sorted(characters))))
    alone = [Span(start, end, tuple(map(named, sorted(set(text[start:end]))))) for start, end in runs]
    return sorted([*found, *alone], key=lambda span: span.start)
