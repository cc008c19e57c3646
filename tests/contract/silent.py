"""A database that can fall silent or refuse, as a server does whose network is gone."""

from __future__ import annotations

import asyncio

from gateway.errors import StorageError
from gateway.storage.database import Database, Job, T


class Moody(Database):
    """Does what the database behind it does, while `answers` is set; refuses every write while `refuses` is true."""

    def __init__(self, behind: Database) -> None:
        self._behind = behind
        self.url = behind.url
        self.answers = asyncio.Event()
        self.answers.set()
        self.refuses = False

    async def write(self, job: Job[T]) -> T:
        await self._mood()
        return await self._behind.write(job)

    async def read(self, job: Job[T]) -> T:
        await self._mood()
        return await self._behind.read(job)

    async def _mood(self) -> None:
        if self.refuses:
            raise StorageError("the server has gone away")
        await self.answers.wait()
