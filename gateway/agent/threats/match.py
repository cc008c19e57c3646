"""
Finds patterns in a text by one walk over its lexemes.

For each step only the latest place where it was taken is kept, which is the best one for every step after it. A step
is looked at where a lexeme can take it and the one before it was taken lately, so the work is the number of lexemes
times the few steps that are open for one, whatever the text is.
"""

from __future__ import annotations

from collections.abc import Set

from gateway.agent.threats.lexemes import ends, may_end, may_read_otherwise
from gateway.agent.threats.rules import BARRED, HEAD, Book

_NEVER = -(10**9)
_NONE = frozenset[int]()


def matching(book: Book, text: str, wanted: Set[str]) -> set[str]:
    """The wanted classes of which a pattern is in the folded text."""
    lexemes = book.lexer.findall(text)
    can = {
        lexeme: book.can(lexeme)
        for lexeme in set(lexemes)
        if lexeme in book.words or lexeme[:HEAD] in book.heads or may_read_otherwise(lexeme)
    }
    there = frozenset[int]().union(*can.values())
    possible = [
        (rule.name, needed)
        for rule, needed in zip(book.rules, book.needs, strict=True)
        if rule.name in wanted and needed <= there
    ]
    if not possible:
        return set()
    useful = book.bars.union(*(needed for _, needed in possible))
    taken = _walk(book, lexemes, {lexeme: numbers & useful for lexeme, numbers in can.items()})
    return {name for name, needed in possible if taken[max(needed)] >= 0}


def _walk(book: Book, lexemes: list[str], can: dict[str, frozenset[int]]) -> list[int]:
    """For each step the last place where it was taken, or a number below 0."""
    steps, after = book.steps, book.after
    taken, begun, opened = [_NEVER] * len(steps), [0, 0, 0], set[int]()
    known = {lexeme: (numbers, numbers & book.starts, ends(lexeme)) for lexeme, numbers in can.items() if numbers}
    known |= {lexeme: (_NONE, _NONE, ends(lexeme)) for lexeme in set(lexemes) - known.keys() if may_end(lexeme)}
    for place, lexeme in enumerate(lexemes):
        if lexeme not in known:
            continue
        numbers, starting, ended = known[lexeme]
        for kind in ended:
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
        for number in now:
            taken[number] = place
            opened |= after[number]
    return taken
