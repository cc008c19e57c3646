"""
What lies in a folder of skills, and reading it. Blocking.

In: a folder. Out: every SKILL.md below it with the time and size by which a change is seen, and every DESCRIPTION.md.
A skill's own folder is not searched for more, unless it is the folder of skills itself. Nothing is followed that leads
out of the folder, and only regular files are opened.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self, TypeAlias

from gateway.agent.skills.skill import CATEGORY_FILE, FILE, SUPPORT
from gateway.agent.skills.words import is_one_line
from gateway.agent.tools.beneath import FOLDER, beneath
from gateway.errors import ToolError

READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
EXCLUDED = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})
"""Besides every name that begins with a dot: .git, .github, .hub, .archive, .venv."""
DEEPEST = 8
MOST_FOLDERS = 20_000
HEAD_BYTES = 64 * 1024
"""How much of a SKILL.md is looked at to list it."""

Stamp: TypeAlias = tuple[int, int]
"""When a file was last written, in nanoseconds, and its size."""


@dataclass(slots=True)
class Walked:
    """Files by their paths relative to the folder, and sentences about what could not be looked at."""

    skills: dict[str, Stamp] = field(default_factory=dict)
    descriptions: dict[str, Stamp] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def walk(root: Path) -> Walked:
    """Look at everything; a folder that is not there holds nothing. `root` is free of links."""
    found = Walked()
    try:
        descriptor = os.open(root, FOLDER)
    except FileNotFoundError:
        return found
    except OSError as error:
        found.problems.append(f"{root}: {error.strerror}")
        return found
    try:
        own = SUPPORT if _is_skill(found, descriptor, "", root) else ()
        _Walk(root, found).into(descriptor, "", 0, leave=own)
    finally:
        os.close(descriptor)
    return found


@contextmanager
def opened(root: Path, path: str) -> Iterator[int]:
    """Open a regular file beneath a folder; raise `ToolError` for what is none, `OSError` for what is not there."""
    with beneath(root, path) as (folder, name):
        descriptor = os.open(name, READ, dir_fd=folder)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ToolError("it is not a regular file")
            yield descriptor
        finally:
            os.close(descriptor)


def read(root: Path, path: str, most: int) -> bytes:
    """Return at most so many bytes of a file."""
    with opened(root, path) as descriptor:
        return _bytes(descriptor, most)


class Reader:
    """Reads the files of many folders, faster than `read` where one lies beside the other."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._above, self._folder = "", -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()

    def read(self, path: str, most: int) -> bytes:
        """Return at most so many bytes of a file; raise what `read` raises."""
        parent, _, file = path.rpartition("/")
        above, _, name = parent.rpartition("/")
        try:
            if above != self._above or self._folder < 0:
                self._leave()
                with beneath(self._root, above) as (folder, last):
                    self._folder = os.open(last, FOLDER | os.O_NOFOLLOW, dir_fd=folder)
                self._above = above
            return self._within(name, file, most)
        except OSError as error:
            if error.errno not in {errno.ELOOP, errno.ENOTDIR}:
                raise
        return read(self._root, path, most)  # a link on the way

    def _within(self, name: str, file: str, most: int) -> bytes:
        folder = os.open(name or ".", FOLDER | os.O_NOFOLLOW, dir_fd=self._folder)
        try:
            descriptor = os.open(file, READ, dir_fd=folder)
            try:
                return _bytes(descriptor, most)
            finally:
                os.close(descriptor)
        finally:
            os.close(folder)

    def _leave(self) -> None:
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1


def _bytes(descriptor: int, most: int) -> bytes:
    state = os.fstat(descriptor)
    if not stat.S_ISREG(state.st_mode):
        raise ToolError("it is not a regular file")
    raw = os.read(descriptor, min(most, state.st_size + 1))
    if len(raw) == state.st_size:
        return raw
    while len(raw) < most and (part := os.read(descriptor, most - len(raw))):
        raw += part
    return raw


class _Walk:
    def __init__(self, root: Path, found: Walked) -> None:
        self._root, self._found, self._folders = root, found, 0

    def into(self, descriptor: int, above: str, depth: int, *, leave: Collection[str] = ()) -> None:
        """Look into a folder, but for some names in it. `above` is its path with a slash."""
        self._folders += 1
        try:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    if entry.name[0] != "." and entry.name not in EXCLUDED and entry.name not in leave:
                        self._entry(entry, descriptor, above, depth)
        except OSError as error:  # it goes away while it is looked at
            self._found.problems.append(f"{above or self._root}: {error.strerror}")

    def _entry(self, entry: os.DirEntry[str], descriptor: int, above: str, depth: int) -> None:
        name = entry.name
        if entry.is_dir(follow_symlinks=False):
            self._folder(descriptor, name, above, depth)
        elif entry.is_symlink():
            _linked(self._found, self._root, f"{above}{name}")
        elif name == CATEGORY_FILE and entry.is_file(follow_symlinks=False):
            with suppress(FileNotFoundError):
                self._found.descriptions[above + name] = _stamp(entry.stat(follow_symlinks=False))

    def _folder(self, descriptor: int, name: str, above: str, depth: int) -> None:
        path = f"{above}{name}"
        try:
            path.encode()
        except UnicodeEncodeError:
            self._found.problems.append(f"{path!r}: its name is not UTF-8")
            return
        if not is_one_line(name):  # it stands in the index, between lines that are ours
            self._found.problems.append(f"{path!r}: its name has more than one line, or characters that nobody sees")
            return
        if _is_skill(self._found, descriptor, path, self._root, name):
            return
        if depth == DEEPEST or self._folders >= MOST_FOLDERS:
            self._found.problems.append(f"{path}: there are too many folders, or too deep ones; not all are searched")
            return
        try:
            inner = os.open(name, FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
        except FileNotFoundError:
            return
        except OSError as error:
            self._found.problems.append(f"{path}: {error.strerror}")
            return
        try:
            self.into(inner, f"{path}/", depth + 1)
        finally:
            os.close(inner)


def _is_skill(found: Walked, descriptor: int, path: str, root: Path, name: str = ".") -> bool:
    """Note a folder that holds a SKILL.md."""
    try:
        state = os.stat(f"{name}/{FILE}", dir_fd=descriptor, follow_symlinks=False)
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.ENOTDIR}:
            found.problems.append(f"{path or root}: {error.strerror}")
            return True
        return False
    file = f"{path}/{FILE}" if path else FILE
    if stat.S_ISREG(state.st_mode):
        found.skills[file] = _stamp(state)
    elif stat.S_ISLNK(state.st_mode):
        _linked(found, root, path)
    else:
        found.problems.append(f"{file}: it is not a regular file")
    return True


def _linked(found: Walked, root: Path, path: str) -> None:
    file = f"{path}/{FILE}" if path else FILE
    try:
        with opened(root, file) as descriptor:
            found.skills[file] = _stamp(os.fstat(descriptor))
    except ToolError:
        found.problems.append(f"{path}: a link that leads out; name where it leads in skills.external_dirs")
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.ENOTDIR}:
            found.problems.append(f"{path}: {error.strerror}")


def _stamp(state: os.stat_result) -> Stamp:
    return state.st_mtime_ns, state.st_size
