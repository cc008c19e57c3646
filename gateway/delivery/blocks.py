"""The kinds of blocks that Markdown is made of: each gets its source, and says where it may be cut.

A block also writes a part of itself so that the part stands alone: a fence closes and opens again, a table repeats its
header, emphasis ends and begins again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

from wcwidth import iter_graphemes

from gateway.delivery import inline

_SPACE = re.compile(r"[ \t\n\u3000\u200b]+|(?<=[。！？；，、：」』）])(?=[^\s。！？；，、：」』）])")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’»)\]*_~]*$")
_BLOCK_START = re.compile(
    r"(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$)|>|#{1,6}(?:[ \t]|$)|```|~~~|([-*_])(?:[ \t]{0,3}\1){2,80}[ \t]*$"
    r"|<[A-Za-z/!?]|\[[^\]\n]{1,200}\]:",
    re.MULTILINE,
)
_RULED = re.compile(r"[ \t]*[-:|=][-:|= \t]*")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+")
_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})[ \t]*([^\s`]{0,40})")


class Rank(IntEnum):
    """How well a place inside a block suits a cut; the lowest is best."""

    LINE = 0
    SENTENCE = 1
    WORD = 2
    EMPHASISED = 3


class Break(NamedTuple):
    """A place where a block may be cut: what follows begins at `offset`."""

    offset: int
    rank: Rank


@dataclass(slots=True, eq=False)
class Box:
    """
    A quote, a list or a list item, around the blocks from `first` to before `end`.

    `line` is where it begins in the source. An item has a `marker`, and a `counted` one for where its list began in
    an earlier piece: the third of ``1. 1. 1.`` is shown as 3 only as long as it is counted from the first.
    """

    kind: str
    first: int
    line: int
    marker: str = ""
    counted: str = ""
    items: int = 0
    end: int = 0


@dataclass(eq=False)
class Block:
    """A stretch of text without markup of its own, and what every other block falls back to."""

    source: str
    boxes: Sequence[Box] = ()
    lines: range = field(default=range(1))

    @cached_property
    def breaks(self) -> list[Break]:
        """Where to cut, ascending: behind lines, sentences and words."""
        return list(self._breaks())

    def _breaks(self) -> Iterator[Break]:
        source, line = self.source, 0
        for match in _SPACE.finditer(source):
            offset = match.end()
            ruled = line > 0 and match.start() - line < 200 and _RULED.fullmatch(source, line, match.start())
            if "\n" in match.group():
                line = offset
            if not match.start() or offset == len(source) or ruled or not self._free(offset):
                continue
            if line == offset:
                yield Break(offset, Rank.LINE)
            elif _SENTENCE_END.search(source, max(0, match.start() - 8), match.start()):
                yield Break(offset, Rank.SENTENCE)
            else:
                yield Break(offset, self._word(offset))

    def _free(self, offset: int) -> bool:
        return _own_cluster(self.source, offset) and not _BLOCK_START.match(self.source, offset)

    def _word(self, offset: int) -> Rank:
        return Rank.WORD

    def letters(self, start: int, stop: int) -> Iterator[int]:
        """Yield where to cut between `start` and `stop` if words are too long: between grapheme clusters."""
        return clusters(self.source, start, stop)

    def inside(self, start: int, stop: int) -> Iterator[int]:
        """Yield where to cut if not even what belongs together fits."""
        return clusters(self.source, start, stop)

    def part(self, start: int, stop: int) -> str:
        """Write what stands between two offsets so that it stands alone."""
        text = self.source[start:stop]
        text = text.lstrip(" \t\n") if start else text.lstrip("\n")
        return self._escape(text.rstrip(" \t\n"), start)

    @staticmethod
    def _escape(text: str, start: int) -> str:
        return f"\\{text}" if start and not text[:1].isdigit() and _BLOCK_START.match(text) else text


class Raw(Block):
    """What is cut at any character, because nothing else fits."""

    def letters(self, start: int, stop: int) -> Iterator[int]:
        at = start
        for edge in (*clusters(self.source, start, stop), stop):
            if edge - at > 64:  # a letter under a heap of accents
                yield from range(at + 1, edge)
            if edge < stop:
                yield edge
            at = edge

    def inside(self, start: int, stop: int) -> Iterator[int]:
        return iter(range(start + 1, stop))

    def part(self, start: int, stop: int) -> str:
        return self.source[start:stop].strip("\n")


class Html(Block):
    """HTML, and a rule between paragraphs: no word in it begins a block of another kind."""

    def _free(self, offset: int) -> bool:
        return _own_cluster(self.source, offset)

    @staticmethod
    def _escape(text: str, start: int) -> str:
        return text


class Text(Block):
    """A paragraph or a heading."""

    @cached_property
    def inline(self) -> inline.Inline:
        return inline.read(self.source)

    def _free(self, offset: int) -> bool:
        return self.inline.whole(offset) and super()._free(offset)

    def _word(self, offset: int) -> Rank:
        return Rank.EMPHASISED if self.inline.emphasised(offset) else Rank.WORD

    def letters(self, start: int, stop: int) -> Iterator[int]:
        return (offset for offset in super().letters(start, stop) if self.inline.whole(offset))

    def inside(self, start: int, stop: int) -> Iterator[int]:
        return (offset for offset in super().inside(start, stop) if offset not in self.inline.forbidden)

    def part(self, start: int, stop: int) -> str:
        text = super().part(start, stop)
        if start:
            text = "".join(self.inline.open_at(start)) + text
        if stop < len(self.source):
            text += "".join(reversed(self.inline.open_at(stop)))
        return text


class Heading(Text):
    """A heading: it stays with what follows, and each part of it is one."""

    def part(self, start: int, stop: int) -> str:
        mark = _HEADING.match(self.source) if start else None
        return (mark.group() if mark else "") + super().part(start, stop)


class Underlined(Heading):
    """A heading that is one by the line under it, which every part repeats."""

    @property
    def _end(self) -> int:
        return self.source.rindex("\n")

    def _breaks(self) -> Iterator[Break]:
        return (cut for cut in super()._breaks() if cut.offset <= self._end)

    def letters(self, start: int, stop: int) -> Iterator[int]:
        return super().letters(start, min(stop, self._end))

    def inside(self, start: int, stop: int) -> Iterator[int]:
        return super().inside(start, min(stop, self._end))

    def part(self, start: int, stop: int) -> str:
        return super().part(start, stop) + (self.source[self._end :] if stop < len(self.source) else "")


class Lines(Block):
    """What is cut between its lines only: indented code."""

    def _breaks(self) -> Iterator[Break]:
        return (Break(match.end(), Rank.LINE) for match in re.finditer(r"\n", self.source))

    def part(self, start: int, stop: int) -> str:
        indent = "    " if start and self.source[start - 1] != "\n" else ""
        return indent + self.source[start:stop].strip("\n")


class Table(Lines):
    """Rows under a header that every part repeats."""

    @cached_property
    def _header(self) -> str:
        return "".join(f"{line}\n" for line in self.source.split("\n")[:2])

    def _breaks(self) -> Iterator[Break]:
        return (cut for cut in super()._breaks() if cut.offset > len(self._header))

    def letters(self, start: int, stop: int) -> Iterator[int]:
        return iter(())

    inside = letters

    def part(self, start: int, stop: int) -> str:
        return (self._header if start else "") + self.source[start:stop].rstrip("\n")


class Fence(Lines):
    """Code in a fence that every part opens and closes."""

    @cached_property
    def _opening(self) -> tuple[str, str]:
        """The fence as written, and the one that opens each further part: with the language, without the rest."""
        line = self.source.partition("\n")[0]
        found = _FENCE.match(line)
        return (line, "".join(found.groups())) if found else (line, line)

    @cached_property
    def _closing(self) -> str:
        found = _FENCE.match(self.source)
        return found.group(1) + found.group(2) if found else "```"

    @cached_property
    def _code(self) -> tuple[int, int]:
        """From where to where the code stands, without the fences."""
        begin = min(len(self._opening[0]) + 1, len(self.source))
        last = self.source.rfind("\n") + 1
        mark = self._closing.strip()
        tail = self.source[last:].strip()
        closed = last >= begin and len(tail) >= len(mark) and not tail.strip(mark[0])
        return begin, last if closed else len(self.source)

    def _breaks(self) -> Iterator[Break]:
        begin, end = self._code
        return (cut for cut in super()._breaks() if begin < cut.offset < end)

    def letters(self, start: int, stop: int) -> Iterator[int]:
        begin, end = self._code
        found = clusters(self.source, max(start, begin), min(stop, end))
        return (offset for offset in found if self.source[offset] != "\n")

    inside = letters

    def part(self, start: int, stop: int) -> str:
        begin, end = self._code
        opening = self._opening[1] if start else self._opening[0]
        code = self.source[max(start, begin) : min(stop, end)].removesuffix("\n")
        body = f"{code}\n" if code or self.source[begin:end] else ""
        closed = stop == len(self.source) and end < stop
        return f"{opening}\n{body}{self.source[end:] if closed else self._closing}"

    @property
    def open(self) -> bool:
        """Say whether the closing fence is missing."""
        return self._code[1] == len(self.source)


def clusters(text: str, start: int, stop: int) -> Iterator[int]:
    """Yield the boundaries between grapheme clusters strictly between two offsets; a lone pair of surrogates is one."""
    at = start
    for cluster in iter_graphemes(text, start, stop):
        at += len(cluster)
        if at < stop and not ("\ud800" <= text[at - 1] <= "\udbff" and "\udc00" <= text[at] <= "\udfff"):
            yield at


def _own_cluster(text: str, offset: int) -> bool:
    """Say whether a cluster begins at `offset`, right behind white space or a full stop."""
    return text[offset] < "\u0300" or len(next(iter_graphemes(text, offset - 1, offset + 1))) == 1
