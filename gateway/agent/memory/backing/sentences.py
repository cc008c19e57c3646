"""What the operating system says about a file, in one sentence for a person."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway.errors import StorageError

MOST = 4 * 1024 * 1024
"""Bytes of a text; what is larger is not somebody's notes."""


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn an `OSError` into a `StorageError`."""
    try:
        yield
    except OSError as error:
        raise StorageError(_sentence(path, error), lasting=error.errno in _LASTING) from error


def _sentence(path: Path, error: OSError) -> str:
    known = _KNOWN.get(error.errno or 0)
    return known.format(path=path) if known else f"{path} cannot be used: {error.strerror or error}; check it"


_OWNER = "{path} may not be used by this user; check its owner and the permissions of its folder"
_FULL = "the disk that holds {path} is full; free some space and try again"
_KNOWN = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: "the disk quota for {path} is used up; free some space and try again",
    errno.EFBIG: "{path} may not grow any further on this system; raise the limit for the size of files (ulimit -f)",
    errno.EACCES: _OWNER,
    errno.EPERM: _OWNER,
    errno.EROFS: "the disk that holds {path} is read-only; mount it for writing",
    errno.EIO: "the disk that holds {path} reports an error; check it before anything else",
    errno.ELOOP: "the link {path} leads round in a circle; remove it or point it to a file",
    errno.ENOENT: "the folder that {path} leads to is not there; make it, or remove the link",
    errno.ENOTDIR: "{path} lies below something that is not a folder; move that away",
    errno.EEXIST: "{path} lies below something that is not a folder; move that away",
    errno.ENOLCK: "the file system of {path} knows no locks; keep the home on a local disk",
    errno.ENOTSUP: "the file system of {path} knows no locks; keep the home on a local disk",
}
_LASTING = {
    errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP, errno.ENOENT, errno.ENOTDIR, errno.EEXIST,
    errno.ENOLCK, errno.ENOTSUP,
}  # fmt: skip


def no_file(path: Path, state: os.stat_result) -> StorageError:
    """Return the error for something that is no regular file."""
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket"}
    kind = kinds.get(stat.S_IFMT(state.st_mode), "a device")
    return StorageError(f"{path} is {kind}, not a file; move it away and try again", lasting=True)


def restless(path: Path) -> StorageError:
    """Return the error for a text that changes whenever we look away."""
    return StorageError(f"{path} is being written all the time by another program; end it and try again")


def too_large(place: str) -> StorageError:
    """Return the error for a text that is too large, or would be."""
    return StorageError(f"{place} is larger than {MOST >> 20} MiB, which notes never are; shorten it", lasting=True)


def damaged(place: str, damage: str) -> StorageError:
    """Return the error for a change of a text that could not be read to the letter."""
    return StorageError(f"{place} is not changed: {damage}; convert the file to UTF-8 and try again", lasting=True)
