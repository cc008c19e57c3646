"""Changing the file: one key at a time, checked before anything is replaced.

In: a key, a text, a home. Out: the file with the key set or taken out, the file before it in ``backups/``. Nothing is
written where the result would not load.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path as FilePath
from typing import Any

from filelock import FileLock
from pydantic import BaseModel

from gateway.config import document
from gateway.config.editing import set_value, take_out
from gateway.config.loading import Config, assemble, shape_of
from gateway.config.node import Branch, ConfigErrors, Entry, Leaf, Origin, Path, Source, find, put, said
from gateway.config.profiles import with_profiles
from gateway.config.reading import data, structure
from gateway.config.shape import Slot
from gateway.config.shape import find as find_slot
from gateway.errors import ConfigError
from gateway.home import Home

KEPT = 10
"""Backups of the file."""


def set_key(home: Home, path: Path, text: str, *, environ: Mapping[str, str]) -> Config:
    """Set a key to what the text means for it. Raise `KeyError` where there is no such key."""
    root = shape_of({*path[1:2]})
    if find_slot(root, path) is None:
        raise KeyError(said(path))
    value = _value(root, path, text)
    return _change(home, lambda before: set_value(before, path, value), environ)


def unset_key(home: Home, path: Path, *, environ: Mapping[str, str]) -> Config:
    """Take a key out of the file. Raise `KeyError` where the file does not set it."""
    return _change(home, lambda before: take_out(before, path), environ)


def _value(root: type[BaseModel], path: Path, text: str) -> Any:
    """Read the text as the key wants it, as from a variable."""
    origin = Origin(Source.FLAG)
    tree = Branch(origin)
    put(tree, path, Entry(origin, Leaf(text, text, origin, typed=False)))
    problems: list[ConfigError] = []
    tree = structure(tree, Slot((root,)), problems.append)
    if problems:
        raise ConfigErrors(problems)
    entry = find(tree, path)
    return data(entry.node, find_slot(root, path) or Slot((Any,))) if entry else None


def _change(home: Home, change: Callable[[str], str], environ: Mapping[str, str]) -> Config:
    home.create()
    with FileLock(home.path / ".config.lock", timeout=10, mode=0o600):
        file = FilePath(os.path.realpath(home.config_file))
        document.read(file)  # says what is wrong with it
        before = file.read_bytes().decode("utf-8-sig") if file.exists() else ""
        after = change(before)
        config = with_profiles(assemble(home, flags={}, environ=environ, text=after), environ)
        if before:
            _back_up(home, before)
        replace(file, after)
    return config


def _back_up(home: Home, text: str) -> None:
    home.backups.mkdir(mode=0o700, exist_ok=True)
    replace(home.backups / f"config-{datetime.now(UTC):%Y%m%dT%H%M%S.%f}Z.yaml", text)
    for old in sorted(home.backups.glob("config-*.yaml"))[:-KEPT]:
        old.unlink(missing_ok=True)


def replace(file: FilePath, text: str) -> None:
    """Write a file whole or not at all, for its owner only."""
    try:
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(name, file)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name)
        _settle(file.parent)
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror or error}") from error


def _settle(directory: FilePath) -> None:
    """Make the new name of a file outlast a loss of power."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
