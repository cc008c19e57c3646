"""Cuts folded text into what patterns are made of: words, and the few signs that carry a meaning here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gateway.agent.threats.scripts import UNSPACED

SENTENCE, LINE, MARKUP = range(3)
"""What ends where a pattern must not reach over: a sentence or paragraph, a line, a comment or tag."""

_UNSPACED = re.compile(f"[{UNSPACED}]")
_LETTERS = rf"[^\W{UNSPACED}]"
_SIGNS = (
    r"(?<!\\)\n\s*+(?:(?:[-*+•#>]|\d{1,3}[.)])\s)?",  # the end of a line, with a bullet that follows
    r"\$[({]?[a-z0-9_]+",
    r"(?<![a-z0-9_])\.[a-z0-9_]+(?:\.[a-z0-9_]+)*+",  # .env, but not the end of a file's name
    r"<!--|-->|>>|[<>=:]",
    rf"(?<![.])[.](?!\.|{_LETTERS})|[!?;]+(?![a-z0-9_])|。",  # the end of a sentence; "..." is none
)
_OPAQUE = re.compile(r"(?=[a-z_]*\d)(?=[\d_]*[a-z])[a-z0-9_]{16,}")
_SECRET = re.compile(r"\$[({]?\w*(?:key|token|secret|passw|credential|api)")
_STOP = re.compile("[.!?;。]+")
_NAMES = ("key", "token", "secret", "password", "passwd")
_NAME = re.compile(r"(?:\w*_)?(?:api_?key|key|token|secret|password|passwd)")


def lexer(vocabulary: Iterable[str]) -> re.Pattern[str]:
    """What finds a text's lexemes. In scripts without spaces they are words of the vocabulary, the longest first."""
    tree = _tree(sorted(word for word in vocabulary if _UNSPACED.match(word)))
    words = (rf"(?=[{''.join(tree)}])(?:{'|'.join(_spans(tree))})",) if tree else ()
    return re.compile("|".join((r"https?://", rf"{_LETTERS}++(?:'{_LETTERS}++)?", *words, f"[{UNSPACED}]", *_SIGNS)))


def may_read_otherwise(lexeme: str) -> bool:
    """Whether `readings` is worth asking."""
    return lexeme[0] in "$._" or len(lexeme) >= 16 or lexeme.endswith(_NAMES)


def readings(lexeme: str) -> tuple[str, ...]:
    """The lexeme, and what else it may be taken for.

    `$secret`, `#name`, `#opaque`; the word in `.word` or `__word__`; shorter words in one of a script without spaces.
    """
    if _UNSPACED.match(lexeme):
        places = range(len(lexeme) + 1)
        return tuple(lexeme[start:end] for start in places for end in places[start + 1 :])
    if lexeme[0] == "$":
        return (lexeme, "$secret") if _SECRET.match(lexeme) else (lexeme,)
    if lexeme[0] in "._":
        return lexeme, lexeme.strip("._")
    if lexeme.endswith(_NAMES):
        return (lexeme, "#name") if _NAME.fullmatch(lexeme) else (lexeme,)
    return (lexeme, "#opaque") if _OPAQUE.fullmatch(lexeme) else (lexeme,)


def may_end(lexeme: str) -> bool:
    """Whether `ends` is worth asking."""
    return lexeme[0] in "\n>-.!?;。"


def ends(lexeme: str) -> tuple[int, ...]:
    """What the lexeme puts an end to: some of SENTENCE, LINE, MARKUP."""
    if lexeme[0] == "\n":
        return (LINE,) if lexeme.strip(" \t") == "\n" else (LINE, SENTENCE)
    if lexeme in {"-->", ">"}:
        return (MARKUP,)
    return (SENTENCE,) if _STOP.fullmatch(lexeme) else ()


_Tree = dict[str, "_Tree"]


def _tree(words: Iterable[str]) -> _Tree:
    root: _Tree = {}
    for word in words:
        node = root
        for character in word:
            node = node.setdefault(character, {})
        node[""] = {}
    return root


def _spans(tree: _Tree) -> Iterator[str]:
    """The words in spans of first characters, so that few need be tried in turn."""
    characters = list(tree)
    for start in range(0, len(characters), 12):
        firsts = characters[start : start + 12]
        yield rf"(?=[{firsts[0]}-{firsts[-1]}]){_render({first: tree[first] for first in firsts})}"


def _render(node: _Tree) -> str:
    """The words of a tree as an expression that tries each character once."""
    ways = [f"{character}{_render(below)}" for character, below in node.items() if character]
    if not ways:
        return ""
    return f"(?:{'|'.join(ways)}){'?' if '' in node else ''}"
