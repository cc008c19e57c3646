"""Where a paragraph must not be cut: Markdown text comes in, its unbreakable spans and open emphasis go out."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

Rule = Callable[[StateInline, bool], bool]

_WHOLE = frozenset({"escape", "backticks", "link", "image", "autolink", "html_inline", "entity"})
_RUNS = frozenset({"emphasis", "strikethrough"})
_EMPHASIS = {"em": 1, "strong": 2, "s": 2}
_TICKS = re.compile(r"`+")
_BARE = re.compile(r"https?://[!-~]+|\[[^\[\]\n]*\]\[[^\[\]\n]*\]|\|\|[^|\n]+\|\||\$\$[^$\n]+\$\$")
"""What the parser does not see: an address without brackets, a reference defined elsewhere, a spoiler, a formula."""


class Span(NamedTuple):
    """A stretch of text that stays in one piece."""

    start: int
    stop: int


class Emphasis(NamedTuple):
    """A pair of delimiters: the text between `opened` and `closing` is emphasised with `markup`."""

    start: int
    opened: int
    closing: int
    markup: str

    @property
    def stop(self) -> int:
        return self.closing + len(self.markup)


@dataclass(frozen=True, slots=True)
class Inline:
    """
    What is known of one text: `spans` and `covered` (what is emphasised) ascend and do not overlap.

    `emphases` ascend by their start and nest; `around` holds for each the index of the one it is in, or -1. `forbidden`
    are the offsets within delimiters and at their inner side: reopened there, a pair would stand around nothing.
    `loose` are the delimiters of which some belong to no pair.
    """

    text: str
    spans: list[Span]
    covered: list[Span]
    emphases: list[Emphasis]
    around: list[int]
    forbidden: frozenset[int]
    loose: str

    def whole(self, offset: int) -> bool:
        """Say whether a cut at `offset` breaks nothing that cannot be closed and reopened."""
        return offset not in self.forbidden and _holder(self.spans, offset) is None and not self._mingles(offset)

    def _mingles(self, offset: int) -> bool:
        """Say whether delimiters reopened at `offset` would join others there to something else."""
        if not self.emphasised(offset):
            return False
        before = self.text[max(0, offset - 80) : offset].rstrip(" \t\n")[-1:]
        marks = [mark[0] for mark in self.open_at(offset)]
        beside = before in marks or self.text[offset] in marks
        # Three stars in one place would find a partner in a loose one, where two and one did not.
        return before == "\\" or beside or any(marks.count(mark) > 1 for mark in self.loose)

    def emphasised(self, offset: int) -> bool:
        return _holder(self.covered, offset) is not None

    def open_at(self, offset: int) -> list[str]:
        """Return the markup that is open at `offset`, outermost first."""
        marks: list[str] = []
        at = bisect_left(self.emphases, offset, key=lambda mark: mark.start) - 1
        while at >= 0:
            mark = self.emphases[at]
            if mark.opened < offset < mark.closing:
                marks.insert(0, mark.markup)
            at = self.around[at]
        span = _holder(self.spans, offset)
        ticks = _ticks(self.text, span) if span else ""
        return [*marks, ticks] if ticks else marks


def _holder(spans: list[Span], offset: int) -> Span | None:
    """Find the span that has `offset` strictly inside."""
    at = bisect_left(spans, offset, key=lambda span: span.start) - 1
    return spans[at] if at >= 0 and offset < spans[at].stop else None


def _ticks(text: str, span: Span) -> str:
    """Return the backticks around a span of code; nothing for any other span, and where they could begin a fence."""
    run = _TICKS.match(text, span.start, span.stop)
    return run.group() if run and run.end() < span.stop and len(run.group()) < 3 else ""


def read(text: str) -> Inline:
    """Find what must stay together in the text of one block."""
    found = [Span(*match.span()) for match in _BARE.finditer(text)]
    tokens: list[Token] = []
    parser = _parser()
    parser.inline.parse(text, parser, {"spans": found, "size": len(text)}, tokens)
    pairs = sorted(_pairs(tokens))
    emphases: list[Emphasis] = []
    around: list[int] = []
    stack: list[int] = []
    for mark in pairs:
        while stack and emphases[stack[-1]].closing <= mark.start:
            stack.pop()
        if any(emphases[outer].markup == mark.markup for outer in stack):
            # Opened again in one place, ``*`` within ``*`` would be one ``**``: it stays whole.
            found.append(Span(mark.start, mark.stop))
            continue
        around.append(stack[-1] if stack else -1)
        stack.append(len(emphases))
        emphases.append(mark)
    spans = _merged(found)
    covered = _merged(Span(mark.start, mark.stop) for mark in emphases)
    forbidden = frozenset(_forbidden(text, spans, emphases))
    return Inline(text, spans, covered, emphases, around, forbidden, _loose(text, pairs))


def _loose(text: str, pairs: list[Emphasis]) -> str:
    paired = Counter(character for mark in pairs for character in mark.markup * 2)
    return "".join(character for character in "*_" if text.count(character) > paired[character])


def _forbidden(text: str, spans: list[Span], emphases: list[Emphasis]) -> Iterator[int]:
    for mark in emphases:
        yield from range(mark.start + 1, mark.opened + 1)
        yield from range(mark.closing, mark.stop)
    for span in spans:
        if width := len(_ticks(text, span)):
            yield from range(span.start + 1, span.start + width + 1)
            yield from range(span.stop - width, span.stop)
            for match in _TICKS.finditer(text, span.start + width, span.stop - width):
                yield from range(match.start(), match.end() + 1)


def _merged(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].stop:
            merged[-1] = Span(merged[-1].start, max(merged[-1].stop, span.stop))
        else:
            merged.append(span)
    return merged


def _pairs(tokens: list[Token]) -> Iterator[Emphasis]:
    opened: list[Token] = []
    for token in tokens:
        if token.tag not in _EMPHASIS:
            continue
        if token.nesting == 1:
            opened.append(token)
            continue
        first, width = opened.pop(), _EMPHASIS[token.tag]
        # Of the two characters that open a strong emphasis, the parser turns the second one into the token.
        start = first.meta["at"] - (token.tag == "strong")
        yield Emphasis(start, start + width, token.meta["at"], token.markup)


@cache
def _parser() -> MarkdownIt:
    """Make a parser whose rules note where in the text they matched; tokens alone do not say it."""
    # A low limit of nesting keeps the price of thousands of open brackets down.
    parser = MarkdownIt("commonmark", {"maxNesting": 8}).enable("strikethrough")
    for rule in parser.inline.ruler.__rules__:
        if rule.name in _WHOLE:
            rule.fn = _noting_span(rule.fn)
        elif rule.name in _RUNS:
            rule.fn = _noting_run(rule.fn)
    return parser


def _noting_span(rule: Rule) -> Rule:
    def noting(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - as the parser calls it
        start = state.pos
        matched = rule(state, silent)
        if matched and not silent:
            # Behind a backslash that breaks the line, a cut would leave the backslash as text.
            _note(state, start, state.pos + (state.src[start : start + 2] == "\\\n"))
        return matched

    return noting


def _noting_run(rule: Rule) -> Rule:
    def noting(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - as the parser calls it
        start, known = state.pos, len(state.tokens)
        matched = rule(state, silent)
        if matched:
            _note(state, start, state.pos)
            at = state.pos
            for token in reversed(state.tokens[known:]):
                if at == start:
                    break
                at -= len(token.content)
                token.meta["at"] = at
        return matched

    return noting


def _note(state: StateInline, start: int, stop: int) -> None:
    # The description of an image is parsed as a text of its own, with offsets of its own.
    if len(state.src) == state.env["size"]:
        state.env["spans"].append(Span(start, stop))
