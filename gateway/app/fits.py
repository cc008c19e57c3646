"""Whether prompt and tools leave a conversation room in the default model's window: said at start, and by doctor."""

from __future__ import annotations

from collections.abc import Set

from gateway.agent.context.looked import Measure
from gateway.agent.context.settings import CompressionSettings
from gateway.agent.context.threshold import ROOMIER, threshold, too_small
from gateway.agent.memory.backing.files import FileBacking
from gateway.agent.memory.backing.queues import Desk
from gateway.agent.memory.memories import limits_of
from gateway.agent.memory.store import NotesStore
from gateway.agent.prompt import system_prompt
from gateway.app.looking import looking
from gateway.app.plan import profile_of
from gateway.rooms import Rooms


def crowded(settings: CompressionSettings, measure: Measure, prompt: str) -> tuple[str, str] | None:
    """Say that what goes with every request leaves no room, with the figures, and what mends it; None where it does."""
    if not settings.enabled:
        return None
    model = measure.model
    limit = threshold(settings, model.name, model.window, model.max_tokens)
    problem = too_small(limit, measure.meter.fixed(prompt, measure.specs))
    return (f"{model.name}: {problem}", ROOMIER) if problem else None


async def foreseen(rooms: Rooms) -> tuple[str, str] | None:
    """Say the same of a gateway that does not run, as far as it can be known; `rooms` need not be open."""
    config, settings = rooms.config, rooms.config.settings
    async with looking(rooms, "") as looked, Desk() as desk:
        notes = ""
        if settings.gateway.database.startswith("sqlite"):
            folder = config.home.memories
            store = NotesStore(str(folder), FileBacking(folder, desk), limits_of(settings.memory), _nothing)
            notes = await store.snapshot()
        prompt = system_prompt(identity=profile_of(config).identity, notes=notes)
        return crowded(settings.compression, looked.measure, prompt)


async def _nothing() -> Set[str]:
    return frozenset()
