"""What a context file says, without what it says to programs. Pure."""

from __future__ import annotations

import re

MOST_LINES, MOST_CHARS = 200, 20_000
"""A front matter is no longer than this; nobody closes one that is."""
_KEY = re.compile(r"[A-Za-z_][\w.-]*[ \t]*:(?:[ \t]|$)")
_MORE = re.compile(r"[ \t]|[-#]|$")


def body(text: str) -> tuple[str, int]:
    """Return a text without the YAML front matter and empty lines at its start, and how many lines those were."""
    skipped = _front_matter(text)
    lines = text[:MOST_CHARS].split("\n", skipped)
    rest = text[sum(len(line) + 1 for line in lines[:skipped]) :]
    inner = rest.lstrip("\n")
    return inner.rstrip(), skipped + len(rest) - len(inner)


def _front_matter(text: str) -> int:
    """Count the lines of a front matter: keys between two rulers. A ruler over prose is only a ruler."""
    lines = [line.rstrip(" \t") for line in text[:MOST_CHARS].split("\n", MOST_LINES)[:MOST_LINES]]
    if lines[0] != "---":
        return 0
    end = next((number for number, line in enumerate(lines[1:], start=1) if line in {"---", "..."}), 0)
    inner = lines[1:end]
    if not end or not all(_KEY.match(line) or _MORE.match(line) for line in inner):
        return 0
    first = next((line for line in inner if line and not line.startswith("#")), "")
    return end + 1 if not first or _KEY.match(first) else 0
