"""Makes the engine that `context.engine` names: ours, a plugin of the home, or one of an installed package.

A plugin is a package with ``create(settings: Mapping[str, Any], home: Path) -> ContextEngine``, called once for every
live session, and quick. Its settings are the section `compression`, and over it its own file, ``<home>/<name>.json``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.agent.context.guarded import Guarded
from gateway.agent.context.settings import CompressionSettings
from gateway.agent.plugins import Kind, Make, find_plugins, load_plugin, own_file
from gateway.contracts.context import ContextEngine
from gateway.errors import ConfigError

log = logging.getLogger(__name__)

KIND: Kind[ContextEngine] = Kind("context_engine", "hermes_gateway.context_engine", ContextEngine)
OURS = "compressor"

Warn = Callable[[str, str], None]
"""Hears what is wrong with the engine that is chosen, and what mends it."""


def told(what: str, mend: str) -> str:
    """Return it as one sentence, with what becomes of it."""
    return f"{what}; {mend}; the compressor stands in for it"


def _log(what: str, mend: str) -> None:
    log.warning("%s", told(what, mend))


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the settings say of the engine, and of the plugins that may be loaded."""

    name: str
    compression: CompressionSettings
    home: Path
    allow: Collection[str] = ()


def open_engine(chosen: Chosen, ours: Callable[[], ContextEngine], warn: Warn = _log) -> Callable[[], ContextEngine]:
    """
    Return what makes the engine of a live session; `ours` makes the one that comes along.

    Where the plugin is missing, not allowed, or fails, `warn` hears it, and ours stands in; a plugin that fails only as
    it makes an engine is told each time.
    """
    if chosen.name == OURS:
        return ours
    try:
        made = _plugin(chosen, warn)
    except ConfigError as error:
        warn(f"context.engine: {error.what}", error.hint or _mend(chosen.name))
        return ours
    if made is None:
        return ours
    make, settings = made

    def engine() -> ContextEngine:
        try:
            plugin = make(settings, chosen.home)
        except ConfigError as error:
            warn(f"context.engine: the plugin {chosen.name}: {error.what}", error.hint or _mend(chosen.name))
            plugin = None
        return Guarded(chosen.name, plugin, chosen.compression) if plugin is not None else ours()

    return engine


def _mend(name: str) -> str:
    return f"mend the plugin {name}"


def _plugin(chosen: Chosen, warn: Warn) -> tuple[Make[ContextEngine], Mapping[str, Any]] | None:
    """Load the plugin; `ConfigError` where the settings are wrong, None where it is, and `warn` has heard."""
    name, found = chosen.name, find_plugins(KIND, chosen.home)
    if name not in found:
        there = ", ".join((OURS, *sorted(found.keys() - {OURS})))
        place = chosen.home / "plugins" / KIND.folder / "NAME"
        raise ConfigError(f"there is no engine {name!r}", hint=f"there are {there}, and a plugin belongs into {place}")
    if name not in chosen.allow:
        raise ConfigError(f"the plugin {name} is not allowed", hint="add its name to plugins.allow")
    own = own_file(chosen.home / f"{name}.json")

    def broken(why: str) -> None:
        warn(f"context.engine: the plugin {name} failed to load: {why}", "mend it, and start the gateway again")

    make = load_plugin(KIND, name, found[name], broken)
    return None if make is None else (make, chosen.compression.model_dump() | own)
