"""How lists and strangers' texts look on a terminal. In: values. Out: lines of plain text that steer nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from wcwidth import wcswidth, wcwidth

STEERING = (*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""What a terminal obeys, and what turns the reading direction of all that follows."""
_WRITTEN = {code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in STEERING}
_LINES = {code: text for code, text in _WRITTEN.items() if chr(code) not in "\n\t"}


def visible(text: str) -> str:
    """Return a text with whatever would steer the terminal written out; lines and tabs stay."""
    return text.translate(_LINES)


def one_line(text: str, width: int) -> str:
    """Return the beginning of a text as one line that takes up at most `width` columns."""
    beginning = text[: width * 8]  # of a huge text no more is looked at than can be shown
    line = " ".join(beginning.split()).translate(_WRITTEN)
    if len(beginning) == len(text) and _columns(line) <= width:
        return line
    used, kept = 1, list[str]()  # the mark at the end takes up a column
    for character in line:
        used += max(wcwidth(character), 0)
        if used > width:
            break
        kept.append(character)
    return f"{''.join(kept)}…"


def _columns(line: str) -> int:
    measured = wcswidth(line)
    return measured if measured >= 0 else len(line)


def columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows as lines, each column as wide as its widest cell, the last as long as it is."""
    widths = [max(map(_columns, column)) for column in zip(*rows, strict=True)][:-1] if rows else []
    for row in rows:
        cells = (cell + " " * (width - _columns(cell)) for cell, width in zip(row, widths, strict=False))
        yield "  ".join((*cells, row[-1])).rstrip()


def indented(text: str, by: str = "  ") -> Iterator[str]:
    """Yield the lines of a stranger's text, each with something before it that no stranger can write."""
    yield from (f"{by}{line}" for line in visible(text).split("\n"))


def utc(seconds: float) -> str | None:
    """Return a time as programs read it; nothing for a time that never was."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds") if seconds else None


def local(seconds: float) -> str:
    """Return a time as people read it."""
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S") if seconds else ""


def local_of(written: str | None) -> str:
    """Return a time that is written for programs as people read it."""
    return local(datetime.fromisoformat(written).timestamp()) if written else ""


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def numbers(ids: Iterable[int]) -> str:
    return ", ".join(map(str, ids))
