"""
The patterns, a module for each language and for what is the same in all. `rules` explains how they are written.

A new one is a line in its module, and at the same place in the tests' data a text it finds and one it lets pass.
"""

from __future__ import annotations

from functools import cache
from itertools import chain

from gateway.agent.threats.lexemes import LINE, MARKUP, SENTENCE
from gateway.agent.threats.patterns import (
    chinese,
    english,
    german,
    japanese,
    korean,
    markup,
    names,
    russian,
    shell,
    spanish,
)
from gateway.agent.threats.rules import Book, Rule, book

MODULES = {
    english: SENTENCE,
    chinese: SENTENCE,
    japanese: SENTENCE,
    korean: SENTENCE,
    russian: SENTENCE,
    spanish: SENTENCE,
    german: SENTENCE,
    names: SENTENCE,
    shell: LINE,
    markup: MARKUP,
}
"""Where the patterns of a module end at the latest."""


@cache
def patterns() -> Book:
    """All of them, read when they are first wanted."""
    return book(
        (Rule(name, pattern, within) for module, within in MODULES.items() for name, pattern in module.PATTERNS),
        chain(chinese.DECOYS, japanese.DECOYS, korean.DECOYS),
    )
