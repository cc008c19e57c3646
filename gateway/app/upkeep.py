"""What a process does now and then: index what was said, take away what has done its work, see that it is alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from gateway.agent.skills.curator import curate
from gateway.agent.skills.library import Library
from gateway.bus.duty import Duty
from gateway.config.sections.skills import CuratorSettings
from gateway.sessions.keys import place_of
from gateway.sessions.search.index import is_behind, keep_up
from gateway.storage import due
from gateway.storage.database import Database
from gateway.storage.prune import prune
from gateway.web.chat.adapter import PLATFORM

log = logging.getLogger(__name__)

HOUR = 3600.0
FIRST_SECONDS, EVERY_SECONDS = 60.0, 3600.0
"""When old rows are looked for after a start, and from then on."""

INDEX_SECONDS = 5.0
"""How often what was said is looked for that the search does not know; whoever searches does not wait for it."""

HOLD_SECONDS = 5.0
"""How often a gateway that is alone looks whether the database still keeps others off."""


async def stay_alone(database: Database) -> None:
    """Keep other gateways off the database, until cancelled."""
    while True:
        await asyncio.sleep(HOLD_SECONDS)
        await database.hold()


async def index_by_and_by(database: Database, owner: str, *, alone: bool, every: float = INDEX_SECONDS) -> None:
    """Let the search know what was said, until cancelled; looked for every so many seconds."""
    duty = Duty(database, "search", owner, force=alone)
    while True:
        await asyncio.sleep(every)
        if await is_behind(database):
            await duty.run(partial(keep_up, database))


async def prune_by_and_by(
    database: Database, owner: str, seconds: float, *, alone: bool, first: float = FIRST_SECONDS
) -> None:
    """Prune the database of what is older than so many seconds, until cancelled; `first` is the pause before."""
    duty = Duty(database, "prune", owner, force=alone)
    await asyncio.sleep(first)
    while True:
        await duty.run(partial(_prune, database, seconds))
        await asyncio.sleep(EVERY_SECONDS)


@dataclass(frozen=True, slots=True)
class Cared:
    """A home whose skills are looked after: the name of the profile, its skills, and what its settings say."""

    name: str
    library: Library
    settings: CuratorSettings


async def curate_by_and_by(
    database: Database, owner: str, homes: Sequence[Cared], *, alone: bool, every: float = EVERY_SECONDS
) -> None:
    """Put away skills that nobody uses, until cancelled; looked every so many seconds whether it is time."""
    duty = Duty(database, "curator", owner, force=alone)
    while True:
        await asyncio.sleep(every)
        await duty.run(partial(_curate, database, homes))


async def _curate(database: Database, homes: Sequence[Cared]) -> None:
    for home in homes:
        await curate_if_due(database, home)


async def curate_if_due(database: Database, home: Cared) -> list[str]:
    """Put away what is to be, where it is time and nobody has spoken lately; return the names."""
    settings = home.settings
    if not (settings.enabled and settings.archive_after_days):
        return []
    take = partial(
        due.take,
        name=f"curated:{home.name}",
        every=settings.interval_hours * HOUR,
        idle=settings.min_idle_hours * HOUR,
    )
    if not await database.write(take):
        return []
    now = datetime.now(UTC)
    return [one.name for one in await asyncio.to_thread(curate, home.library, settings.archive_after_days, now)]


async def _prune(database: Database, seconds: float) -> None:
    if gone := await prune(database, seconds, is_shown):
        log.info("%d rows that had done their work for %g days are gone", gone, seconds / 86_400)


def is_shown(place: str) -> bool:
    """Say whether the rows of a lane or an address are what a page shows: no other place has the conversation."""
    return place_of(place).partition(":")[0] == PLATFORM
