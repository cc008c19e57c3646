"""Whether prompt and tools leave a conversation room in the default model's window: said at start, and by doctor."""

from __future__ import annotations

from collections.abc import Sequence, Set

from gateway.agent.context.looked import Measure
from gateway.agent.context.settings import CompressionSettings
from gateway.agent.context.threshold import ROOMIER, threshold, too_small
from gateway.agent.memory.backing.files import FileBacking
from gateway.agent.memory.backing.queues import Desk
from gateway.agent.memory.memories import limits_of
from gateway.agent.memory.scopes import HOME
from gateway.agent.memory.store import NotesStore
from gateway.agent.prompt.prompt import Section
from gateway.app.looking import Looking, looking
from gateway.app.plan import profile_of
from gateway.app.prompts import PromptRooms, Prompts
from gateway.app.remember import sections
from gateway.app.skills import library_of
from gateway.app.terminal import PLATFORM as LOCAL
from gateway.contracts.adapter import Limits
from gateway.rooms import Rooms
from gateway.sessions.keys import private_key
from gateway.types import Address, Event, Role, Sender, Turn


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
        notes: list[Section] = []
        if settings.gateway.database.startswith("sqlite"):
            folder = config.home.memories
            store = NotesStore(str(folder), FileBacking(folder, desk), limits_of(settings.memory), _nothing)
            notes = sections(await store.sections())
        prompt = await _prompts(rooms, looked, notes).make(at_home(str(HOME)), looked.measure.model)
        return crowded(settings.compression, looked.measure, prompt.text)


def at_home(notes: str) -> Turn:
    """Return a turn of the owner's private chat, to measure with; `notes` is whose notes it uses."""
    event = Event(id="", origin=Address(platform=LOCAL, chat="home"), sender=Sender("owner"))
    key = private_key(event.origin)
    return Turn(id="", session=key, session_id="", events=(event,), role=Role.OWNER, person=LOCAL, notes=notes)


def _prompts(rooms: Rooms, looked: Looking, notes: Sequence[Section]) -> Prompts:
    """Return what makes the prompts of a gateway that does not run; nothing of files is let pass for this."""

    async def passing() -> Set[str]:
        return frozenset()

    async def remembered(owner: str) -> Sequence[Section]:
        return notes

    config = rooms.config
    own = PromptRooms(
        config.home, lambda event: Limits(), lambda turn, model: looked.tools, remembered, passing, library_of(config)
    )
    return Prompts(profile_of(config).manner, own)


async def _nothing() -> Set[str]:
    return frozenset()
