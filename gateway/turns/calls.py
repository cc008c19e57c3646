"""
The skills that the messages of a turn call by name, each loaded as the model is to read it.

In: the events of a turn. Out: those that are to be answered, the texts in place of those that call, and sentences for
the people whose call comes to nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gateway.agent.skills.calling import Caller, Loaded
from gateway.commands.registry import Commands, Unknown
from gateway.types import Event, EventKind

GONE = "There is no skill /{name} any more; /skills lists those there are."
NAME_CHARS = 40


@dataclass(frozen=True, slots=True)
class Calls:
    """`texts` are by the ids of events."""

    events: tuple[Event, ...]
    texts: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


async def calls(caller: Caller | None, commands: Commands, events: Sequence[Event], session_id: str) -> Calls:
    """Load what the events call. One whose skill went away since it was taken says nothing to the model."""
    if not any(_may_call(event) for event in events):
        return Calls(tuple(events))
    kept, texts, problems = list[Event](), dict[str, str](), list[str]()
    for event in events:
        loaded = await _loaded(caller, commands, event, session_id) if _may_call(event) else None
        if loaded is not None and loaded.problem:
            problems.append(loaded.problem)
            continue
        kept.append(event)
        if loaded is not None:
            texts[event.id] = loaded.text
    return Calls(tuple(kept), texts, tuple(problems))


def _may_call(event: Event) -> bool:
    return event.kind is EventKind.MESSAGE and event.text.lstrip().startswith("/")


async def _loaded(caller: Caller | None, commands: Commands, event: Event, session_id: str) -> Loaded | None:
    if caller is not None:
        platform = event.origin.platform
        loaded = await asyncio.to_thread(caller.load, event.text, platform, session_id, commands.has)
        if loaded is not None:
            return loaded
    found = commands.find(event.text)
    if isinstance(found, Unknown) and not event.burst:
        return Loaded(problem=GONE.format(name=found.name[:NAME_CHARS]))
    return None
