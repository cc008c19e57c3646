"""Names beneath a folder, whatever links lie in it and whoever moves them meanwhile.

In: a folder of ours and a path that somebody else wrote. Out: the open folder that holds what the path names, and
its name there. Each folder on the way is opened from the descriptor of the one before and never through a link; a
link is read and its path walked the same way, so that nothing is checked first and opened afterwards.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gateway.agent.tools.workspace import INSIDE
from gateway.errors import ToolError

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
LONGEST_PATH = 4096
DEEPEST = 64
MOST_LINKS = 40


@contextmanager
def beneath(root: Path, path: str, *, make_folders: bool = False) -> Iterator[tuple[int, str]]:
    """
    Yield an open folder beneath `root` and the name in it that `path` leads to; the name is "." for the root itself.

    What has that name may not exist and, until it is opened with O_NOFOLLOW, may turn into a link. Raise `ToolError`
    for a path that leads outside, `OSError` for one that leads nowhere.
    """
    if "\0" in path or len(path) > LONGEST_PATH:
        raise ToolError("a path has at most 4096 characters, and no NUL among them")
    walk = _Walk(root, make_folders=make_folders)
    try:
        yield walk.to(path)
    finally:
        walk.close()


class _Walk:
    def __init__(self, root: Path, *, make_folders: bool) -> None:
        self._root, self._make = root, make_folders
        self._open = [os.open(root, FOLDER)]

    def to(self, path: str) -> tuple[int, str]:
        todo, links = _names(path), 0
        while todo:
            name = todo.pop()
            if name == "..":
                self._up()
            elif (target := self._link(name)) is not None:
                todo += self._names_behind(target)
                links += 1
                if links > MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            elif todo:
                self._enter(name)
            else:
                return self._open[-1], name
        return self._open[-1], "."

    def close(self) -> None:
        for folder in self._open:
            os.close(folder)

    def _up(self) -> None:
        if len(self._open) == 1:
            raise ToolError("the path leads out of the workspace")
        os.close(self._open.pop())

    def _enter(self, name: str) -> None:
        if len(self._open) > DEEPEST:
            raise ToolError(f"the path is deeper than {DEEPEST} folders")
        if self._make:
            with suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=self._open[-1])
        self._open.append(os.open(name, FOLDER | os.O_NOFOLLOW, dir_fd=self._open[-1]))

    def _link(self, name: str) -> str | None:
        try:
            return os.readlink(name, dir_fd=self._open[-1])
        except OSError as error:
            if error.errno in {errno.EINVAL, errno.ENOENT}:  # no link, or nothing there yet
                return None
            raise

    def _names_behind(self, target: str) -> list[str]:
        if not target.startswith("/"):
            return _names(target)
        root = next((root for root in (self._root, Path(INSIDE)) if Path(target).is_relative_to(root)), None)
        if root is None:
            raise ToolError("the path leads through a link out of the workspace")
        while len(self._open) > 1:
            self._up()
        return _names(str(Path(target).relative_to(root)))


def _names(path: str) -> list[str]:
    """List the parts of a path, the last one first."""
    return [name for name in reversed(path.split("/")) if name not in {"", "."}]
