"""Files as they are read: whole, regular, of a sensible size, and never in a way that can hang."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from gateway.agent.memory.backing.sentences import MOST, no_file, too_large


@dataclass(frozen=True, slots=True)
class Found:
    """The bytes of a file, and its state before they were read."""

    raw: bytes
    state: os.stat_result


def contents(path: Path) -> Found | None:
    """Return what is in a file, None where there is no file; `StorageError` for what is none, or too large."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket
            raise no_file(path, os.stat(path)) from error
        raise
    try:
        state = os.fstat(file)
        if not stat.S_ISREG(state.st_mode):
            raise no_file(path, state)
        raw, size = b"", state.st_size
        while size <= MOST and (part := os.read(file, max(size + 1 - len(raw), 65536))):
            raw += part
            size = max(size, len(raw))
        if size > MOST:
            raise too_large(str(path))
        return Found(raw, state)
    finally:
        os.close(file)


def same(path: Path, found: Found | None) -> bool:
    """Say whether a file is as it was before it was read."""
    try:
        now = os.stat(path)
    except FileNotFoundError:
        return found is None
    return found is not None and _mark(now) == _mark(found.state)


def _mark(state: os.stat_result) -> tuple[int, ...]:
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns
