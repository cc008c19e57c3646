"""Cutting an answer into messages: Markdown and a platform's limit come in, pieces that fit and stand alone go out.

Whole blocks are kept together where they fit into a message; what is longer is cut between list items, lines,
sentences, words, and only then between grapheme clusters. The length of each block is asked for once, to know where to
cut; each piece is rendered as it will be sent, and cut shorter where its length was misjudged.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gateway.delivery.blocks import Block, Break, Fence, Heading, Raw
from gateway.delivery.outline import Place, gap, parse, write
from gateway.types import Rendered

Render = Callable[[str], Rendered]

_SPACE = re.compile(r"[ \n]")
_TRIES = 12
"""How often a cut is moved before the next finer kind of cut is tried."""


class Piece(NamedTuple):
    """A piece that fits, and where the next one begins."""

    stop: Place
    text: str
    body: Rendered


def split(markdown: str, limit: int, render: Render, *, numbered: bool = False) -> list[tuple[str, Rendered]]:
    """
    Cut Markdown into pieces whose rendered length is at most `limit`; return each with its rendered form.

    A text that fits comes back unchanged, an empty one as no piece at all. `numbered` ends each of several pieces with
    a line like ``(1/3)``. Only a single character that renders longer than the limit can make a piece too long.
    """
    _check(limit)
    if not markdown.strip():
        return []
    whole = render(markdown)
    if whole.length <= limit:
        return [(markdown, whole)]
    return _number(markdown, limit, render) if numbered else list(_Cutter(markdown, limit, render))


def fit(markdown: str, limit: int, render: Render) -> tuple[str, Rendered]:
    """Return about the longest prefix that fits, with an open fence closed: what a live message shows so far."""
    _check(limit)
    head = _beginning(markdown, 3 * limit)
    while (body := render(head)).length <= 2 * limit and len(head) < len(markdown):
        head = _beginning(markdown, 4 * len(head))
    if body.length <= limit and not _in_fence(head):
        return head, body
    return next(iter(_Cutter(head, limit, render, density=body.length / max(len(head), 1))), ("", render("")))


def _check(limit: int) -> None:
    if limit < 1:
        raise ValueError(f"a message must have room for something, not {limit}")


def _beginning(markdown: str, size: int) -> str:
    """Return at least that much of a text, up to white space, so that no link at its end is half a link."""
    found = _SPACE.search(markdown, size)
    return markdown[: found.start()] if found and found.start() < 16 * size else markdown[: 16 * size]


def _in_fence(markdown: str) -> bool:
    if "```" not in markdown and "~~~" not in markdown:
        return False
    blocks = parse(markdown)
    return bool(blocks) and isinstance(blocks[-1], Fence) and blocks[-1].open


def _number(markdown: str, limit: int, render: Render) -> list[tuple[str, Rendered]]:
    reserve = render("x\n\n(99/99)").length - render("x").length
    pieces: list[tuple[str, Rendered]] = []
    while reserve < limit / 2:
        pieces = list(_Cutter(markdown, limit - reserve, render))
        texts = [f"{text}\n\n({number}/{len(pieces)})" for number, (text, _) in enumerate(pieces, 1)]
        marked = [(text, render(text)) for text in texts]
        excess = max(body.length for _, body in marked) - limit
        if excess <= 0:
            return marked
        reserve += excess
    return list(_Cutter(markdown, limit, render))  # no room for numbers


class _Cutter:
    """
    One text on its way into pieces.

    With a `density`, the length of a character, no block is asked for its length, and each piece is filled as far as it
    goes, whatever that cuts through.
    """

    def __init__(self, markdown: str, limit: int, render: Render, *, density: float = 0) -> None:
        self._limit = limit
        self._render = render
        self._dense = density > 0
        self._blocks = parse(markdown)
        if self._dense:
            self._lengths = [len(block.source) * density + 1 for block in self._blocks]
        else:
            self._lengths = list(self._measure())
        self._before = [0.0]
        for length in self._lengths:
            self._before.append(self._before[-1] + length)

    def __iter__(self) -> Iterator[tuple[str, Rendered]]:
        start, end = Place(0), Place(len(self._blocks))
        while start < end:
            start, text, body = self._next(start)
            if text.strip():
                yield text, body

    # -- how long things are -------------------------------------------------------------------------------------------

    def _measure(self) -> Iterator[float]:
        """Yield the rendered length of each block; of small ones that stand together, its share of their length."""
        for first, stop in self._groups():
            length = self._take(Place(first), Place(stop)).body.length + self._between(stop)
            sizes = [len(block.source) + 1 for block in self._blocks[first:stop]]
            total = sum(sizes)
            yield from (length * size / total for size in sizes)

    def _between(self, index: int) -> int:
        """Return how many line ends separate a block from the one before it."""
        if index == len(self._blocks):
            return 1
        return 1 + gap(self._blocks[index - 1], self._blocks[index])

    def _groups(self) -> Iterator[tuple[int, int]]:
        first, size = 0, 0
        for index, block in enumerate(self._blocks):
            if size and size + len(block.source) > self._limit / 16:
                yield first, index
                first, size = index, 0
            size += len(block.source) + 1
        if first < len(self._blocks):
            yield first, len(self._blocks)

    def _take(self, start: Place, stop: Place) -> Piece:
        text = write(self._blocks, start, stop)
        return Piece(stop, text, self._render(text))

    def _rest(self, start: Place) -> float:
        """Estimate how long the rest of a block is."""
        size = len(self._blocks[start.block].source)
        return self._lengths[start.block] * ((size - start.offset) / size if start.offset else 1)

    def _estimate(self, start: Place, stop: Place) -> float:
        """Estimate how long what stands between two places is."""
        tail = self._lengths[stop.block] - self._rest(stop) if stop.offset else 0.0
        return self._before[stop.block] + tail - self._before[start.block + 1] + self._rest(start)

    # -- the next piece ------------------------------------------------------------------------------------------------

    def _next(self, start: Place) -> Piece:
        """Cut as well as it goes, and a little worse for as long as nothing fits."""
        if piece := self._search(start, self._choose) or self._fitting(start, self._following(start)):
            return piece
        block = self._blocks[start.block]
        until = min(self._following(start).offset or len(block.source), start.offset + self._limit + 64)
        for offsets in (block.letters(start.offset, until), block.inside(start.offset, until)):
            if piece := self._among(start, list(offsets)):
                return piece
        return self._plainer(start)

    def _search(self, start: Place, choose: Callable[[Place, float], Place]) -> Piece | None:
        """Look for a cut by the estimates, and correct them by what the pieces really are."""
        found: Piece | None = None
        room, low, high = self._limit + 1.0, 0.0, 0.0  # the last separator is not sent
        for _ in range(_TRIES):
            stop = choose(start, room)
            if stop == start or (found and stop == found.stop):
                break
            piece = self._take(start, stop)
            guess = max(self._estimate(start, stop), 1.0)
            scale = self._limit / max(piece.body.length, 1)
            if scale >= 1:
                found, low = piece, room
                if not stop.offset or piece.body.length >= guess * 7 / 8:
                    break
            else:
                high = room
            if low and high:
                room = (low + high) / 2
            elif low:
                room *= min(scale, 4)
            else:
                # What was a little too long gets twice the difference shorter, to come closer in few steps.
                room = min(room, guess) * max(scale * 31 / 32, 2 * scale - 1)
        return found

    def _fitting(self, start: Place, stop: Place) -> Piece | None:
        if self._estimate(start, stop) > 4 * self._limit:
            return None  # asking again for each piece of something huge would cost its length each time
        piece = self._take(start, stop)
        return piece if piece.body.length <= self._limit else None

    def _among(self, start: Place, offsets: list[int]) -> Piece | None:
        """Cut at one of some offsets in the block that the piece begins with."""

        def choose(start: Place, room: float) -> Place:
            at = bisect_right(offsets, self._reach(start, room)) - 1
            return Place(start.block, offsets[max(at, 0)])

        if not offsets:
            return None
        return self._search(start, choose) or self._fitting(start, Place(start.block, offsets[0]))

    def _plainer(self, start: Place) -> Piece:
        """Give up the markup of a block that cannot be cut within it; at last let a character be too long."""
        block = self._blocks[start.block]
        if isinstance(block, Raw):
            stop = start.offset + 1
            return self._take(start, Place(start.block, stop) if stop < len(block.source) else Place(start.block + 1))
        if type(block) is Block and not block.boxes:
            self._blocks[start.block] = Raw(block.source, (), block.lines)
            return self._next(start)
        text = write(self._blocks, start, Place(start.block + 1))
        self._lengths[start.block] = self._rest(start)
        self._blocks[start.block] = Block(text, (), block.lines)
        if start.offset:
            for box in block.boxes:  # which began in an earlier piece, though the block now begins anew
                box.first = min(box.first, start.block - 1)
        return self._next(Place(start.block))

    # -- where to cut --------------------------------------------------------------------------------------------------

    def _choose(self, start: Place, room: float) -> Place:
        """Return where a piece that begins at `start` had best end if it may be about `room` long."""
        left = room - self._rest(start)
        if left < 0:
            return self._inside(start, room)
        base = self._before[start.block + 1]
        last = max(bisect_right(self._before, base + left) - 1, start.block + 1)
        if last >= len(self._blocks):
            return Place(len(self._blocks))
        whole = None if self._dense else self._whole(start, last)
        if whole is not None:
            return self._with_heading(start, whole)
        left -= self._before[last] - base
        if self._dense or left >= self._limit / 4:
            inside = self._inside(Place(last), left)
            if inside.offset:
                return inside
        return self._with_heading(start, last)

    def _whole(self, start: Place, last: int) -> int | None:
        """Find the outermost box around a block, or the block, that goes into a piece of its own; return its first."""
        for box in self._blocks[last].boxes:
            if box.first > start.block and self._before[box.end] - self._before[box.first] <= self._limit + 1:
                return box.first
        return last if self._lengths[last] <= self._limit + 1 else None

    def _with_heading(self, start: Place, first: int) -> Place:
        """Move the cut before a heading that would end the piece, if it then stands with what it is the heading of."""
        before = first
        while first - before < 3 and before - 1 > start.block and isinstance(self._blocks[before - 1], Heading):
            before -= 1
        together = self._before[first + 1] - self._before[before] <= self._limit + 1
        return Place(before if together else first)

    def _inside(self, start: Place, room: float) -> Place:
        """Return the best place within a block, or `start` if there is none that near."""
        block, reach = self._blocks[start.block], self._reach(start, room)
        half = (start.offset + reach) / 2
        best = self._break(block.breaks, start.offset, half, reach)
        place = Place(start.block, best)
        following = self._following(place)
        if best >= half or self._estimate(place, following) <= self._limit:
            return place
        # A word that fits nowhere need not begin a new piece.
        *_, last = best, *block.letters(best, min(following.offset or len(block.source), int(reach) + 1))
        return Place(start.block, last)

    def _break(self, breaks: list[Break], start: int, half: float, reach: float) -> int:
        """Return the best break up to `reach`, in its second half if it has any; `start` if there is none at all."""
        first, last = _behind(breaks, start), _behind(breaks, reach)
        if first == last:
            return start
        near = last - 1 if self._dense else min(max(first, _behind(breaks, half)), last - 1)
        return min(breaks[near:last], key=lambda cut: (cut.rank, -cut.offset)).offset

    def _following(self, start: Place) -> Place:
        """Return the nearest place behind `start` where words end."""
        breaks = self._blocks[start.block].breaks
        at = _behind(breaks, start.offset)
        return Place(start.block, breaks[at].offset) if at < len(breaks) else Place(start.block + 1)

    def _reach(self, start: Place, room: float) -> float:
        """Estimate the offset that is `room` away."""
        return start.offset + room * len(self._blocks[start.block].source) / max(self._lengths[start.block], 1.0)


def _behind(breaks: list[Break], offset: float) -> int:
    """Return the index of the first break behind an offset."""
    return bisect_right(breaks, offset, key=lambda cut: cut.offset)
