"""One text as a file: read without a lock, written so that a crash leaves the old text or the new one. Blocking."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from contextlib import suppress
from pathlib import Path

from gateway.agent.memory.backing.folders import sync_folder
from gateway.agent.memory.backing.reading import Found, contents, same
from gateway.agent.memory.backing.sentences import restless
from gateway.agent.memory.backing.steps import Steps

TRIES = 100
"""How often a text is read anew that somebody writes meanwhile."""
STALE = 3600.0
"""Seconds after which a temporary file is nobody's any more; the reference's are among them."""
NEW = 0o600


class TextFile:
    """
    A text under its name as given; a link stays, and what it leads to is written.

    All but `read` needs the lock. Raises `OSError`, and `StorageError` for what is no text at all.
    """

    def __init__(self, path: Path, steps: Steps) -> None:
        self.path = path
        self._steps = steps
        self._swept = False
        self._found: Found | None = None
        """What `load` found."""
        self._target = self._copy = path

    def read(self) -> bytes | None:
        """Return the bytes as they stand, None where there is no file; never half of a text."""
        for _ in range(TRIES):
            target, copy = self._places()
            found = contents(target)
            if (written := contents(copy)) is not None:
                return written.raw
            if same(target, found):
                if found is None:
                    self._check_links(target)
                return found.raw if found else None
        raise restless(self.path)

    def _check_links(self, target: Path) -> None:
        """Be sure that there is no text: behind a link that leads nowhere there may be one, on a disk that is away."""
        if not target.parent.is_dir():
            for place in (self.path, *self.path.parents):
                if place.is_symlink() and not place.exists():
                    raise FileNotFoundError(errno.ENOENT, "a link leads nowhere", str(place))

    def load(self) -> bytes | None:
        """Like `read`, under the lock: finishes first what a crash cut off, and sweeps once."""
        self._target, self._copy = self._places()
        if (written := contents(self._copy)) is not None:
            self._finish(written.raw)
        if not self._swept:
            self._swept = True
            self._sweep()
        self._found = contents(self._target)
        return self._found.raw if self._found else None

    def save(self, raw: bytes) -> bool:
        """Replace durably the text that `load` found, mode and owner stay; false where it is not there any more."""
        temporary, kept = self._temporary(self._target.parent, raw)
        if not same(self._target, self._found):  # somebody's editor knows no lock
            self._drop(temporary)
            return False
        if not kept or not self._replaced(temporary):
            self._overwrite(temporary, raw)
        sync_folder(self._target.parent, self._steps)
        return True

    def keep(self) -> str:
        """Copy what `load` found; return the copy's path, the newest one's if it holds the same, "" for nothing."""
        if self._found is None or not self._found.raw:
            return ""
        copies = self._copies()
        if copies and (newest := contents(copies[-1])) is not None and newest.raw == self._found.raw:
            return str(copies[-1])
        copy = self._free()
        temporary, _ = self._temporary(self.path.parent, self._found.raw)
        try:
            self._steps.replace(temporary, copy)
        except OSError:
            self._drop(temporary)
            raise
        sync_folder(self.path.parent, self._steps)
        return str(copy)

    def remove(self) -> bytes:
        """Remove the text and its copies durably, and return it; the lock's file stays, for others wait on it."""
        target, copy = self._places()
        found = contents(copy) or contents(target)
        folders = {target.parent, self.path.parent}
        begun = [path for folder in folders for path in self._temporaries(folder, self.path.name)]
        for path in (*self._copies(), *begun, target, copy, self.path):
            try:
                self._steps.unlink(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                if error.errno != errno.EBUSY:
                    raise
                self._empty(path)
        for folder in folders:
            sync_folder(folder, self._steps)
        return found.raw if found else b""

    # --- how

    def _places(self) -> tuple[Path, Path]:
        """
        Return what the name leads to, and the place of a copy beside it.

        The copy holds the whole new text while the file is written in place, and after a crash in the middle of it.
        """
        target = Path(os.path.realpath(self.path)) if self.path.is_symlink() else self.path
        return target, target.with_name(f".mem_{self.path.name}.copy")

    def _temporary(self, folder: Path, raw: bytes) -> tuple[Path, bool]:
        """Write a new file, whole and durable but for its name; say whether it has the mode and owner of the text."""
        path = folder / f".mem_{self.path.name}.{secrets.token_hex(8)}.tmp"
        file = self._steps.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            kept = self._dress(file)
            self._fill(file, raw, new=True)
        except OSError:
            self._drop(path)
            raise
        finally:
            self._steps.close(file)
        return path, kept

    def _dress(self, file: int) -> bool:
        mine, state = os.fstat(file), self._found.state if self._found else None
        if state and (state.st_uid, state.st_gid) != (mine.st_uid, mine.st_gid):
            try:
                self._steps.chown(file, state.st_uid, state.st_gid)
            except PermissionError:
                return False
        mode = stat.S_IMODE(state.st_mode) if state else NEW
        if mode != stat.S_IMODE(mine.st_mode):
            with suppress(PermissionError):  # a file system without modes
                self._steps.chmod(file, mode)
        return True

    def _replaced(self, temporary: Path) -> bool:
        """Put a file in its place; false where what is there cannot be replaced, as a bind-mounted file."""
        try:
            self._steps.replace(temporary, self._target)
        except OSError as error:
            if error.errno in {errno.EXDEV, errno.EBUSY}:
                return False
            self._drop(temporary)
            raise
        return True

    def _overwrite(self, temporary: Path, raw: bytes) -> None:
        """Write in place, with the whole text beside it meanwhile."""
        try:
            file = self._steps.open(self._target, os.O_WRONLY)
        except OSError:
            self._drop(temporary)
            raise
        try:
            self._begin(temporary)
            try:
                self._fill(file, raw)
            except OSError:
                self._fill(file, self._found.raw if self._found else b"")  # for which there is room
                self._drop(self._copy)
                raise
        finally:
            self._steps.close(file)
        self._steps.unlink(self._copy)

    def _begin(self, temporary: Path) -> None:
        try:
            self._steps.replace(temporary, self._copy)
            sync_folder(self._target.parent, self._steps)
        except OSError:
            self._drop(temporary)
            self._drop(self._copy)
            raise

    def _finish(self, raw: bytes) -> None:
        file = self._steps.open(self._target, os.O_WRONLY | os.O_CREAT)
        try:
            self._fill(file, raw)
        finally:
            self._steps.close(file)
        self._steps.unlink(self._copy)
        sync_folder(self._target.parent, self._steps)

    def _empty(self, path: Path) -> None:
        file = self._steps.open(path, os.O_WRONLY)
        try:
            self._fill(file, b"")
        finally:
            self._steps.close(file)

    def _fill(self, file: int, raw: bytes, *, new: bool = False) -> None:
        written = 0
        while written < len(raw):
            written += self._steps.write(file, raw[written:], written)
        if not new:
            self._steps.truncate(file, len(raw))
        self._steps.fsync(file)

    def _drop(self, path: Path) -> None:
        with suppress(OSError):
            self._steps.unlink(path)

    def _copies(self) -> list[Path]:
        """Return the copies that were kept, the newest last."""
        start = f"{self.path.name}.bak."
        found = [path for path in self.path.parent.glob(f"{start}*") if path.name.removeprefix(start).isdecimal()]
        return sorted(found, key=lambda path: int(path.name.removeprefix(start)))

    def _free(self) -> Path:
        second = int(time.time())
        while os.path.lexists(path := self.path.with_name(f"{self.path.name}.bak.{second}")):
            second += 1
        return path

    def _sweep(self) -> None:
        for path in self._temporaries(self._target.parent, ""):
            with suppress(OSError):
                state = os.lstat(path)
                if stat.S_ISREG(state.st_mode) and time.time() - state.st_mtime > STALE:
                    self._steps.unlink(path)

    def _temporaries(self, folder: Path, name: str) -> list[Path]:
        return list(folder.glob(f".mem_{name}*.tmp"))
