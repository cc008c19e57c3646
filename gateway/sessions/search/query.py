"""
The language of a search. Pure. In: what somebody typed. Out: a `Query`, or a `QueryError` in one sentence.

Words stand side by side and all have to be there, ``"a phrase"`` in its order, ``OR`` between two ways to say it (what
stands on either side is taken whole), ``conf*`` for the beginning of a word; ``role:user``, ``after:2026-11-30`` and
``before:2026-12`` narrow it. Everything else is text to look for: what punctuation glues together is a phrase.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from gateway.errors import GatewayError
from gateway.storage.matches import Adjacent, Together
from gateway.storage.text import TERM_CHARS, Kind, fold, pairs, pieces
from gateway.types import clean

QUERY_CHARS, QUERY_TERMS = 1000, 64
PREFIX_CHARS = 2
ROLES = ("user", "assistant", "tool")
QUOTES = str.maketrans(dict.fromkeys("“”„‟", '"'))
_ATOM = re.compile(r'"(?P<phrase>[^"]*)(?:"(?P<open>\*?)|$)|(?P<word>[^\s"]+)')
_FILTER = re.compile(r"(role|after|before):(\S+)", re.IGNORECASE)
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")


class QueryError(GatewayError):
    """A search cannot be understood; the text says why and what to write instead."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for; `since` and `until` are seconds since 1970, 0 for no bound. Empty where there is no word."""

    alternatives: tuple[Together, ...] = ()
    roles: tuple[str, ...] = ()
    since: float = 0.0
    until: float = 0.0

    @property
    def empty(self) -> bool:
        return not self.alternatives

    @property
    def stretches(self) -> tuple[Adjacent, ...]:
        """Every stretch of words of every alternative."""
        return tuple(dict.fromkeys(one for together in self.alternatives for one in together.stretches))

    @property
    def letters(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one for together in self.alternatives for one in together.letters))


@dataclass(frozen=True, slots=True)
class _Atom:
    text: str
    quoted: bool = False
    prefix: bool = False


def parse(typed: str) -> Query:
    """Read a query; raise `QueryError` for a filter that says nothing and for what is too long."""
    if len(typed) > QUERY_CHARS:
        raise QueryError(f"the query has {len(typed):,} characters; write at most {QUERY_CHARS:,}")
    atoms, filters = list[_Atom](), list[tuple[str, str]]()
    for atom in _atoms(unicodedata.normalize("NFKC", clean(typed)).translate(QUOTES)):
        if not atom.quoted and (found := _FILTER.fullmatch(atom.text)):
            filters.append((found[1].lower(), found[2]))
        else:
            atoms.append(atom)
    alternatives = tuple(filter(None, map(_together, _divided(atoms))))
    count = sum(len(one.words) for together in alternatives for one in together.stretches)
    if count + sum(len(together.letters) for together in alternatives) > QUERY_TERMS:
        raise QueryError(f"the query has too many words; write at most {QUERY_TERMS}")
    return Query(alternatives, *_narrowed(filters))


def _day(written: str, name: str) -> float:
    """Return the second a date or time begins, in UTC where it says no zone; `QueryError` for anything else."""
    try:
        if found := _DATE.fullmatch(written):
            year, month, date = (int(part or 1) for part in found.groups())
            return datetime(year, month, date, tzinfo=UTC).timestamp()
        when = datetime.fromisoformat(written)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise QueryError(f"{name}:{written[:40]} is no date; write {name}:2026-11-30, or 2026-11") from None


def _atoms(typed: str) -> Iterator[_Atom]:
    for found in _ATOM.finditer(typed):
        if (phrase := found["phrase"]) is not None:
            yield _Atom(phrase, quoted=True, prefix=found["open"] == "*")
        else:
            word = found["word"]
            yield _Atom(word, prefix=word.endswith("*") and not word.endswith("**"))


def _divided(atoms: Sequence[_Atom]) -> list[list[_Atom]]:
    """Divide the atoms at each OR that has something on both sides; an AND between two says nothing new."""
    parts: list[list[_Atom]] = [[]]
    for place, atom in enumerate(atoms):
        inside = 0 < place < len(atoms) - 1
        word = "" if atom.quoted else atom.text
        if word == "OR" and inside and parts[-1]:
            parts.append([])
        elif not (word == "AND" and inside):
            parts[-1].append(atom)
    return [part for part in parts if part]


def _together(atoms: Sequence[_Atom]) -> Together | None:
    """Return what the atoms look for, None where they hold no letter."""
    stretches, letters = list[Adjacent](), list[str]()
    for atom in atoms:
        _add(atom, stretches, letters)
    if not (stretches or letters):
        return None
    return Together(tuple(dict.fromkeys(stretches)), tuple(dict.fromkeys(letters)))


def _add(atom: _Atom, stretches: list[Adjacent], letters: list[str]) -> None:
    """A run of one letter is no pair, and breaks the stretch: it is looked for as a letter."""
    words: list[str] = []
    ends_in_word = False
    for piece in pieces(fold(atom.text)):
        ends_in_word = piece.kind is Kind.WORD
        if ends_in_word:
            words.append(piece.text[:TERM_CHARS])
        elif len(piece.text) > 1:
            words += pairs(piece.text)
        else:
            letters.append(piece.text)
            if words:
                stretches.append(Adjacent(tuple(words)))
            words = []
    if not words:
        return
    prefix = atom.prefix and ends_in_word
    if prefix and len(words[-1]) < PREFIX_CHARS:
        raise QueryError(f"{words[-1]}* is too short: write at least {PREFIX_CHARS} letters before the *")
    stretches.append(Adjacent(tuple(words), prefix))


def _narrowed(filters: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], float, float]:
    roles: list[str] = []
    since, until = 0.0, 0.0
    for name, value in filters:
        if name == "role":
            roles += _roles(value)
        elif name == "after":
            since = max(since, _day(value, name))
        else:
            until = min(until or float("inf"), _day(value, name))
    return tuple(dict.fromkeys(roles)), since, until


def _roles(value: str) -> list[str]:
    named = [one for one in value.lower().split(",") if one]
    if not named or set(named) - set(ROLES):
        raise QueryError(f"role:{value[:40]} is no role; write role:user, role:assistant or role:tool")
    return named
