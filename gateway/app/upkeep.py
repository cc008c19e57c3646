"""What a process does now and then: index what was said, take away what has done its work, see that it is alone."""

from __future__ import annotations

import asyncio
import logging
from functools import partial

from gateway.bus.duty import Duty
from gateway.sessions.keys import place_of
from gateway.sessions.search.index import is_behind, keep_up
from gateway.storage.database import Database
from gateway.storage.prune import prune
from gateway.web.chat.adapter import PLATFORM

log = logging.getLogger(__name__)

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


async def _prune(database: Database, seconds: float) -> None:
    if gone := await prune(database, seconds, is_shown):
        log.info("%d rows that had done their work for %g days are gone", gone, seconds / 86_400)


def is_shown(place: str) -> bool:
    """Say whether the rows of a lane or an address are what a page shows: no other place has the conversation."""
    return place_of(place).partition(":")[0] == PLATFORM
