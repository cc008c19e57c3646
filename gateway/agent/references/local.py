"""Files and folders that a message refers to.

In: the folders that may be read, a reference. Out: the text of a regular file, or what is in a folder. How much a file
holds is known before it is read, and of one that holds too much only the beginning is. For a thread to do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from gateway.agent.references.denied import check, is_denied
from gateway.agent.references.parse import Kind, Reference
from gateway.agent.references.piece import Piece
from gateway.agent.references.text import decoded, utf16
from gateway.agent.tools.beneath import FOLDER, beneath
from gateway.agent.tools.files import naming, place, regular
from gateway.agent.tools.page import FARTHEST
from gateway.errors import ToolError

HEAD_BYTES = 4096
"""What is read of a file that is too large."""
CHUNK = 64 * 1024
MOST_ENTRIES = 200
MOST_SEEN = 2_000
"""Entries of one folder that are looked at."""
DEEPEST = 8
CLOSED = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache"})
"""Folders that are named in a listing, and not what is in them."""
LANGUAGES = {
    "py": "python",
    "js": "javascript",
    "ts": "typescript",
    "rs": "rust",
    "rb": "ruby",
    "sh": "bash",
    "yml": "yaml",
    "md": "markdown",
    "h": "c",
    "hpp": "cpp",
    "cs": "csharp",
    "kt": "kotlin",
}
"""Where the ending of a file's name is not its language's own."""


def read(reference: Reference, roots: Sequence[Path], most: int) -> Piece:
    """Return what a file (of more than `most` bytes: its beginning) or a folder holds; `ToolError` says why not."""
    root, inside = place(reference.value, roots)
    with naming(reference.value), beneath(root, inside) as (folder, name):
        if reference.kind is Kind.FOLDER:
            return _folder(reference, root / inside, folder, name)
        with regular(folder, name) as file:
            check(root / inside, file.fileno())
            return _file(reference, file, most)


def _file(reference: Reference, file: BinaryIO, most: int) -> Piece:
    if reference.first > reference.last or (reference.last and not reference.first):
        raise ToolError("lines are counted from 1, and the first comes before the last")
    read, size = _lines(file, reference, most) if reference.first else _all(file, most)
    if read is None:
        held = os.fstat(file.fileno()).st_size
        note = f"[a binary file of {held:,} bytes; it is not shown, use tools to look into it]"
        return Piece(reference, "📎", note)
    text, remark = read
    text = text or ("[the line is empty]" if reference.first else "[the file is empty]")
    language = _language(reference.value)
    return Piece(reference, "📄", text, language, remark, size if size > most else 0)


def _all(file: BinaryIO, most: int) -> tuple[tuple[str, str] | None, int]:
    """Return what a file holds, as `decoded` gives it, and its size; of too much, the beginning."""
    size = os.fstat(file.fileno()).st_size
    raw = file.read(HEAD_BYTES if size > most else most + 1)
    size = max(size, len(raw))  # it may have grown meanwhile
    return _decoded(raw, cut=size > most), size


def _lines(file: BinaryIO, reference: Reference, most: int) -> tuple[tuple[str, str] | None, int]:
    """Return the lines that are meant, as `_all` does. Of a file of any size no more is in memory than is shown."""
    head = file.read(HEAD_BYTES)
    beginning = decoded(head, cut=True)
    if beginning is None:
        return None, 0
    file.seek(0)
    wide = utf16(head)
    lines = TextIOWrapper(file, wide or "utf-8", errors="replace" if wide else "surrogateescape", newline="\n")
    kept, size = _ranged(lines, reference, most)
    read = _decoded(kept, cut=size > most)
    return read and (read[0], read[1] or beginning[1]), size


def _ranged(lines: TextIOWrapper, reference: Reference, most: int) -> tuple[bytes, int]:
    """Return lines in UTF-8, or what it was that is none, and their size; of more than `most` bytes, the beginning."""
    kept, size, seen, number, ended = bytearray(), 0, 0, 1, True
    while number <= reference.last and (piece := lines.readline(CHUNK)):
        raw = piece.encode(errors="surrogateescape")
        seen += len(raw)
        if seen > FARTHEST and size <= most:
            raise ToolError(f"too large: the lines up to there are more than {FARTHEST // 1024 // 1024} MB")
        if seen > FARTHEST:
            break
        if number >= reference.first:
            size += len(raw)
            kept += raw if len(kept) <= most else b""
        ended = piece.endswith("\n")
        number += ended
    if not size:
        raise ToolError(f"the file ends with line {number - ended}")
    return bytes(kept.removesuffix(b"\n")), size


def _decoded(raw: bytes, *, cut: bool) -> tuple[str, str] | None:
    return decoded(raw[:HEAD_BYTES] if cut else raw, cut=cut)


def _language(path: str) -> str:
    ending = Path(path).suffix.lstrip(".").lower()
    return LANGUAGES.get(ending, ending) if ending.isascii() and ending.isalnum() and len(ending) <= 12 else ""


def _folder(reference: Reference, path: Path, folder: int, name: str) -> Piece:
    descriptor = os.open(name, FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    try:
        check(path, descriptor)
        rows = list(islice(_rows(descriptor, path.resolve(), 0), MOST_ENTRIES + 1))
    finally:
        os.close(descriptor)
    more = f"\n[more than {MOST_ENTRIES} entries; the rest is left out]" if len(rows) > MOST_ENTRIES else ""
    return Piece(reference, "📁", "\n".join(rows[:MOST_ENTRIES]) + more or "[the folder is empty]", "")


def _rows(descriptor: int, path: Path, depth: int) -> Iterator[str]:
    with os.scandir(descriptor) as entries:
        found = sorted(islice(entries, MOST_SEEN), key=lambda entry: entry.name)
    if len(found) == MOST_SEEN:
        yield f"{'  ' * depth}[only {MOST_SEEN} entries of this folder were looked at]"
    for entry in found:
        shown = entry.name if entry.name.isprintable() else repr(entry.name)
        if not entry.is_dir(follow_symlinks=False):
            yield f"{'  ' * depth}{shown}{_what(entry)}"
            continue
        yield f"{'  ' * depth}{shown}/"
        if entry.name not in CLOSED and depth + 1 < DEEPEST and not is_denied(path / entry.name):
            yield from _below(descriptor, path, entry.name, depth)


def _below(descriptor: int, path: Path, name: str, depth: int) -> Iterator[str]:
    try:
        below = os.open(name, FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
    except OSError:  # not ours to read, or gone meanwhile
        return
    try:
        yield from _rows(below, path / name, depth + 1)
    finally:
        os.close(below)


def _what(entry: os.DirEntry[str]) -> str:
    try:
        if entry.is_symlink():
            return " (a link)"
        return f" ({entry.stat(follow_symlinks=False).st_size:,} bytes)" if entry.is_file() else " (no regular file)"
    except OSError:
        return ""
