"""Keeps a fence that the model repeats out of what people see, while the answer is still being written. Pure.

In: the deltas of one answer. Out: what may be shown of them so far. However an answer is cut into deltas, the whole
that is shown is the same.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from enum import Enum, auto

from gateway.agent.memory.fence import CLOSE, NOTE_BEGINS, OPEN
from gateway.messages import Finished, Progress, Retracted, TextDelta, ToolStarted

LONGEST_LINE = 500
"""Characters of a line that may be the note; a longer one is not."""

_END = re.compile(r"</[ \t]{0,8}memory-context[ \t]{0,8}>", re.IGNORECASE)
LONGEST_END = 40


class _At(Enum):
    LINE = auto()  # the beginning of a line, where a fence may begin
    TEXT = auto()  # within a line that is shown
    SPAN = auto()  # behind a fence
    AFTER = auto()  # behind the end of a span: the white space that parted it from the text goes too


class Scrubber:
    """
    Filters one answer. What may turn out to be a tag is held back until that is known.

    A fence is seen only where it stands on a line of its own, as in what the model was sent; text about the tag within
    a line or in code within a line stays.
    """

    def __init__(self) -> None:
        self._at = _At.LINE
        self._held = ""

    def feed(self, delta: str) -> str:
        """Return what may be shown now."""
        text, self._held = self._held + delta, ""
        shown: list[str] = []
        while text:
            show, text = _STEPS[self._at](self, text)
            shown.append(show)
        return "".join(shown)

    def flush(self) -> str:
        """Return what was held back and is no tag, at the end of the answer; begin anew for another one."""
        held = "" if self._at is _At.SPAN or _mark(self._held) else self._held
        self._at, self._held = _At.LINE, ""
        return held

    def _line(self, text: str) -> tuple[str, str]:
        line, newline, rest = text.partition("\n")
        if not newline and _may_be_mark(line):
            self._held = line
            return "", ""
        if newline and (mark := _mark(line)):
            self._at = _At.SPAN if mark == OPEN else _At.AFTER
            return "", rest
        self._at = _At.TEXT
        return "", text

    def _text(self, text: str) -> tuple[str, str]:
        line, newline, rest = text.partition("\n")
        if newline:
            self._at = _At.LINE
        return line + newline, rest

    def _span(self, text: str) -> tuple[str, str]:
        if end := _END.search(text):
            self._at = _At.AFTER
            return "", text[end.end() :]
        self._held = text[-LONGEST_END:]
        return "", ""

    def _after(self, text: str) -> tuple[str, str]:
        rest = text.lstrip()
        if rest:
            self._at = _At.LINE
        return "", rest


_STEPS = {_At.LINE: Scrubber._line, _At.TEXT: Scrubber._text, _At.SPAN: Scrubber._span, _At.AFTER: Scrubber._after}


def _mark(line: str) -> str:
    """Return which part of a fence a whole line is, "" for none."""
    bare = line.strip().lower()
    if len(line) > LONGEST_LINE:
        return ""
    if bare in {OPEN, CLOSE}:
        return bare
    return NOTE_BEGINS if _is_note(bare) and bare.endswith("]") else ""


def _may_be_mark(line: str) -> bool:
    """Say whether a line that is not whole yet may become part of a fence."""
    bare = line.strip().lower()
    if len(line) > LONGEST_LINE:
        return False
    return OPEN.startswith(bare) or CLOSE.startswith(bare) or _is_note(bare) or NOTE_BEGINS.lower().startswith(bare)


def _is_note(bare: str) -> bool:
    return bare.startswith(NOTE_BEGINS.lower())


async def scrubbed(report: AsyncGenerator[Progress]) -> AsyncGenerator[Progress]:
    """Pass on what a turn reports, without a fence in its text."""
    scrubber = Scrubber()
    async with aclosing(report) as progresses:
        async for progress in progresses:
            if isinstance(progress, TextDelta):
                if text := scrubber.feed(progress.text):
                    yield TextDelta(text)
                continue
            if isinstance(progress, Finished):
                progress = replace(progress, text=_whole(progress.text))
            elif isinstance(progress, ToolStarted) and (text := scrubber.flush()):
                yield TextDelta(text)
            elif isinstance(progress, Retracted):
                scrubber.flush()
            yield progress


def _whole(text: str) -> str:
    scrubber = Scrubber()
    left = scrubber.feed(text) + scrubber.flush()
    return text if left == text else left.strip()
