"""
Finds patterns in a text by one walk over its lexemes.

For each step only the latest place where it was taken is kept, which is the best one for every step after it. A step
is looked at where a lexeme can take it and the one before it was taken lately, so the work is the number of lexemes
times the few steps that are open for one, whatever the text is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import NamedTuple

from gateway.agent.threats.lexemes import ends, may_end, may_read_otherwise
from gateway.agent.threats.rules import BARRED, HEAD, Book

_NEVER = -(10**9)
_NONE = frozenset[int]()


class Hit(NamedTuple):
    """A pattern of the class `name` from the lexeme `first` to the lexeme `last`."""

    name: str
    first: int
    last: int


def matching(book: Book, text: str, wanted: Set[str]) -> set[str]:
    """The wanted classes of which a pattern is in the folded text."""
    # Not findall, which keeps every other thread waiting until it is through: half a second over a long text.
    lexemes = [match[0] for match in book.lexer.finditer(text)]
    can = _can(book, lexemes)
    if not (possible := _possible(book, can, wanted)):
        return set()
    taken, _ = _walk(book, lexemes, _useful(book, can, possible.values()))
    return {book.rules[rule].name for rule, needed in possible.items() if taken[max(needed)] >= 0}


def hits(book: Book, lexemes: list[str], wanted: Set[str]) -> list[Hit]:
    """
    Where patterns of the wanted classes end, each from the latest place where it can have begun.

    A class is among them if and only if `matching` gives it.
    """
    can = _can(book, lexemes)
    if not (possible := _possible(book, can, wanted)):
        return []
    names = {max(needed): book.rules[rule].name for rule, needed in possible.items()}
    _, ended = _walk(book, lexemes, _useful(book, can, possible.values()), names.keys())
    return [Hit(names[step], first, last) for step, first, last in ended]


def _can(book: Book, lexemes: list[str]) -> dict[str, frozenset[int]]:
    """The steps that each lexeme can take."""
    return {
        lexeme: book.can(lexeme)
        for lexeme in set(lexemes)
        if lexeme in book.words or lexeme[:HEAD] in book.heads or may_read_otherwise(lexeme)
    }


def _possible(book: Book, can: Mapping[str, frozenset[int]], wanted: Set[str]) -> dict[int, frozenset[int]]:
    """The wanted rules all of whose steps some lexeme can take, each with its steps."""
    there = frozenset[int]().union(*can.values())
    return {
        rule: needed for rule, needed in enumerate(book.needs) if book.rules[rule].name in wanted and needed <= there
    }


def _useful(
    book: Book, can: Mapping[str, frozenset[int]], possible: Iterable[frozenset[int]]
) -> dict[str, frozenset[int]]:
    useful = book.bars.union(*possible)
    return {lexeme: numbers & useful for lexeme, numbers in can.items()}


def _walk(
    book: Book, lexemes: list[str], can: dict[str, frozenset[int]], watched: Set[int] = _NONE
) -> tuple[list[int], list[tuple[int, int, int]]]:
    """For each step the last place where it was taken, or a number below 0; each time that a watched one was, whence.

    The second is a step, the place where its way began, and the place where it was taken.
    """
    steps, after = book.steps, book.after
    taken, begun, opened = [_NEVER] * len(steps), [0, 0, 0], set[int]()
    whence, ended = dict[int, int](), list[tuple[int, int, int]]()
    known = {lexeme: (numbers, numbers & book.starts, ends(lexeme)) for lexeme, numbers in can.items() if numbers}
    known |= {lexeme: (_NONE, _NONE, ends(lexeme)) for lexeme in set(lexemes) - known.keys() if may_end(lexeme)}
    for place, lexeme in enumerate(lexemes):
        if lexeme not in known:
            continue
        numbers, starting, closing = known[lexeme]
        for kind in closing:
            begun[kind] = place
        if not starting and numbers.isdisjoint(opened):
            continue
        now = []
        for number in numbers & opened | starting:
            before, reach, bar, within = steps[number]
            if before is not None and taken[before] < max(place - reach, begun[within]):
                opened.discard(number)
            elif bar is None or taken[bar] < max(place - BARRED, begun[within]):
                now.append(number)
        if watched:
            firsts = [(number, _first(steps[number].before, place, whence)) for number in now]
            whence.update(firsts)
            ended += [(number, first, place) for number, first in firsts if number in watched]
        for number in now:
            taken[number] = place
            opened |= after[number]
    return taken, ended


def _first(before: int | None, place: int, whence: Mapping[int, int]) -> int:
    return place if before is None else whence[before]
