"""Many who speak, many who claim, and some who die: whatever the order, each event is settled once and in its turn."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from sqlalchemy import Connection, insert, select

from gateway.bus import lanes, letters
from gateway.bus.lanes import Claimed
from gateway.bus.order import Dead
from gateway.errors import Fenced
from gateway.storage.database import Database
from gateway.storage.tables import messages
from gateway.types import Role
from tests.contract.lane import Lane, key, time_passes

CHATS = ("1", "2", "3")
EVENTS = 40
EVERYTHING = frozenset(range(lanes.SHARDS))


def settle(connection: Connection, claimed: Claimed) -> None:
    """Write down what was heard in the very transaction that settles it."""
    lanes.fence(connection, claimed.lane, claimed.generation)
    lanes.done(connection, claimed.ids)
    for said in claimed.events:
        connection.execute(insert(messages).values(session_id=claimed.session_id, role="user", text=said.text))


def fail(connection: Connection, claimed: Claimed) -> None:
    lanes.fail(connection, claimed, "chance")
    time_passes(connection)


def die(connection: Connection, claimed: Claimed) -> None:
    """Say nothing to anybody."""


FATES: tuple[Callable[[Connection, Claimed], None], ...] = (settle, settle, settle, lanes.give_back, fail, die)


@dataclass(slots=True)
class Crowd:
    database: Database
    chance: random.Random
    silent: asyncio.Event = field(default_factory=asyncio.Event)

    async def talk(self, chat: str) -> None:
        for number in range(EVENTS):
            role = self.chance.choice((Role.MEMBER, Role.OWNER))
            await Lane(self.database, chat).says(f"{number}", role=role, limit=10_000)
            await asyncio.sleep(self.chance.random() * 0.004)

    async def work(self) -> None:
        """Claim whatever lane comes to mind, somebody else's running turn too, until all is settled."""
        while not self.silent.is_set() or await self.waits():
            await self.turn(self.chance.choice(CHATS))

    async def turn(self, chat: str) -> None:
        claimed = await self.database.write(lambda connection: self.claim(connection, chat))
        await asyncio.sleep(self.chance.random() * 0.003)
        if claimed is not None:
            fate = self.chance.choice(FATES)
            with suppress(Fenced):
                await self.database.write(lambda connection: fate(connection, claimed))

    def claim(self, connection: Connection, chat: str) -> Claimed | None:
        found = lanes.claim(connection, key(chat), f"s{chat}", "/home")
        if isinstance(found, Dead):
            letters.bury(connection, found.ids)
            letters.revive(connection, found.ids)
        return found if isinstance(found, Claimed) else None

    async def waits(self) -> bool:
        return bool(await self.database.read(lambda connection: lanes.waiting_lanes(connection, EVERYTHING)))

    async def heard(self, chat: str) -> list[str]:
        query = select(messages.c.text).where(messages.c.session_id == f"s{chat}").order_by(messages.c.id)
        return list(await self.database.read(lambda connection: connection.execute(query).scalars().all()))


async def test_whoever_dies_and_whoever_steals_each_event_is_settled_once_and_in_order(database: Database) -> None:
    crowd = Crowd(database, random.Random(3))
    async with asyncio.timeout(50), asyncio.TaskGroup() as workers:
        for _ in range(6):
            workers.create_task(crowd.work())
        async with asyncio.TaskGroup() as speakers:
            for chat in CHATS:
                speakers.create_task(crowd.talk(chat))
        crowd.silent.set()
    for chat in CHATS:
        assert await crowd.heard(chat) == [f"{number}" for number in range(EVENTS)]
        assert {state for _, state, _ in await Lane(database, chat).rows()} == {"done"}
