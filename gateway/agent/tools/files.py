"""read_file and write_file.

In: a path in the workspace of the turn, or one to read beneath a folder the settings add. Out: a page of text, or a
file that is whole or not there. Only regular files; links are followed as long as they stay inside.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, BinaryIO

from pydantic import Field

from gateway.agent.references.denied import check
from gateway.agent.tools.beneath import beneath
from gateway.agent.tools.named import folder_of
from gateway.agent.tools.page import MOST_LINES, page
from gateway.agent.tools.whole import check_kind, replace_file
from gateway.agent.tools.workspace import INSIDE
from gateway.errors import ToolError
from gateway.toolkit.function import Tool, tool
from gateway.toolkit.limits import brief
from gateway.types import Role, Turn

NONE: Mapping[str, Path] = MappingProxyType({})
READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
WHY = {
    errno.ENOENT: "there is no such file",
    errno.ENOTDIR: "a part of the path is not a folder",
    errno.EISDIR: "it is a folder",
    errno.ELOOP: "there are too many links on the way, or one that just changed",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EACCES: "it may not be opened",
    errno.ENXIO: "it is not a regular file",
    errno.ENOSPC: "the disk is full; nothing was changed",
    errno.EDQUOT: "the disk quota is used up; nothing was changed",
    errno.EROFS: "the disk is read-only",
}


def file_tools(read_dirs: Sequence[Path] = (), named: Mapping[str, Path] = NONE) -> tuple[Tool, Tool]:
    """Return read_file and write_file; `read_dirs` may be read besides the workspace, and folders with a name."""

    @tool(parallel=True, repeatable=True, role=Role.MEMBER)
    def read_file(
        path: str,
        turn: Turn,
        offset: Annotated[int, Field(ge=1)] = 1,
        limit: Annotated[int, Field(ge=1, le=MOST_LINES)] = MOST_LINES,
    ) -> str:
        """
        Read a text file as numbered lines. A long file comes in pages; the last line says where the next one begins.

        Args:
            path: The file, relative to the workspace.
            offset: The first line, counted from 1.
            limit: How many lines at most.
        """
        root, inside = place(path, (_workspace(turn), *read_dirs), named)
        with naming(path), beneath(root, inside) as (folder, name), regular(folder, name) as file:
            if root in named.values():  # the home's own, and whoever reads it need not be who put keys there
                check(root / inside, file.fileno())
            return page(file, offset=offset, limit=limit)

    @tool(role=Role.MEMBER)
    def write_file(path: str, content: str, turn: Turn) -> str:
        """
        Write a text file, in place of what it held before. Folders on the way are made.

        Args:
            path: The file, relative to the workspace.
            content: All of its new content.
        """
        root, inside = place(path, (_workspace(turn),))
        data = content.encode()
        with naming(path), beneath(root, inside, make_folders=True) as (folder, name):
            before = replace_file(folder, name, data)
        lines = content.count("\n") + (not content.endswith("\n") and content != "")
        return f"{'replaced' if before else 'wrote'} {brief(path)}: {lines:,} lines, {len(data):,} bytes"

    return read_file, write_file


def _workspace(turn: Turn) -> Path:
    if not turn.workspace:
        raise ToolError("this conversation has no workspace folder")
    return Path(turn.workspace)


def place(path: str, roots: Sequence[Path], named: Mapping[str, Path] = NONE) -> tuple[Path, str]:
    """Say beneath which of our folders, the workspace first, a path lies by its spelling, and its path there."""
    if not path.strip():
        raise ToolError("the path is empty")
    if path.startswith("~/"):  # the workspace is the home of what runs in it
        return roots[0], path[2:]
    if not path.startswith("/"):
        return roots[0], path
    absolute = Path("/" + path.lstrip("/"))  # two slashes would be a root of their own
    if found := folder_of(absolute, {INSIDE: roots[0], **named}):
        return found
    for root in roots:
        if absolute.is_relative_to(root):
            return root, str(absolute.relative_to(root))
    raise ToolError(f"{brief(path)} is not in the workspace; paths are relative to it")


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Say of which path an error speaks."""
    try:
        yield
    except ToolError as error:
        raise ToolError(f"{brief(path)}: {error}") from None
    except OSError as error:
        raise ToolError(f"{brief(path)}: {WHY.get(error.errno or 0, error.strerror)}") from error


@contextmanager
def regular(folder: int, name: str) -> Iterator[BinaryIO]:
    """Open a regular file for reading; raise `ToolError` for anything else."""
    descriptor = os.open(name, READ, dir_fd=folder)
    try:
        check_kind(os.fstat(descriptor).st_mode)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(descriptor)
