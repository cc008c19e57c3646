"""A real disk that fails on demand: a step is refused, or the process dies at it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

from gateway.agent.memory.backing.steps import Steps

Refuses = Callable[[str, Path], int]
"""Return the errno a step on a path fails with, 0 where it does not."""


class Died(BaseException):
    """What a dead process does from here on: nothing."""


def nothing(step: str, path: Path) -> int:
    return 0


NOT_REPLACED = {"a file mounted there": errno.EBUSY, "another file system": errno.EXDEV}
"""What a file that cannot be replaced may be, and what the system says of it."""


def no_replacing(number: int) -> Refuses:
    """Make a disk on which MEMORY.md cannot be replaced, for which the system gives this errno."""
    return lambda step, path: number if step == "replace" and path.name == "MEMORY.md" else 0


class Disk(Steps):
    """`steps` are the calls so far with the name of what they touched; the process dies at call number `dies`."""

    def __init__(self, refuses: Refuses = nothing, dies: int = 0) -> None:
        self.refuses, self.dies = refuses, dies
        self.steps: list[tuple[str, str]] = []
        self.dead = False
        self._paths: dict[int, Path] = {}

    def _step(self, name: str, path: Path) -> None:
        if self.dead:
            raise Died
        self.steps.append((name, path.name))
        if len(self.steps) == self.dies:
            self.dead = True
            raise Died
        if number := self.refuses(name, path):
            raise OSError(number, os.strerror(number), str(path))

    def mkdir(self, path: Path) -> None:
        self._step("mkdir", path)
        super().mkdir(path)

    def open(self, path: Path, flags: int) -> int:
        self._step("open", path)
        file = super().open(path, flags)
        self._paths[file] = path
        return file

    def close(self, file: int) -> None:
        """Also the dead process's files are closed, and its locks free."""
        super().close(file)

    def flock(self, file: int, operation: int) -> None:
        self._step("flock", self._paths[file])
        super().flock(file, operation)

    def chown(self, file: int, user: int, group: int) -> None:
        self._step("chown", self._paths[file])
        super().chown(file, user, group)

    def chmod(self, file: int, mode: int) -> None:
        self._step("chmod", self._paths[file])
        super().chmod(file, mode)

    def write(self, file: int, data: bytes, offset: int) -> int:
        """Write the first half, as a process may that dies or meets a full disk; the rest is another step."""
        half = data[: (len(data) + 1) // 2]
        self._step("write", self._paths[file])
        return super().write(file, half, offset)

    def truncate(self, file: int, size: int) -> None:
        self._step("truncate", self._paths[file])
        super().truncate(file, size)

    def fsync(self, file: int) -> None:
        self._step("fsync", self._paths[file])
        super().fsync(file)

    def replace(self, source: Path, target: Path) -> None:
        self._step("replace", target)
        super().replace(source, target)

    def unlink(self, path: Path) -> None:
        self._step("unlink", path)
        super().unlink(path)
