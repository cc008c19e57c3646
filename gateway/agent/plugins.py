"""Code of others that the home's owner allowed: where it is, and how objects are made of it.

In: the kind of plugin and its name. Out: what its ``create(settings: Mapping[str, Any], home: Path)`` makes. A plugin
is a package of the home, ``plugins/<kind>/<name>/``, or the module that an entry point of an installed package names.
Its settings may stand in a file of the home, ``<name>.json``.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Generic, TypeVar

from gateway.errors import ConfigError

log = logging.getLogger(__name__)

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
T = TypeVar("T")

Where = Path | EntryPoint
Broken = Callable[[str], None]
"""Hears what a plugin raised, in words."""
Make = Callable[[Mapping[str, Any], Path], T | None]
"""Makes an object of settings and the home; None where that failed, after `Broken` has heard why."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """A sort of plugin: its folder below ``plugins``, its group of entry points, and what it makes."""

    folder: str
    group: str
    makes: type


def find_plugins(kind: Kind[T], home: Path) -> dict[str, Where]:
    """List what there is by its name, without running any of it; the home's own go before those of packages."""
    points: dict[str, Where] = {point.name: point for point in entry_points(group=kind.group)}
    inits = (home / "plugins" / kind.folder).glob("*/__init__.py")
    return points | {path.parent.name: path for path in inits if NAME.fullmatch(path.parent.name)}


def load_plugin(kind: Kind[T], name: str, where: Where, broken: Broken) -> Make[T] | None:
    """
    Run a plugin's code; None where it fails to load. What it raises then, or later when it makes something, is told.

    A `ConfigError` of its `create` says that a setting is wrong, and is raised.
    """
    create = _contained(partial(_load, kind, name, where), broken)
    if create is None:
        return None
    return lambda settings, home: _contained(partial(_made, kind, create, settings, home), broken)


def own_file(path: Path) -> dict[str, Any]:
    """Read a plugin's own file, which may be missing; raise `ConfigError` for anything but a JSON object."""
    try:
        values = json.loads(path.read_text("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", file=str(path)) from error
    except json.JSONDecodeError as error:
        raise ConfigError(f"not JSON: {error.msg}", file=str(path), line=error.lineno, column=error.colno) from None
    except (ValueError, RecursionError):
        raise ConfigError("not JSON in UTF-8", file=str(path)) from None
    if not isinstance(values, dict):
        raise ConfigError("must be a JSON object", file=str(path), hint="write {} around its settings")
    return values


def _contained(job: Callable[[], T], broken: Broken) -> T | None:
    try:
        return job()
    except ConfigError:
        raise
    except (Exception, SystemExit) as error:
        log.debug("where a plugin failed", exc_info=True)
        broken(f"{type(error).__name__}: {error}")
        return None


def _made(kind: Kind[T], create: Callable[..., Any], settings: Mapping[str, Any], home: Path) -> T:
    made: T = create(settings, home)
    if not isinstance(made, kind.makes):
        raise TypeError(f"create returned {type(made).__name__}, not a {kind.makes.__name__}")
    return made


def _load(kind: Kind[T], name: str, where: Where) -> Callable[..., Any]:
    if isinstance(where, EntryPoint):
        loaded: Any = where.load()
        create: Callable[..., Any] = loaded.create
        return create
    module = f"hermes_{kind.folder}_plugin_{name.replace('-', '_')}"
    spec = spec_from_file_location(module, where, submodule_search_locations=[str(where.parent)])
    if spec is None or spec.loader is None:
        raise ImportError(f"{where} is not a Python package")
    _drop(module)  # where it was loaded before, or half of it
    package = sys.modules[module] = module_from_spec(spec)
    spec.loader.exec_module(package)
    made: Callable[..., Any] = package.create
    return made


def _drop(module: str) -> None:
    for name in [name for name in sys.modules if name == module or name.startswith(f"{module}.")]:
        del sys.modules[name]
