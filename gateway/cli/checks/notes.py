"""Checks of what the agent remembers: notes that are files, and the service that remembers more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Set
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.cli.checks import Finding, of_config
from gateway.errors import ConfigError

if TYPE_CHECKING:
    from gateway.config import Config

NO_START = "the gateway does not start"
NO_SERVICE = "the gateway runs, and recalls nothing but the notes"
WHY = "the agent does not learn what it is told"


async def check_notes(config: Config) -> AsyncIterator[Finding]:
    """Check that every MEMORY.md and USER.md can be read and has room."""
    if not config.settings.gateway.database.startswith("sqlite"):
        return
    from gateway.agent.memory.backing.files import FileBacking
    from gateway.agent.memory.backing.queues import Desk
    from gateway.agent.memory.memories import limits_of
    from gateway.agent.memory.store import NotesStore, concerns

    limits = limits_of(config.settings.memory)
    async with Desk() as desk:
        for folder in await asyncio.to_thread(_folders, config.home.memories):
            store = NotesStore(str(folder), FileBacking(folder, desk), limits, _nothing)
            for target in store.targets:
                # What the scan found is its owner's business, who may have let it pass.
                for concern in concerns(await store.sheet(target), limits.of[target], blocked=False):
                    yield Finding(
                        "memory", f"{folder}: {concern}", WHY, f"edit {folder / target.file}, or /memory show"
                    )


async def check_provider(config: Config) -> AsyncIterator[Finding]:
    """Check that there is the memory service that is chosen, and that its settings are complete. It is not asked."""
    from gateway.agent.memory.providers.loading import open_provider

    memory, allow = config.settings.memory, config.settings.plugins.allow
    try:
        made = await asyncio.to_thread(open_provider, memory, config.home.path, config.variables, allow=allow)
    except ConfigError as error:
        for finding in of_config(error, "memory service", NO_START):
            yield finding
        return
    if memory.provider and made is None:
        mend = f"mend {config.home.path / 'plugins' / 'memory' / memory.provider}; the log has the error"
        yield Finding("memory service", f"the plugin {memory.provider} fails to load", NO_SERVICE, mend)


async def _nothing() -> Set[str]:
    return frozenset()


def _folders(memories: Path) -> list[Path]:
    found = [memories, *memories.glob("users/*"), *memories.glob("chats/*")]
    return sorted(folder for folder in found if folder.is_dir())
