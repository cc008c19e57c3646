"""Entities that Telegram accepts: spans as a converter left them in, nested and in order out.

The rules (Bot API, MessageEntity): entities nest or are apart; code contains nothing and is contained in no style;
quotes do not nest. Offsets and lengths are UTF-16 code units.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import Any, Final, NamedTuple

STYLES: Final = frozenset({"bold", "italic", "underline", "strikethrough", "spoiler"})
QUOTES: Final = frozenset({"blockquote", "expandable_blockquote"})
CODE: Final = frozenset({"code", "pre"})


class Span(NamedTuple):
    """An entity; ordered so that what contains comes before what is contained."""

    start: int
    minus_end: int
    type: str
    url: str = ""
    language: str = ""

    @property
    def end(self) -> int:
        return -self.minus_end

    def cut(self, start: int, end: int) -> Span:
        return Span(start, -end, self.type, self.url, self.language)

    def as_json(self) -> dict[str, Any]:
        extra = {"url": self.url, "language": self.language}
        return {"type": self.type, "offset": self.start, "length": self.end - self.start} | {
            key: value for key, value in extra.items() if value
        }


def normalise(spans: Iterable[Span], length: int) -> list[Span]:
    """Return what says the same within the rules, for a text of this length."""
    inside = sorted(span.cut(span.start, min(span.end, length)) for span in spans if span.start < min(span.end, length))
    quotes = _apart(span for span in inside if span.type in QUOTES)
    links = _apart(span for span in inside if span.type == "text_link" and _is_held(span, quotes))
    held = (span for span in inside if _is_held(span, quotes) and not _touching(span, links))
    code = _apart(span for span in held if span.type in CODE)
    styles = [
        piece
        for style in sorted(STYLES)
        for whole in _merged(span for span in inside if span.type == style)
        for part in _without(whole, code)
        for half in _broken(part, quotes)
        for piece in _broken(half, links)
    ]
    return _nested([*quotes, *links, *code, *styles])


def _apart(spans: Iterable[Span]) -> list[Span]:
    """Of those that overlap keep the first."""
    kept: list[Span] = []
    for span in spans:
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Make one of those that overlap."""
    merged: list[Span] = []
    for span in spans:
        if merged and span.start <= merged[-1].end:
            merged[-1] = merged[-1].cut(merged[-1].start, max(span.end, merged[-1].end))
        else:
            merged.append(span)
    return merged


def _touching(span: Span, others: Sequence[Span]) -> Sequence[Span]:
    """Return those of `others`, sorted and apart, that overlap the span."""
    first = bisect_right(others, span.start, key=lambda other: other.end)
    last = bisect_left(others, span.end, key=lambda other: other.start)
    return others[first:last]


def _is_held(span: Span, holders: Sequence[Span]) -> bool:
    """Say whether the span is inside one holder or outside all."""
    touched = _touching(span, holders)
    return not touched or (touched[0].start <= span.start and span.end <= touched[0].end)


def _without(span: Span, holes: Sequence[Span]) -> Iterator[Span]:
    """Yield what the holes leave of the span."""
    start = span.start
    for hole in _touching(span, holes):
        if start < hole.start:
            yield span.cut(start, hole.start)
        start = hole.end
    if start < span.end:
        yield span.cut(start, span.end)


def _broken(span: Span, holders: Sequence[Span]) -> Iterator[Span]:
    """Yield the span in pieces that lie inside a holder, hold it, or are apart from it."""
    touched, start, end = _touching(span, holders), span.start, span.end
    if touched and touched[0].start < start and touched[0].end < end:
        yield span.cut(start, touched[0].end)
        start = touched[0].end
    if touched and start < touched[-1].start and end < touched[-1].end:
        yield span.cut(touched[-1].start, end)
        end = touched[-1].start
    yield span.cut(start, end)


def _nested(spans: list[Span]) -> list[Span]:
    """Cut each span at the end of the one it begins in."""
    waiting, open_, done = list(spans), list[Span](), list[Span]()
    heapify(waiting)
    while waiting:
        span = heappop(waiting)
        while open_ and open_[-1].end <= span.start:
            open_.pop()
        if open_ and open_[-1].end < span.end:
            heappush(waiting, span.cut(open_[-1].end, span.end))
            span = span.cut(span.start, open_[-1].end)
        open_.append(span)
        done.append(span)
    return sorted(done)
