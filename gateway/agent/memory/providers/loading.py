"""Makes the provider that `memory.provider` names: one of ours, a plugin of the home, or one of an installed package.

A plugin is a package with ``create(settings: Mapping[str, Any], home: Path) -> MemoryProvider``. Its settings are its
own file, ``<home>/<name>.json``, and over it `memory.plugin`.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from importlib import import_module
from pathlib import Path

from gateway.agent.memory.providers.given import Given
from gateway.agent.memory.settings import MemorySettings
from gateway.agent.plugins import Kind, find_plugins, load_plugin, own_file
from gateway.contracts.memory import MemoryProvider
from gateway.errors import ConfigError

log = logging.getLogger(__name__)

KIND: Kind[MemoryProvider] = Kind("memory", "hermes_gateway.memory", MemoryProvider)
BUILT = ("holographic", "honcho", "mem0")
PLANNED = ("byterover", "hindsight", "openviking", "retaindb", "supermemory")


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
    found = find_plugins(KIND, home)
    if name not in found:
        there = ", ".join((*BUILT, *sorted(found.keys() - {*BUILT, *PLANNED})))
        raise ConfigError(f"memory.provider: there is no provider {name!r}", hint=f"there are {there}")
    if name not in allow:
        raise ConfigError(f"memory.provider: the plugin {name} is not allowed", hint="add its name to plugins.allow")
    options = {key: value.get_secret_value() for key, value in settings.plugin.items()}
    given_to_it = own_file(home / f"{name}.json") | options

    def broken(why: str) -> None:
        log.warning("the memory plugin %s is left out, since it failed to load: %s", name, why)

    make = load_plugin(KIND, name, found[name], broken)
    return make(given_to_it, home) if make is not None else None
