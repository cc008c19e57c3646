"""Files and folders that a message refers to.

In: the folders that may be read, a reference. Out: the text of a regular file, or what is in a folder. How much a file
holds is known before it is read, and of one that holds too much only the beginning is. For a thread to do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from gateway.agent.references.denied import check, is_denied
from gateway.agent.references.parse import Kind, Reference
from gateway.agent.references.piece import Piece
from gateway.agent.references.text import decoded
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
IN_PARTS = "read it in parts with read_file"


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
    size = os.fstat(file.fileno()).st_size
    if reference.first > reference.last or (reference.last and not reference.first):
        raise ToolError("lines are counted from 1, and the first comes before the last")
    far = bool(reference.first) and size > most
    raw = _lines(file, reference, most) if far else file.read(HEAD_BYTES if size > most else most + 1)
    whole = len(raw) <= most and (far or size <= most)
    read = decoded(raw if whole else raw[:HEAD_BYTES], cut=far or not whole)
    if read is None:
        note = f"[a binary file of {size:,} bytes; it is not shown, use tools to look into it]"
        return Piece(reference, "📎", note, size=size)
    text, remark = read
    if reference.first and whole and not far:
        text = _within(text, reference)
    language = _language(reference.value)
    return Piece(
        reference, "📄", text or "[the file is empty]", language, remark, size=size, whole=whole, advice=IN_PARTS
    )


def _lines(file: BinaryIO, reference: Reference, most: int) -> bytes:
    """Return the lines that are meant from a file that is too large to be read whole; a byte too much tells of more."""
    kept, number, seen = bytearray(), 1, 0
    while number <= reference.last and len(kept) <= most and (piece := file.readline(CHUNK)):
        seen += len(piece)
        if seen > FARTHEST:
            raise ToolError(f"too large: the lines up to there are more than {FARTHEST // 1024 // 1024} MB")
        if number >= reference.first:
            kept += piece
        number += piece.endswith(b"\n")
    if not kept:
        raise ToolError(f"the file ends before line {reference.first}")
    return bytes(kept)


def _within(text: str, reference: Reference) -> str:
    lines = text.removesuffix("\n").split("\n")
    if reference.first > len(lines) or not text:
        raise ToolError(f"the file ends with line {len(lines) if text else 0}")
    return "\n".join(lines[reference.first - 1 : reference.last])


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
