"""
From a text of any script to what is looked for in it. Pure; it makes the index and the terms of a query alike.

Letters are folded: case, width, ligatures, diacritics, ё and е. Words of scripts with spaces are one term each.
Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese are written without spaces or glue endings to words: there every
two letters that stand side by side are a term, so that a word of any length is found wherever it stands, and each
letter is kept apart for words of one. Where scripts meet a new term begins. All else only divides.

The database keeps no copy of these terms and makes them again to take them out: whoever changes what comes out here
has to have every message indexed anew, by a revision.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import orjson

TERM_CHARS = 64
"""What is longer is no word, but a key or a picture; its beginning is enough to find it."""
RESULT_HEAD, RESULT_TAIL = 2000, 500
"""Characters of a tool's result that can be found: its beginning and its end."""
ARGUMENT_CHARS = 1000
"""Characters of a call's arguments that can be found."""

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u1100-\u11ff\uac00-\ud7ff"  # Korean
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\ua4cf\uf900-\ufaff\U00020000-\U0003ffff"
)
SIGNS = "\u2600-\u27bf\U0001f000-\U0001faff"
"""Emoji: each is a term by itself."""
MARKS = (
    "\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3\u0900-\u0963\u0966-\u096f\u0971-\u0dff\u0f35\u0f37\u0f39\u0f3e-\u0fbc"
    "\u1712-\u1734\u1a17-\u1a1b\u1b00-\u1b4b\ua823-\ua827\ua8b4-\ua8c5\ua980-\ua9c0\uabe3-\uabed\U00011000-\U00011fff"
)
"""Vowels that are no letters to Unicode, and yet parts of words; whole scripts where that is simpler."""

_TERM = re.compile(
    f"(?P<run>[{UNSPACED}]+)|(?P<sign>[{SIGNS}])|(?P<latin>[0-9a-z\u00df-\u00f6\u00f8-\u024f\u1e00-\u1eff]+)"
    rf"|(?P<word>(?:[^\W_{UNSPACED}{SIGNS}]|[{MARKS}])+)"
)
_ASCII_TERM = re.compile("[0-9a-z]+")
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff]")
_DIACRITIC = re.compile("[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]")
_ALIKE = {
    "ı": "i",
    "ł": "l",
    "ø": "o",
    "đ": "d",
    "ð": "d",
    "ħ": "h",
    "æ": "ae",
    "œ": "oe",
    "ي": "ی",
    "ى": "ی",
    "ك": "ک",
}
_ODD = re.compile(f"[{''.join(_ALIKE)}]")


class Kind(Enum):
    """A run is written without spaces; everything else is a word."""

    WORD = "word"
    RUN = "run"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a folded text, and where in it."""

    kind: Kind
    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Terms:
    """What is indexed of a text: its terms in their order, and the letters of its runs, each once."""

    words: tuple[str, ...]
    letters: tuple[str, ...]


def fold(text: str) -> str:
    """Return a text in which what people take for the same letter is the same."""
    if text.isascii():
        return text.lower()
    text = _UNSEEN.sub("", unicodedata.normalize("NFKC", text).casefold())
    text = _DIACRITIC.sub("", unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFC", _ODD.sub(lambda odd: _ALIKE[odd[0]], text))


def pieces(folded: str) -> Iterator[Piece]:
    """Yield the words and runs of a folded text."""
    for found in _TERM.finditer(folded):
        kind = Kind.RUN if found.lastgroup == "run" else Kind.WORD
        yield Piece(kind, found[0], found.start())


def pairs(run: str) -> tuple[str, ...]:
    """Return every two letters of a run that stand side by side; the letter, where there is but one."""
    return tuple(map(str.__add__, run, run[1:])) or (run,)


def terms_of(text: str) -> Terms:
    """Return all that can be looked for in a text."""
    folded = fold(text)
    if folded.isascii():
        return Terms(tuple(term[:TERM_CHARS] for term in _ASCII_TERM.findall(folded)), ())
    words: list[str] = []
    letters: set[str] = set()
    for found in _TERM.finditer(folded):
        if found.lastgroup == "run":
            words += pairs(found[0])
            letters.update(found[0])
        else:
            words.append(found[0][:TERM_CHARS])
    return Terms(tuple(words), tuple(sorted(letters)))


def findable(role: str, text: str, calls: Iterable[tuple[str, str]], redact: Callable[[str], str] = str) -> str:
    """
    Return what of a message is indexed: all of what people and the agent say; of the machine's part a beginning.

    `calls` are names and arguments of the tools it called. `redact` is asked of a text before it is cut.
    """
    text = redact(text)
    if role == "tool" and len(text) > RESULT_HEAD + RESULT_TAIL:
        text = f"{text[:RESULT_HEAD]}\n{text[-RESULT_TAIL:]}"
    called = (f"{name} {redact(_readable(arguments))[:ARGUMENT_CHARS]}" for name, arguments in calls)
    return "\n".join([text, *called])


def _readable(arguments: str) -> str:
    """Return the arguments of a call as one reads them, ``name: value``; what is no JSON as it stands."""
    try:
        given = orjson.loads(arguments)
        if not isinstance(given, dict):
            return arguments
        return ", ".join(f"{name}: {_plain(value)}" for name, value in given.items())
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):  # nested too deeply to be written again
        return arguments


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
