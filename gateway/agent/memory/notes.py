"""The notes as text: entries, limits and headers, in the reference's format. Pure.

A store is two texts, MEMORY.md and USER.md. Entries are joined by newline, ``§``, newline; limits count the characters
(code points) of the entries with the delimiters between them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from gateway.types import clean

DELIMITER = "\n§\n"
RULE = "═" * 46
_BEGINNING = re.compile(r"\A[\s\ufeff]+")
"""White space, and byte order marks, which reading takes off a text."""


class Target(StrEnum):
    """Which of the two texts: notes on the world, or on the person."""

    MEMORY = "memory"
    USER = "user"

    @property
    def file(self) -> str:
        return FILES[self]


FILES = {Target.MEMORY: "MEMORY.md", Target.USER: "USER.md"}
HEADERS = {Target.MEMORY: "MEMORY (your personal notes)", Target.USER: "USER PROFILE (who the user is)"}


def parse(text: str) -> list[str]:
    """Return the entries of a text, stripped, without empty ones; a delimiter at either end of it divides nothing."""
    return [entry for part in f"\n{text}\n".split(DELIMITER) if (entry := part.strip())]


def join(entries: Sequence[str]) -> str:
    return DELIMITER.join(entries)


def whole(content: str) -> str:
    """Return a new entry as it comes back: newlines as ``\\n``, stripped, without what no store keeps."""
    text = clean(content).replace("\r\n", "\n").replace("\r", "\n")
    return _BEGINNING.sub("", text).rstrip()


def divides(entry: str) -> bool:
    """Say whether an entry would come back as several: a line of it is the delimiter's."""
    return any(line.strip() == "§" for line in entry.split("\n"))


def usage(entries: Sequence[str], limit: int) -> str:
    """Return ``P% — used/limit chars``; more than 100 % where somebody wrote more by hand."""
    used = len(join(entries))
    return f"{used * 100 // limit}% — {used:,}/{limit:,} chars"


def block(target: Target, entries: Sequence[str], limit: int) -> str:
    """Return the section of the system prompt, or "" where there is nothing in it."""
    if not entries:
        return ""
    return f"{RULE}\n{HEADERS[target]} [{usage(entries, limit)}]\n{RULE}\n{join(entries)}"


def drift(text: str, limit: int) -> str:
    """Say why a text cannot have been written by us, or "": changing its entries would then lose something."""
    entries = parse(text)
    if join(entries) != text.strip():
        return "it holds more than entries joined by a line with §"
    if any(len(entry) > limit for entry in entries):
        return f"an entry in it is longer than the whole limit of {limit:,} characters"
    return ""
