"""Markdown as blocks in quotes and lists: `parse` takes a text apart, `write` puts a stretch of it together again.

A stretch may begin and end inside a block, a quote or a list: the quote goes on with its mark, a list item without its
bullet, further items with the numbers they had.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from gateway.delivery.blocks import Block, Box, Fence, Heading, Html, Lines, Table, Text, Underlined

Rule = Callable[[StateBlock, int, int, bool], bool]

DEEPEST = 16
"""Levels of the parser (a quote is one, a list two) within which structure is kept; deeper markers are text."""

_RULED = re.compile(r"\n {0,3}(?=[-:|=][-:|= \t]*$)", re.MULTILINE)
"""The beginning of a line that would make a heading or a table of the line above it."""
_KINDS: dict[str, type[Block]] = {
    "paragraph": Text,
    "heading": Heading,
    "lheading": Underlined,
    "fence": Fence,
    "table": Table,
    "code": Lines,
    "html_block": Html,
    "hr": Html,
}
_BOXES = {
    "blockquote_open": "quote",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "list_item_open": "item",
}


class Place(NamedTuple):
    """A position in a document: the index of a block, and an offset in its source."""

    block: int
    offset: int = 0


def parse(markdown: str) -> list[Block]:
    """Find the blocks of a text, in order, each with what it stands in."""
    parser, tokens = _parser(), list[Token]()
    text = markdown.replace("\r\n", "\n").replace("\r", "\n")
    parser.block.parse(text, parser, {}, tokens)
    blocks: list[Block] = []
    boxes: list[Box] = []
    for token in tokens:
        if "source" in token.meta:
            kind = _KINDS[token.meta["rule"]]
            blocks.append(kind(token.meta["source"], tuple(boxes), token.meta["lines"]))
        elif token.type in _BOXES:
            boxes.append(_box(token, len(blocks), boxes))
        elif token.type.removesuffix("_close") + "_open" in _BOXES:
            if boxes[-1].first == len(blocks):  # a marker with nothing behind it
                blocks.append(Block("", tuple(boxes), range(boxes[-1].line, boxes[-1].line + 1)))
            boxes.pop().end = len(blocks)
    return blocks


def _box(token: Token, first: int, around: list[Box]) -> Box:
    box = Box(_BOXES[token.type], first, token.map[0] if token.map else 0)
    if box.kind == "item":
        box.marker = box.counted = token.info + token.markup
        _count(box, around[-1])
    return box


def _count(item: Box, siblings: Box) -> None:
    """Note the number that an item is shown with, which is counted from the first of its list whatever is written."""
    siblings.marker = siblings.marker or item.marker
    if siblings.marker[:-1].isdecimal():
        number = int(siblings.marker[:-1]) + siblings.items
        if number < 10**9:  # which no marker reaches
            item.counted = f"{number}{item.marker[-1]}"
    siblings.items += 1


@cache
def _parser() -> MarkdownIt:
    """Make a parser whose rules keep the source of each block as it reads inside its quotes and lists."""
    parser = MarkdownIt("commonmark", {"maxNesting": DEEPEST + 4}).enable("table").disable("reference")
    for rule in parser.block.ruler.__rules__:
        rule.fn = _keeping(rule.name, rule.fn) if rule.name in _KINDS else _shallow(rule.fn)
    return parser


def _keeping(name: str, rule: Rule) -> Rule:
    def keeping(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - as the parser calls it
        before = len(state.tokens)
        matched = rule(state, start, end, silent)
        if matched and not silent:
            token = state.tokens[before]
            token.meta |= {"rule": name, "source": _source(state, start, token), "lines": range(start, state.line)}
        return matched

    return keeping


def _source(state: StateBlock, start: int, token: Token) -> str:
    """Return the lines of a block as they read inside its quotes and lists."""
    if token.type == "code_block":  # where a tab may reach over the edge of the list
        return "\n".join(f"    {line}" for line in token.content.removesuffix("\n").split("\n"))
    source = state.getLines(start, state.line, state.blkIndent, keepLastLF=False)
    if token.type == "paragraph_open":
        # Where it goes on a quote or an item without the mark, it is text; with the mark it must be indented for that.
        return _RULED.sub("\n    ", source.strip("\n"))
    return source


def _shallow(rule: Rule) -> Rule:
    def shallow(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - as the parser calls it
        return state.level < DEEPEST and rule(state, start, end, silent)

    return shallow


def write(blocks: Sequence[Block], start: Place, stop: Place) -> str:
    """Write what stands between two places as a text of its own."""
    lines: list[str] = []
    previous: Block | None = None
    for index in range(start.block, stop.block + (stop.offset > 0)):
        block = blocks[index]
        end = stop.offset if index == stop.block else len(block.source)
        text = block.part(start.offset if index == start.block else 0, end)
        if previous:
            lines += _gap(previous, block, start)
        first, rest = _prefixes(block.boxes, index, start)
        lines += [_prefixed(rest if number else first, line) for number, line in enumerate(text.split("\n"))]
        previous = block
    return "\n".join(lines)


def _prefixed(prefix: str, line: str) -> str:
    return prefix + line if line.strip() else prefix.rstrip()


def _within(box: Box, start: Place) -> bool:
    """Say whether a box begins in the piece that begins at `start`."""
    return box.first >= start.block + (start.offset > 0)


def _prefixes(boxes: Sequence[Box], index: int, start: Place) -> tuple[str, str]:
    """Return what goes before the first line of a block in these boxes, and before its others."""
    first = rest = outer = ""
    around: Box | None = None
    for box in boxes:
        if box.kind == "quote":
            first, rest, outer = f"{first}> ", f"{rest}> ", ""
        elif box.kind == "item":
            marker = box.marker if around and _within(around, start) else box.counted
            if marker[-1] == outer:
                # Another delimiter, or the items of the list around would be counted on from these.
                marker = marker[:-1] + (")" if outer == "." else ".")
            if _within(box, start):
                indent = " " * (len(marker) + 1)
                first += f"{marker} " if box.first == index else indent
                rest += indent
                outer = ""
            elif marker[-1] in ".)":
                outer = marker[-1]
        around = box
    return first, rest


def gap(previous: Block, block: Block) -> int:
    """Return how many empty lines are kept between two blocks that follow one another."""
    return max(0, min(block.lines.start - previous.lines.stop, 2))


def _gap(previous: Block, block: Block, start: Place) -> list[str]:
    """Return the empty lines between two blocks, with the marks of the quotes they are in."""
    shared = [box for box in block.boxes if box in previous.boxes]
    count = gap(previous, block)
    if any(box.kind == "item" and not _within(box, start) for box in previous.boxes if box not in shared):
        # The end of an item that goes on without its bullet is a paragraph; what follows must not become part of it.
        count = max(count, 1)
    _, prefix = _prefixes(shared, -1, start)
    return [prefix.rstrip()] * count
