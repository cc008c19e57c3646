"""
The provider Honcho: a service that reads along, and comes to conclusions about whom the agent speaks with.

Left out of the reference: write frequencies other than after each turn, more than one dialectic pass, levels that
follow the length of the message, a first turn that waits for the dialectic, context budgets and cadences, strategies
that name sessions after folders, aliases of peers, OAuth. What the home's own peer was called before, `peer` says.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from gateway.agent.memory.providers.given import Given
from gateway.agent.memory.providers.honcho_client import DIGEST, HonchoClient, Names
from gateway.agent.memory.providers.honcho_memory import Honcho
from gateway.agent.memory.providers.honcho_tools import ID
from gateway.agent.memory.providers.service import Place
from gateway.agent.plugins import own_file
from gateway.errors import ConfigError

LIBRARY = "honcho-ai"
"""The package; the one called honcho is another, which is imported by the same name."""
PUBLIC, LOCAL = "https://api.honcho.dev", "http://localhost:8000"
RECALL_MODES = ("hybrid", "context", "tools")
LEVELS = ("minimal", "low", "medium", "high", "max")


def create(given: Given) -> Honcho:
    """Make the provider as the settings, honcho.json (else ``~/.honcho/config.json``) and its variables say."""
    try:
        version(LIBRARY)
    except PackageNotFoundError:
        raise ConfigError(
            "memory.provider: honcho needs a library that is not installed", hint="pip install 'hermes-gateway[honcho]'"
        ) from None
    given = replace(given, file=_file(given))
    settings = given.settings.honcho
    client = _client(given)
    mode = given.find(settings.recall_mode, "recallMode") or "hybrid"
    mode = "hybrid" if mode == "auto" else mode  # its name in older files
    level = given.find(settings.reasoning_level, "dialecticReasoningLevel") or "low"
    save = given.file.get("saveMessages") if settings.save_messages is None else settings.save_messages
    cadence = (
        given.file.get("dialecticCadence", 1) if settings.dialectic_cadence is None else settings.dialectic_cadence
    )
    if mode not in RECALL_MODES:
        raise ConfigError(
            f"memory.honcho.recall_mode: there is no mode {mode!r}", hint=f"there are {', '.join(RECALL_MODES)}"
        )
    if level not in LEVELS:
        raise ConfigError(
            f"memory.honcho.reasoning_level: there is no {level!r}", hint=f"there are {', '.join(LEVELS)}"
        )
    if not isinstance(cadence, int) or cadence < 0:
        raise ConfigError("memory.honcho.dialectic_cadence: not a number of turns", hint="write 1 for each turn")
    return Honcho(client, mode=mode, save=save is not False, cadence=cadence, level=level)


def _file(given: Given) -> dict[str, Any]:
    """Read the reference's file: the block of this host over what stands beside it."""
    file = given.file
    if not file and (home := given.variables.get("HOME")):
        file = own_file(Path(home) / ".honcho" / "config.json")
    hosts = file.get("hosts")
    host = hosts.get("hermes") if isinstance(hosts, dict) else None
    return {**file, **(host if isinstance(host, dict) else {})}


def _client(given: Given) -> HonchoClient:
    settings = given.settings.honcho
    key = given.find(settings.api_key, "apiKey", "HONCHO_API_KEY").strip()
    environment = given.find("", "environment", "HONCHO_ENVIRONMENT")
    url = given.find(settings.endpoint, "baseUrl", "HONCHO_BASE_URL").strip() or (
        LOCAL if environment == "local" else ""
    )
    names = Names(
        given.find(settings.workspace, "workspace") or "hermes",
        given.find(settings.peer, "peerName"),
        given.find(settings.ai_peer, "aiPeer") or "hermes",
    )
    for name, setting in ((names.workspace, "workspace"), (names.peer or "-", "peer"), (names.ai_peer, "ai_peer")):
        if not ID.fullmatch(name) or DIGEST.search(name):
            raise ConfigError(f"memory.honcho.{setting}: not a name at Honcho", hint="use letters, digits, - and _")
    if names.peer and names.peer == names.ai_peer:
        raise ConfigError("memory.honcho.peer: is the agent's own (ai_peer)", hint="give them two names")
    if not url and not key:
        raise ConfigError(
            "memory.honcho.api_key: is missing", hint="set it, or HONCHO_API_KEY, to a key of app.honcho.dev"
        )
    place = Place(
        "Honcho", url or PUBLIC, "memory.honcho.api_key (HONCHO_API_KEY)", "memory.honcho.endpoint (HONCHO_BASE_URL)"
    )
    place.check(key)
    patience = given.find("", "timeout", "HONCHO_TIMEOUT")
    try:
        return HonchoClient(place, key, names, patience=max(1.0, float(patience or 30)))
    except ValueError:
        raise ConfigError(f"HONCHO_TIMEOUT: {patience!r} is no number of seconds", hint="write 30") from None
