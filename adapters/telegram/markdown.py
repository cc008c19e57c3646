"""Markdown as Telegram can show it: source in, the parser's events out, ready for telegramify-markdown's walker.

The library's own entry is not used: its patterns for spoilers and formulas take seconds on a few hostile characters,
it drops what it takes for HTML, and its tables count characters where columns have a width. Here the parser's events
are changed on their way to its walker, each in one step, so that the work grows with the text and no faster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final
from urllib.parse import urlsplit

from pyromark.event import Range

from adapters.telegram.parsing import FORMULA_BYTES, Step, kind, parse
from adapters.telegram.table import draw

FORMULA_BRACES: Final = 40  # the walker reads them by recursion
URL_CHARS: Final = 2048
BREAK: Final = re.compile(r"<br\s{0,3}/?>", re.IGNORECASE)
SPOILER: Final = "||"
INLINE: Final = frozenset({"Strong", "Emphasis", "Strikethrough", "Link", "Image"})
VERBATIM: Final = frozenset({"CodeBlock", "Table"})


def events(markdown: str) -> tuple[bytes, list[Step]]:
    """Return the source that was parsed, and what the walker is to show of it; raise as `parse` does."""
    source, parsed = parse(markdown)
    steps = _with_spoilers(source, parsed) if SPOILER.encode() in source else iter(parsed)
    if any(mark in source for mark in (b"<", b"~", b"$")):
        steps = _shown(steps, source)
    if b"|" in source:
        steps = _in_tables(steps)
    if b"[" in source or b"<" in source:
        steps = _in_links(steps)
    return source, list(_full(steps))


def _shown(steps: Iterator[Step], source: bytes) -> Iterator[Step]:
    """Show as text what the walker would drop, or take for what it is not."""
    html: list[str] | None = None
    for event, span in steps:
        match event:
            case {"Text": _}:
                yield event, span
            case {"Start": "HtmlBlock"}:
                html = []
            case {"Html": str(text)} if html is not None:
                html.append(text)
            case {"End": "HtmlBlock"}:
                yield {"Start": "Paragraph"}, span
                yield {"Text": "".join(html or ()).strip("\n")}, span
                yield {"End": "Paragraph"}, span
                html = None
            case {"InlineHtml": str(tag)} if tag not in {"<tg-spoiler>", "</tg-spoiler>"}:
                yield ("HardBreak" if BREAK.fullmatch(tag) else {"Text": tag}), span
            case {"Start": "Strikethrough"} | {"End": "Strikethrough"} if _single(source, span):
                yield {"Text": "~"}, span
            case {"InlineMath": str(formula)} | {"DisplayMath": str(formula)} if not formula.strip():
                yield {"Text": source[span["start"] : span["end"]].decode()}, span
            case {"InlineMath": str(formula)} | {"DisplayMath": str(formula)} if _deep(formula):
                yield {"Code": formula}, span
            case _:
                yield event, span


def _single(source: bytes, span: Range) -> bool:
    """Tell ~about~ from ~~struck out~~."""
    return source[span["start"] + 1 : span["start"] + 2] != b"~"


def _deep(formula: str) -> bool:
    return len(formula) > FORMULA_BYTES or formula.count("{") > FORMULA_BRACES


def _with_spoilers(source: bytes, steps: list[Step]) -> Iterator[Step]:
    """Put the walker's spoiler tags where two || of one block enclose something."""
    marks = _spoiler_marks(source, steps)
    for number, (event, span) in enumerate(steps):
        if number not in marks:
            yield event, span
            continue
        text, at = event["Text"], 0
        for position, tag in marks[number]:
            yield {"Text": text[at:position]}, span
            yield {"InlineHtml": tag}, span
            at = position + len(SPOILER)
        yield {"Text": text[at:]}, span


def _spoiler_marks(source: bytes, steps: list[Step]) -> dict[int, list[tuple[int, str]]]:
    """Return, per number of a text, where in it a spoiler begins or ends."""
    marks: dict[int, list[tuple[int, str]]] = {}
    for _, prose in groupby(_prose(steps), key=lambda piece: piece[0]):
        opened: tuple[int, int] | None = None
        for number, at, opens, closes in _bars(source, prose):
            if opened is not None and closes and (number, at) != (opened[0], opened[1] + 2):
                marks.setdefault(opened[0], []).append((opened[1], "<tg-spoiler>"))
                marks.setdefault(number, []).append((at, "</tg-spoiler>"))
                opened = None
            elif opens:
                opened = number, at
    return marks


def _prose(steps: list[Step]) -> Iterator[tuple[int, int, str, Range]]:
    """Yield the texts outside code and tables: the number of the block, of the step, the text, its place."""
    block, verbatim = 0, False
    for number, (event, span) in enumerate(steps):
        side, name = kind(event)
        if side and name not in INLINE:
            block += 1
            verbatim = side == "Start" if name in VERBATIM else verbatim
        elif name == "Text" and not verbatim:
            yield block, number, event["Text"], span


def _bars(source: bytes, prose: Iterator[tuple[int, int, str, Range]]) -> Iterator[tuple[int, int, bool, bool]]:
    """Yield each || of a block: the step, the place in its text, whether it may begin and may end a spoiler."""
    for _, number, text, span in prose:
        at = text.find(SPOILER)
        while at >= 0:
            escaped = at == 0 and source[max(span["start"] - 1, 0) : span["start"]] == b"\\"
            yield (
                number,
                at,
                not escaped and not text[at + 2 : at + 3].isspace(),
                not text[max(at - 1, 0) : at].isspace(),
            )
            at = text.find(SPOILER, at + 2)


def _in_tables(steps: Iterator[Step]) -> Iterator[Step]:
    """Replace each table by a block of code with even columns."""
    for event, span in steps:
        if kind(event) == ("Start", "Table"):
            rows = list(_rows(steps))
            yield {"Start": {"CodeBlock": "Indented"}}, span
            yield {"Text": draw(rows, event["Start"]["Table"])}, span
            yield {"End": "CodeBlock"}, span
        else:
            yield event, span


def _rows(steps: Iterator[Step]) -> Iterator[list[str]]:
    row: list[str] = []
    cell: list[str] = []
    for event, _ in _in_links(steps, plain=True):
        match event:
            case {"End": "Table"}:
                return
            case {"Start": "TableHead" | "TableRow"}:
                row = []
            case {"End": "TableHead" | "TableRow"}:
                yield row
            case {"Start": "TableCell"}:
                cell = []
            case {"End": "TableCell"}:
                row.append("".join(cell))
            case {"Text": str(text)} | {"Code": str(text)} | {"InlineMath": str(text)} | {"DisplayMath": str(text)}:
                cell.append(text)
            case "SoftBreak" | "HardBreak":
                cell.append(" ")


def _in_links(steps: Iterator[Step], *, plain: bool = False) -> Iterator[Step]:
    """
    Keep links to the web; of any other show where it leads, and an image as a link to it.

    With `plain` no link stays, and each address that its text does not show is written after it.
    """
    opened: list[tuple[str, bool, list[str]]] = []
    for event, span in steps:
        match event:
            case {"Start": {"Link": {"dest_url": str(url)}}} | {"Start": {"Image": {"dest_url": str(url)}}}:
                live = not plain and _is_web(url) and not any(live for _, live, _ in opened)
                opened.append((url, live, []))
                if live:
                    yield {"Start": {"Link": {"dest_url": url}}}, span
                if "Image" in event["Start"]:
                    yield {"Text": "🖼 "}, span
            case {"End": "Link" | "Image"} if opened:
                url, live, words = opened.pop()
                text = "".join(words)
                if opened:
                    opened[-1][2].append(text or url)
                if not text or not (live or text == url):
                    yield {"Text": _address(text, url)}, span
                if live:
                    yield {"End": "Link"}, span
            case _:
                if opened and isinstance(event, dict):
                    opened[-1][2].append(str(event.get("Text") or event.get("Code") or ""))
                yield event, span


def _full(steps: Iterator[Step]) -> Iterator[Step]:
    """Leave out empty texts and blocks of code; the walker looks back over all of them for the last line's end."""
    held: Step | None = None
    for step in steps:
        event = step[0]
        if event == {"Text": ""}:
            continue
        if held is not None and event != {"End": "CodeBlock"}:
            yield held
        if kind(event) == ("Start", "CodeBlock"):
            held = step
            continue
        if held is None or event != {"End": "CodeBlock"}:
            yield step
        held = None


def _address(text: str, url: str) -> str:
    shown = url if len(url) <= URL_CHARS else url[: URL_CHARS - 1] + "…"
    return f" ({shown})" if text and shown else shown


def _is_web(url: str) -> bool:
    """Say whether Telegram takes it as the target of a link."""
    if len(url) > URL_CHARS or not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        return False
