"""The system calls that change something on the disk, in one place, so that a test can stop between any two of them."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class Steps:
    """Each method is one system call; raises `OSError`."""

    def mkdir(self, path: Path) -> None:
        os.mkdir(path, 0o700)

    def open(self, path: Path, flags: int) -> int:
        """Open for writing, or for the lock; a new file is its owner's only."""
        return os.open(path, flags | os.O_CLOEXEC | os.O_NOCTTY, 0o600)

    def close(self, file: int) -> None:
        os.close(file)

    def flock(self, file: int, operation: int) -> None:
        fcntl.flock(file, operation)

    def chown(self, file: int, user: int, group: int) -> None:
        os.fchown(file, user, group)

    def chmod(self, file: int, mode: int) -> None:
        os.fchmod(file, mode)

    def write(self, file: int, data: bytes, offset: int) -> int:
        """Return how many bytes were written: perhaps not all."""
        return os.pwrite(file, data, offset)

    def truncate(self, file: int, size: int) -> None:
        os.ftruncate(file, size)

    def fsync(self, file: int) -> None:
        os.fsync(file)

    def replace(self, source: Path, target: Path) -> None:
        os.replace(source, target)

    def unlink(self, path: Path) -> None:
        os.unlink(path)
