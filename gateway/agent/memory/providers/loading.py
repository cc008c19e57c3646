"""Makes the provider that `memory.provider` names: one of ours, a plugin of the home, or one of an installed package.

A plugin is a package with ``create(settings: Mapping[str, Any], home: Path) -> MemoryProvider``. Its settings are its
own file, ``<home>/<name>.json``, and over it `memory.plugin`.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from gateway.agent.memory.providers.given import Given, own_file
from gateway.agent.memory.settings import MemorySettings
from gateway.contracts.memory import MemoryProvider
from gateway.errors import ConfigError

log = logging.getLogger(__name__)

GROUP = "hermes_gateway.memory"
BUILT = ("holographic", "honcho", "mem0")
PLANNED = ("byterover", "hindsight", "openviking", "retaindb", "supermemory")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

Create = Callable[[Mapping[str, Any], Path], MemoryProvider]


def open_provider(
    settings: MemorySettings, home: Path, variables: Mapping[str, str], *, allow: Collection[str] = ()
) -> MemoryProvider | None:
    """
    Make the provider that is chosen, not entered yet; None where none is, or where a plugin fails to load.

    `allow` names the plugins that may be loaded. Raises `ConfigError` for a name that nobody has, a plugin that is
    not allowed, and settings that are missing.
    """
    name = settings.provider
    if not name:
        return None
    if name in PLANNED:
        raise ConfigError(f"memory.provider: {name} is not built yet", hint=f"there are {', '.join(BUILT)}")
    if name in BUILT:
        given = Given(settings, home, variables, own_file(home / f"{name}.json"))
        provider: MemoryProvider = import_module(f"gateway.agent.memory.providers.{name}").create(given)
        return provider
    folder = home / "plugins" / "memory"
    found = {point.name: point for point in entry_points(group=GROUP)} | _folders(folder)  # the home's own go first
    if name not in found:
        there = ", ".join((*BUILT, *sorted(found.keys() - {*BUILT, *PLANNED})))
        raise ConfigError(f"memory.provider: there is no provider {name!r}", hint=f"there are {there}")
    if name not in allow:
        raise ConfigError(f"memory.provider: the plugin {name} is not allowed", hint="add its name to plugins.allow")
    options = {key: value.get_secret_value() for key, value in settings.plugin.items()}
    return _plugin(name, found[name], own_file(home / f"{name}.json") | options, home)


def _folders(parent: Path) -> dict[str, Path | EntryPoint]:
    return {path.parent.name: path for path in parent.glob("*/__init__.py") if NAME.fullmatch(path.parent.name)}


def _plugin(name: str, where: Path | EntryPoint, settings: Mapping[str, Any], home: Path) -> MemoryProvider | None:
    """Run somebody else's code; what it raises is a warning, unless it says that a setting is wrong."""
    try:
        provider = _create(name, where)(settings, home)
        if not isinstance(provider, MemoryProvider):
            raise TypeError(f"create returned {type(provider).__name__}, not a MemoryProvider")
    except ConfigError:
        raise
    except (Exception, SystemExit) as error:
        log.warning(
            "the memory plugin %s is left out, since it failed to load: %s: %s", name, type(error).__name__, error
        )
        log.debug("where it failed", exc_info=True)
        return None
    return provider


def _create(name: str, where: Path | EntryPoint) -> Create:
    if isinstance(where, EntryPoint):
        loaded: Any = where.load()
        create: Create = loaded.create
        return create
    module = f"hermes_memory_plugin_{name.replace('-', '_')}"
    spec = spec_from_file_location(module, where, submodule_search_locations=[str(where.parent)])
    if spec is None or spec.loader is None:
        raise ImportError(f"{where} is not a Python package")
    _drop(module)  # where it was loaded before, or half of it
    package = sys.modules[module] = module_from_spec(spec)
    spec.loader.exec_module(package)
    made: Create = package.create
    return made


def _drop(module: str) -> None:
    for name in [name for name in sys.modules if name == module or name.startswith(f"{module}.")]:
        del sys.modules[name]
