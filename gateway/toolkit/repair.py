"""Damaged JSON that can be read in one way only.

In: text that is not JSON. Out: the object it stands for, or None where reading it takes a guess. json-repair closes
what was cut off, invents what is missing and drops what it cannot place; here its reading counts only if every
bracket, string and word of the text is in it, in the same order. What may differ: commas, colons, the style of
quotes, raw control characters, `True` for `true`, a Markdown fence around the whole.
"""

from __future__ import annotations

import json
import re
from typing import Any

LONGEST = 20_000  # characters; json-repair takes some 4 µs for each of them, on the event loop
FENCE = re.compile(r"\s*```\w*\n(.*?)\n?```\s*", re.DOTALL)
GAP = re.compile(r"[\s,:]*")
TOKEN = re.compile(r"""[{}\[\]]|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s,:{}\[\]"']+""", re.DOTALL)
LITERALS = {"True": "true", "False": "false", "None": "null"}


def repair(text: str) -> dict[str, Any] | None:
    if len(text) > LONGEST:
        return None
    if fenced := FENCE.fullmatch(text):
        text = fenced[1]
    from json_repair import repair_json  # seldom needed, and not quick to import

    try:
        found = repair_json(text, return_objects=True, skip_json_loads=True, strict=True)
        same = isinstance(found, dict) and _tokens(text) == _tokens(json.dumps(found))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and same else None


def _tokens(text: str) -> list[str]:
    """List what the text says, each thing spelled as JSON spells it; raise `ValueError` for an open string."""
    tokens, at = [], 0
    while (at := _after_gap(text, at)) < len(text):
        if (found := TOKEN.match(text, at)) is None:
            raise ValueError(f"a string that does not end, at character {at}")
        tokens.append(_spelled(found[0]))
        at = found.end()
    return tokens


def _after_gap(text: str, at: int) -> int:
    gap = GAP.match(text, at)
    return gap.end() if gap else at


def _spelled(token: str) -> str:
    if token[0] in "{}[]":
        return token
    if token[0] == '"':
        return json.dumps(json.loads(token, strict=False))
    if token[0] == "'":
        return json.dumps(json.loads(f'"{_unquoted(token)}"', strict=False))
    token = LITERALS.get(token, token)
    try:
        return json.dumps(json.loads(token))
    except ValueError:
        return json.dumps(token)


def _unquoted(token: str) -> str:
    """Take the inside of a string in single quotes as it stands between double quotes."""
    swap = {"\\'": "'", '"': '\\"'}
    return re.sub(r'\\.|"', lambda found: swap.get(found[0], found[0]), token[1:-1], flags=re.DOTALL)
