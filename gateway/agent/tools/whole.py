"""A file beneath an open folder, written so that a crash leaves the old or the new. Blocking."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress

from gateway.errors import ToolError

CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def replace_file(folder: int, name: str, data: bytes) -> bool:
    """
    Write a whole file, with the permissions of what was there; return whether something was.

    Raise `ToolError` where something else than a regular file has the name.
    """
    mode = _mode(folder, name)
    beside = f".{secrets.token_hex(8)}.tmp"
    descriptor = os.open(beside, CREATE, 0o644, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(descriptor, mode)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(beside, dir_fd=folder)
        raise
    os.fsync(folder)
    return mode is not None


def check_kind(mode: int) -> None:
    """Raise `ToolError` for what is no regular file."""
    if stat.S_ISDIR(mode):
        raise ToolError("it is a folder")
    if not stat.S_ISREG(mode):
        raise ToolError("it is not a regular file")


def _mode(folder: int, name: str) -> int | None:
    """Return the permissions of a file that is to be replaced, None where there is none."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    check_kind(mode)
    return mode & 0o777
