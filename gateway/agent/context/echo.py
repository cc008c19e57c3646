"""
Keeps a summary that the model repeats out of what people see and what is stored, also while it is being written. Pure.

In: the deltas of one answer. Out: what may be shown of them so far. However an answer is cut into deltas, the whole
that is shown is the same.

Only the beginning of a line counts: text about the marks within a line stays. From a header on all is held back until
the end mark, behind which the answer begins. Where none comes, what follows the header is the answer, unless it begins
with a heading of a summary or has several, or one that only the gateway writes.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from os.path import commonprefix

from gateway.agent.context import frame
from gateway.agent.context.beginnings import OLD_SUMMARY, SUMMARY
from gateway.agent.context.summary.sections import ANCHORS, DROPPED, HEADINGS, MESSAGES, OLDER, RECOVERY, SNAPSHOT
from gateway.contracts.model import Completed, ModelPiece
from gateway.messages import Retracted, TextDelta

LONGEST = 1_000
"""Characters of a line that may be a mark; a longer one is none."""

BY_CHANCE = 12
"""Characters that an answer may have in common with the words of a header."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_DASH = "[-‐‑‒–—―]"
_DASHES = re.compile(f"{_DASH}+")
_ENDS = re.compile(rf"summary[^\n]*?{_DASH}{{2,}}[*_]*", re.IGNORECASE)
_LEAD = " \t\r\n>*_"
"""What may stand before a mark: white space, a quote, emphasis."""
_SENTENCE = re.compile(r"[.;:](?: |$)")
_HEADING = re.compile(r"(?:#{1,4}[ \t]+|\*\*)([^\n*]{1,120}?)[ \t]*:?(?:\*\*)?:?\s*")
_OURS = {name.casefold() for name in (ANCHORS, MESSAGES, RECOVERY, SNAPSHOT, DROPPED)}
"""What the gateway writes behind a summary, which no answer has."""
_NAMES = {name.casefold() for name in (*HEADINGS, *OLDER)} | _OURS
_WORDING = frame.PREFIX.removeprefix(SUMMARY).lstrip()


def _plain(line: str) -> str:
    return _DASHES.sub("-", line.lstrip(_LEAD).casefold())


_HEADERS = _plain(SUMMARY), _plain(OLD_SUMMARY)
END = (_plain(frame.END_BEGINS),)
MARKS = (*END, *map(_plain, (frame.PRIOR, frame.PRIOR_ENDS, frame.NOTE_BEGINS, frame.CONTINUATION)))
"""How lines begin that are nothing but a mark."""


class Echo:
    """Filters one answer. What may turn out to be a mark is held back until that is known."""

    def __init__(self) -> None:
        self._held = ""
        self._begins = True  # a line, where a mark may stand
        self._parts = False  # white space that parted what was taken out from what follows
        self._span: list[str] | None = None  # what came behind a header

    def feed(self, delta: str) -> str:
        """Return what may be shown now."""
        return self._shown(delta, ended=False)

    def flush(self) -> str:
        """Return what was held back and is the answer's, at its end; begin anew for another one."""
        shown = self._shown("", ended=True)
        if self._span is not None:
            shown += _beyond("".join(self._span))
        self._begins, self._parts, self._span = True, False, None
        return shown

    def _shown(self, delta: str, *, ended: bool) -> str:
        lines = deque(_LINE.findall(self._held + delta))
        self._held = ""
        shown: list[str] = []
        while lines:
            line = lines.popleft()
            if self._parts and not (line := line.lstrip()):
                continue
            self._parts, whole = False, ended or line.endswith("\n")
            if self._begins and self._span is None and (begun := _header(line)):
                self._span, self._begins = [line[begun:]], whole
            elif self._begins and not whole and _may_be_mark(line):
                self._held = line
            elif self._begins and _is_mark(line):
                self._parts = True
                if _is_mark(line, END):
                    self._span = None
                    lines.appendleft(_behind(line))
            else:
                (shown if self._span is None else self._span).append(line)
                self._begins = whole
        return "".join(shown)


def strip_echo(text: str) -> str:
    """Return an answer without what it repeats of a summary and the marks around it; "" where it is nothing else."""
    echo = Echo()
    return echo.feed(text) + echo.flush()


async def unechoed(pieces: AsyncGenerator[ModelPiece]) -> AsyncGenerator[ModelPiece]:
    """Pass on what a model streams, without an echo in its text."""
    echo = Echo()
    async with aclosing(pieces) as given:
        async for piece in given:
            if isinstance(piece, TextDelta):
                if text := echo.feed(piece.text):
                    yield TextDelta(text)
                continue
            left = echo.flush()
            if left and not isinstance(piece, Retracted):
                yield TextDelta(left)
            yield replace(piece, text=strip_echo(piece.text)) if isinstance(piece, Completed) else piece


def _header(line: str) -> int:
    """Return where the header ends that a line begins with, 0 for none."""
    end = line.find("]", 0, LONGEST) + 1
    end += line[end : end + 1] == ":"
    return end if end and _plain(line[:end]).startswith(_HEADERS) else 0


def _is_mark(line: str, marks: tuple[str, ...] = MARKS) -> bool:
    return len(line) <= LONGEST and _plain(line).startswith(marks)


def _behind(line: str) -> str:
    """Return what an end mark has behind it on its line."""
    ends = _ENDS.search(line)
    return line[ends.end() :] if ends else ""


def _may_be_mark(line: str) -> bool:
    """Say whether a line that is not whole yet may become a mark."""
    if len(line) > LONGEST:
        return False
    plain = _plain(line)
    return plain.startswith(MARKS) or any(mark.startswith(plain) for mark in (*_HEADERS, *MARKS))


def _beyond(text: str) -> str:
    """Return what follows a header, where no end mark came: without the words of our prefix, "" for a summary."""
    text = _unworded(text.lstrip("*_: \t").lstrip())
    lines = [line for line in _LINE.findall(text) if not _header(line)]
    headings = [(place, name) for place, line in enumerate(lines) if (name := _heading(line))]
    summary = len(headings) > 1 or any(place == 0 or name in _OURS for place, name in headings)
    return "" if summary else "".join(lines).lstrip()


def _unworded(text: str) -> str:
    """Take off as much as is the prefix's: whole sentences, or the line where one is begun and then changes."""
    same = commonprefix((text, _WORDING))
    ended = max((end.end() for end in _SENTENCE.finditer(same)), default=0)
    if same != _WORDING and len(same) - ended < BY_CHANCE:
        return text[ended:].lstrip()
    return (text[len(same) :] if same == _WORDING else text.partition("\n")[2]).lstrip()


def _heading(line: str) -> str:
    """Return the name of a summary's heading, "" for any other line."""
    found = _HEADING.fullmatch(line.lstrip("> \t"))
    name = found[1].strip().casefold() if found else ""
    return name if name in _NAMES else ""
