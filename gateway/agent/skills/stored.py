"""Small files of ours beneath a folder, written so that a crash leaves the old or the new. Blocking."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from gateway.agent.tools.beneath import beneath
from gateway.errors import ToolError

CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def put(root: Path, path: str, data: bytes) -> None:
    """Write a whole file; folders on the way are made, and the permissions of what was there stay."""
    with beneath(root, path, make_folders=True) as (folder, name):
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


def _mode(folder: int, name: str) -> int | None:
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise ToolError("it is not a regular file")
    return mode & 0o777
