"""A lane as its tests speak of it: events that somebody says, claims that somebody takes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from sqlalchemy import Connection, select, update

from gateway.bus import lanes
from gateway.bus.lanes import Claimed, Later, Put
from gateway.bus.order import Dead
from gateway.sessions.keys import private_key
from gateway.storage.clock import now
from gateway.storage.database import Database
from gateway.storage.tables import inbox
from gateway.types import Address, Event, Role, Sender, SessionKey

_numbers = itertools.count(1)


def key(chat: str = "1") -> SessionKey:
    return private_key(Address(platform="fake", chat=chat))


def event(text: str, *, id: str = "", burst: str = "", chat: str = "1") -> Event:
    return Event(
        id=id or f"e{next(_numbers)}",
        origin=Address(platform="fake", chat=chat),
        sender=Sender("1"),
        text=text,
        burst=burst,
    )


def say(
    connection: Connection,
    text: str,
    *,
    chat: str = "1",
    id: str = "",
    role: Role = Role.MEMBER,
    command: bool = False,
    burst: str = "",
    limit: int = 32,
) -> Put:
    said = event(text, id=id, burst=burst, chat=chat)
    return lanes.put(connection, key(chat), said.id, said, role, command=command, limit=limit)


def time_passes(connection: Connection) -> None:
    """Let a minute pass for everything that waits."""
    passed = {"not_before": inbox.c.not_before - 60, "created": inbox.c.created - 60}
    connection.execute(update(inbox).where(inbox.c.state.in_(("waiting", "claimed"))).values(**passed))


@dataclass(frozen=True, slots=True)
class Lane:
    """One lane of a database."""

    database: Database
    chat: str = "1"
    key: SessionKey = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", key(self.chat))

    async def says(
        self,
        text: str,
        *,
        id: str = "",
        role: Role = Role.MEMBER,
        command: bool = False,
        burst: str = "",
        limit: int = 32,
    ) -> Put:
        return await self.database.write(
            lambda connection: say(
                connection, text, chat=self.chat, id=id, role=role, command=command, burst=burst, limit=limit
            )
        )

    async def claim(self, session_id: str = "s1", home: str = "/home") -> Claimed | Later | Dead | None:
        return await self.database.write(lambda connection: lanes.claim(connection, self.key, session_id, home))

    async def claimed(self, session_id: str = "s1") -> Claimed:
        found = await self.claim(session_id)
        assert isinstance(found, Claimed), found
        return found

    async def settle(self, claimed: Claimed) -> int:
        def job(connection: Connection) -> int:
            version = lanes.fence(connection, claimed.lane, claimed.generation)
            lanes.done(connection, claimed.ids)
            return version

        return await self.database.write(job)

    async def give_back(self, claimed: Claimed) -> None:
        await self.database.write(lambda connection: lanes.give_back(connection, claimed))

    async def fail(self, claimed: Claimed, reason: str = "it broke") -> bool:
        return await self.database.write(lambda connection: lanes.fail(connection, claimed, reason))

    async def time_passes(self) -> None:
        await self.database.write(time_passes)

    async def now(self) -> float:
        return await self.database.read(lambda connection: connection.execute(select(now())).scalar_one())

    async def rows(self) -> list[tuple[str, str, int]]:
        """What was said, its state and its attempts, oldest first."""

        def job(connection: Connection) -> list[tuple[str, str, int]]:
            query = select(inbox).where(inbox.c.lane == str(self.key)).order_by(inbox.c.id)
            found = connection.execute(query).mappings().all()
            return [(lanes.unpack(row["event"]).text, row["state"], row["attempts"]) for row in found]

        return await self.database.read(job)


def texts(claimed: Claimed) -> list[str]:
    return [event.text for event in claimed.events]
