"""The place in a message that fits a query, marked, with some text around it. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import pairwise

from gateway.sessions.search.query import Query
from gateway.storage.text import Kind, fold, pieces

OPEN, CLOSE, CUT = ">>>", "<<<", "..."
"""The reference's marks."""
SNIPPET_CHARS = 240
LOOKED_AT = 20_000
"""Characters in which the place is looked for at first; the rest of a longer text only where it is not there."""

TOGETHER = 8
"""Characters that make one letter, at most."""


def snippet(text: str, query: Query, chars: int = SNIPPET_CHARS) -> str:
    """Return the part of the text with most that fits, on one line; its beginning where nothing does."""
    for looked_at in (text[:LOOKED_AT], text):
        marks = _marks(looked_at, query)
        if marks or len(text) <= LOOKED_AT:
            break
    first = _densest(marks, chars) if marks else 0
    start = max(0, first - chars // 3)
    end = min(len(text), start + chars)
    start = max(0, end - chars)
    return _shown(text, [mark for mark in marks if start <= mark[0] and mark[1] <= end], start, end)


def _marks(text: str, query: Query) -> list[tuple[int, int]]:
    """Return where something of the query stands in the text, from and to, without overlap."""
    folded, begins, ends = _folded(text)
    found = sorted((begins[first], ends[last - 1]) for first, last in _found(folded, query) if last > first)
    marks: list[tuple[int, int]] = []
    for first, last in found:
        if marks and first <= marks[-1][1]:
            marks[-1] = (marks[-1][0], max(last, marks[-1][1]))
        else:
            marks.append((first, last))
    return marks


def _folded(text: str) -> tuple[str, list[int], list[int]]:
    """Fold piece by piece, so that it is known where in the text each folded letter begins and ends."""
    if text.isascii():
        return text.lower(), list(range(len(text))), list(range(1, len(text) + 1))
    folded, begins, ends = list[str](), list[int](), list[int]()
    for begin, end in pairwise((*_begins(text), len(text))):
        for one in fold(text[begin:end]):
            folded.append(one)
            begins.append(begin)
            ends.append(end)
    return "".join(folded), begins, ends


def _begins(text: str) -> Iterator[int]:
    """Yield where each letter begins, which has with it what is folded together with it, such as its marks."""
    alone = {letter: fold(letter) for letter in set(text)}
    simple = "".join(alone[letter] for letter in text) == fold(text)
    begin, before = 0, alone[text[0]]
    yield begin
    for place, letter in enumerate(text[1:], 1):
        own = alone[letter]
        if not own:
            continue
        apart = together = before + own
        may_join = not simple and not letter.isascii() and place - begin < TOGETHER
        if may_join:
            together = fold(text[begin : place + 1])
        if together == apart and not (may_join and unicodedata.combining(letter)):
            begin, before = place, own
            yield begin
        else:
            before = together


def _found(folded: str, query: Query) -> Iterator[tuple[int, int]]:
    words = {word for stretch in query.stretches for word in stretch.words}
    starts = tuple(stretch.words[-1] for stretch in query.stretches if stretch.prefix)
    letters = set(query.letters)
    for piece in pieces(folded):
        if piece.kind is Kind.WORD:
            if piece.text in words or (starts and piece.text.startswith(starts)):
                yield piece.start, piece.start + len(piece.text)
            continue
        for place, letter in enumerate(piece.text, piece.start):
            if letter in letters:
                yield place, place + 1
            if folded[place : place + 2] in words:
                yield place, place + 2


def _densest(marks: list[tuple[int, int]], chars: int) -> int:
    """Return where the mark begins from which on most of them fit into so many characters."""
    best, most, last = 0, 0, 0
    for place, (first, _) in enumerate(marks):
        while last < len(marks) and marks[last][1] - first <= chars * 2 // 3:
            last += 1
        if last - place > most:
            best, most = place, last - place
    return marks[best][0]


def _shown(text: str, marks: list[tuple[int, int]], start: int, end: int) -> str:
    parts, at = list[str](), start
    for first, last in marks:
        parts += [text[at:first], OPEN, text[first:last], CLOSE]
        at = last
    parts.append(text[at:end])
    line = " ".join("".join(parts).split())
    return f"{CUT if start else ''}{line}{CUT if end < len(text) else ''}"
