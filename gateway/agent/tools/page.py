"""Text files, a page at a time.

In: an open file of any size and content. Out: numbered lines, at most 2,000 of them, 50,000 bytes and 2,000
characters a line (the reference's limits), and where to read on; or a sentence that says why this is no text.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Iterator
from typing import BinaryIO

from gateway.errors import ToolError

MOST_LINES = 2_000
MOST_BYTES = 50_000
WIDTH = 2_000  # characters
LINE_BYTES = WIDTH * 4  # no character takes more
FARTHEST = 256 * 1024 * 1024  # bytes read in search of a line


def page(file: BinaryIO, *, offset: int, limit: int) -> str:
    """Return lines `offset`, counted from 1, and following."""
    rows: list[str] = []
    size = number = 0
    for number, (raw, goes_on) in enumerate(_lines(file), start=1):
        if number < offset:
            continue
        row = f"{number}|{_text(raw, number, goes_on=goes_on)}"
        size += len(row.encode()) + 1
        if len(rows) == limit or (rows and size > MOST_BYTES):
            return "\n".join([*rows, f"[more follows: read on with offset={number}]"])
        rows.append(row)
    if number == 0:
        return "[the file is empty]"
    if not rows:
        raise ToolError(f"the file ends with line {number}")
    return "\n".join([*rows, f"[end of the file, {number} lines]"])


def _lines(file: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """Yield each line's first bytes, and whether it goes on after them."""
    read = 0
    while raw := file.readline(LINE_BYTES):
        rest = b"" if raw.endswith(b"\n") else file.readline(LINE_BYTES)
        goes_on = rest not in {b"", b"\n", b"\r\n"}
        read += len(raw) + len(rest)
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(1024 * 1024)
            read += len(rest)
            _check(read)
        _check(read)
        yield raw, goes_on


def _check(read: int) -> None:
    if read > FARTHEST:
        raise ToolError(f"too large to page: the lines up to there are more than {FARTHEST // 1024 // 1024} MB")


def _text(raw: bytes, number: int, *, goes_on: bool) -> str:
    if b"\0" in raw:
        raise ToolError(f"a binary file: there is a NUL byte in line {number}")
    try:
        text = getincrementaldecoder("utf-8")().decode(raw, final=not goes_on)
    except UnicodeDecodeError as error:
        wrong = raw[error.start]
        raise ToolError(f"not UTF-8 text: byte 0x{wrong:02x} in line {number} does not belong there") from None
    text = text.removesuffix("\n").removesuffix("\r")
    if number == 1:
        text = text.removeprefix("\ufeff")
    return f"{text[:WIDTH]} [cut: a line of more than {WIDTH:,} characters]" if goes_on or len(text) > WIDTH else text
