"""The lock of a text: blocking ``flock`` on ``<file>.lock``, which the reference system takes too."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway.agent.memory.backing.folders import make_folder
from gateway.agent.memory.backing.sentences import told
from gateway.agent.memory.backing.steps import Steps
from gateway.agent.memory.backing.threads import Threads

COMMAND = 120
"""Characters of a command line that an error shows."""


class LockFile:
    """Excludes all processes of this machine, and this one's other threads."""

    def __init__(self, path: Path, threads: Threads, steps: Steps) -> None:
        self.path = path
        self._threads, self._steps = threads, steps

    @contextmanager
    def held(self) -> Iterator[None]:
        """Wait for the lock, however long; raise `StorageError` where there can be none."""
        with told(self.path):
            file = self._taken()
        try:
            yield
        finally:
            try:
                # Said, not left to close: a child forked meanwhile holds a copy of the descriptor.
                self._steps.flock(file, fcntl.LOCK_UN)
            finally:
                self._steps.close(file)

    def late(self, seconds: float) -> str:
        """Say in a sentence that the lock did not come, and who holds it."""
        who = holder(self.path) or f"another process (fuser {self.path} shows which)"
        return f"{self.path} was held for {seconds:g} s by {who}; let it finish or end it, then try again"

    def _taken(self) -> int:
        while True:
            file = self._open()
            try:
                self._wait(file)
                if self._stands(file):
                    return file
            except BaseException:
                self._steps.close(file)
                raise
            self._steps.close(file)  # somebody took the file away while we waited

    def _open(self) -> int:
        try:
            return self._steps.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK)
        except FileNotFoundError:
            make_folder(self.path.parent, self._steps)
            return self._steps.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK)
        except PermissionError:  # another user's: to lock it, reading is enough
            return self._steps.open(self.path, os.O_RDONLY | os.O_NONBLOCK)

    def _wait(self, file: int) -> None:
        try:
            self._steps.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with self._threads.blocked():
                self._steps.flock(file, fcntl.LOCK_EX)

    def _stands(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), os.stat(self.path))
        except FileNotFoundError:
            return False


def holder(path: Path) -> str:
    """Return ``process 123 (command)``; "" where the system does not tell."""
    try:
        state = os.stat(path)
        place = f"{os.major(state.st_dev):02x}:{os.minor(state.st_dev):02x}:{state.st_ino}"
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()  # number: FLOCK ADVISORY WRITE pid device:inode start end; "->" before one that waits
            if fields[1] == "FLOCK" and fields[5] == place and int(fields[4]) > 0:
                return f"process {fields[4]}{_command(fields[4])}"
    except OSError:
        pass
    return ""


def _command(pid: str) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").replace("\0", " ").split()
    except OSError:
        return ""
    command = " ".join(words)
    return f" ({command[:COMMAND]}{'…' * (len(command) > COMMAND)})" if command else ""
