"""
The patterns' small language, read into steps.

A pattern is what must stand in a text in this order: `ignore|skip ~3 earlier ~2 instruction*`. `|` parts the words
that will do, `*` stands for any ending (of words in scripts with spaces), `~3` lets up to three lexemes lie between.
`!not|never` before words means: unless one of these is among the two lexemes before. `$secret` is a shell variable
named like one, `#name` a name that a secret is given to, `#opaque` a long word of letters and digits.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from gateway.agent.threats.fold import fold
from gateway.agent.threats.lexemes import lexer, readings

BARRED = 2
"""How many lexemes a word after `!` reaches ahead."""
HEAD = 3
"""A word with `*` has at least so many letters before it."""


class Rule(NamedTuple):
    """One pattern of a class, and what it does not reach over (`lexemes.SENTENCE`, `LINE`, `MARKUP`)."""

    name: str
    pattern: str
    within: int


class Step(NamedTuple):
    """A place in patterns, the same for all that begin alike: steps are known by their numbers.

    It is taken where the step `before` was, at most `reach` lexemes ago, and the step `bar` was not, `BARRED` ago.
    """

    before: int | None
    reach: int
    bar: int | None
    within: int


@dataclass
class Book:
    """All patterns: the steps that a word (or the beginning of one) can take, and the steps that each rule needs."""

    rules: tuple[Rule, ...]
    needs: list[frozenset[int]] = field(default_factory=list)
    """For each rule; the highest of them is its last."""
    steps: list[Step] = field(default_factory=list)
    after: list[set[int]] = field(default_factory=list)
    """For each step those that may follow it."""
    starts: set[int] = field(default_factory=set)
    """The steps with which a rule, or what bars one, begins."""
    bars: set[int] = field(default_factory=set)
    """The steps of what follows `!`: a rule does not need them."""
    words: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    stems: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    heads: set[str] = field(default_factory=set)
    """The first letters of the stems."""
    longest: int = 0
    """How many letters the longest stem has."""
    lexer: re.Pattern[str] = field(init=False)
    known: dict[str, frozenset[int]] = field(default_factory=dict)
    """What each word can: a text of nothing but such words is the one that costs most."""

    def can(self, lexeme: str) -> frozenset[int]:
        """The steps that the lexeme can take."""
        if lexeme in self.known:
            return self.known[lexeme]
        found = set[int]()
        for reading in readings(lexeme):
            found.update(self.words.get(reading, ()))
        if lexeme[:HEAD] in self.heads:
            for length in range(HEAD, min(len(lexeme), self.longest) + 1):
                found.update(self.stems.get(lexeme[:length], ()))
        return frozenset(found)


def book(rules: Iterable[Rule], decoys: Iterable[str] = ()) -> Book:
    """Read the rules; decoys are words of scripts without spaces that only hold one of the patterns' words."""
    made = Book(tuple(rules))
    known: dict[tuple[str, Step], int] = {}
    for rule in made.rules:
        needed, before, bar = set[int](), None, None
        for words, reach in _places(rule.pattern):
            if not reach:
                bar = _number(made, known, words, Step(None, 0, None, rule.within))
                made.bars.add(bar)
                continue
            before = _number(made, known, words, Step(before, reach, bar, rule.within))
            needed.add(before)
            bar = None
        made.needs.append(frozenset(needed))
    made.heads = {stem[:HEAD] for stem in made.stems}
    made.longest = max(map(len, made.stems), default=0)
    made.known = {word: made.can(word) for word in made.words}
    made.lexer = lexer([*made.words, *map(fold, decoys)])
    return made


def _number(made: Book, known: dict[tuple[str, Step], int], words: str, step: Step) -> int:
    """The step's number; a new one is entered under its words."""
    number = known.setdefault((words, step), len(made.steps))
    if number == len(made.steps):
        made.steps.append(step)
        made.after.append(set())
        (made.starts if step.before is None else made.after[step.before]).add(number)
        for word in words.split("|"):
            if word.endswith("*"):
                made.stems[word[:-1]].add(number)
            else:
                made.words[word].add(number)
    return number


def _places(pattern: str) -> Iterator[tuple[str, int]]:
    """Words, and how many lexemes behind the place before them may lie: 0 for words that bar the ones after them."""
    gap = 0
    for part in map(fold, pattern.split()):
        if part[0] == "~":
            gap = int(part[1:])
        elif part[0] == "!":
            yield part[1:], 0
        else:
            yield part, gap + 1
            gap = 0
