"""Markdown parsed for Telegram: a text in; the source that was parsed, and its events with their places, out.

What models write and CommonMark does not know is put right on the way: formulas in brackets, and prices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import pyromark
from pyromark.event import Range

Step = tuple[Any, Range]
"""An event of pyromark and the bytes of the source it stands for."""

OPTIONS: Final = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_MATH
)
PRICE_ROUNDS: Final = 3
EVENTS_PER_BYTE: Final = 2
FORMULA_BYTES: Final = 1000
FORMULA: Final = re.compile(rb"\\[A-Za-z]|[\^_=]")


def parse(markdown: str) -> tuple[bytes, list[Step]]:
    """
    Parse; a formula that ends before a digit is two prices, and its dollar signs are escaped.

    Raise `ValueError` where the parser makes far more of it than stands there: a table may be completed without end.
    """
    source = _with_dollars(markdown.encode())
    steps = _steps(source)
    for _ in range(PRICE_ROUNDS):
        prices = sorted(
            at
            for event, span in steps
            if kind(event) == ("", "InlineMath") and source[span["end"] : span["end"] + 1].isdigit()
            for at in (span["start"], span["end"] - 1)
        )
        if not prices:
            break
        bounds = zip([0, *prices], [*prices, len(source)], strict=True)
        source = b"\\".join(source[start:end] for start, end in bounds)
        steps = _steps(source)
    return source, steps


def _steps(source: bytes) -> list[Step]:
    most = EVENTS_PER_BYTE * len(source) + 1000
    steps = list(islice(pyromark.events_with_range(source.decode(), options=OPTIONS), most))
    if len(steps) == most:
        raise ValueError("the table is many times larger than its source")
    return steps


def kind(event: Any) -> tuple[str, str]:
    """Return Start, End or nothing, and the name of what starts, ends or is."""
    if isinstance(event, str):
        return "", event
    side, value = next(iter(event.items()))
    if side not in {"Start", "End"}:
        return "", side
    return side, value if isinstance(value, str) else next(iter(value))


def _with_dollars(source: bytes) -> bytes:
    r"""Write \(…\) and \[…\] around formulas as $…$ and $$…$$, which the parser knows; code stays as it is."""
    if b"\\(" not in source and b"\\[" not in source:
        return source
    pieces, at = [], 0
    for start, end in [*_code(source), (len(source), len(source))]:
        pieces += [_formulas(source[at:start]), source[start:end]]
        at = end
    return b"".join(pieces)


def _code(source: bytes) -> Iterator[tuple[int, int]]:
    for event, span in _steps(source):
        if kind(event) in {("Start", "CodeBlock"), ("", "Code")}:
            yield span["start"], span["end"]


def _formulas(prose: bytes) -> bytes:
    out, at = bytearray(), 0
    for opening in re.finditer(rb"(?<!\\)\\[(\[]", prose):
        start, inline = opening.start(), prose[opening.end() - 1 : opening.end()] == b"("
        if start < at:
            continue
        end = prose.find(b"\\)" if inline else b"\\]", start + 2, start + 2 + FORMULA_BYTES)
        body = prose[start + 2 : end].strip() if end >= 0 else b""
        if not FORMULA.search(body) or b"$" in body or b"\n\n" in body:
            continue
        mark = b"$" if inline else b"$$"
        out += prose[at:start] + mark + body + mark
        at = end + 2
    return bytes(out + prose[at:])
