"""Folders, made and filled durably: a name in one lasts once the folder itself is on the disk."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from gateway.agent.memory.backing.steps import Steps

UNKNOWN = {errno.EINVAL, errno.ENOTSUP, errno.EBADF}
"""What file systems say that cannot make a folder durable by itself."""


def make_folder(path: Path, steps: Steps) -> None:
    """Make a folder and those above it, for its owner only, durably."""
    if path.is_dir():
        return
    make_folder(path.parent, steps)
    try:
        steps.mkdir(path)
    except FileExistsError:
        if not path.is_dir():
            raise
    sync_folder(path.parent, steps)


def sync_folder(path: Path, steps: Steps) -> None:
    """Make the names in a folder durable, where its file system knows how."""
    file = steps.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        steps.fsync(file)
    except OSError as error:
        if error.errno not in UNKNOWN:
            raise
    finally:
        steps.close(file)
