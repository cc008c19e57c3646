"""What commands work with, whether a gateway runs on the home or not. In: the configuration. Out: the database, open.

A command that only looks must not make what it looks for: a home without a database is told in one sentence.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from gateway.config import Config
from gateway.errors import GatewayError
from gateway.log.redact import Redactor
from gateway.sessions.keys import namespace_of
from gateway.storage import open_database
from gateway.storage.database import Database

FILE = "sqlite:///"


class NoDatabase(GatewayError):
    """Nothing has ever been said on this home."""


@dataclass(frozen=True, slots=True)
class Rooms:
    """`redact` takes the secrets of the configuration out of whatever is shown."""

    config: Config
    database: Database
    redact: Redactor

    def of(self, lane: str) -> Rooms:
        """Return the same with the settings of the profile of a lane; the gateway's where there is none any more."""
        return replace(self, config=self.config.profiles.get(namespace_of(lane), self.config))


@asynccontextmanager
async def open_rooms(config: Config) -> AsyncIterator[Rooms]:
    """Open the database that is there, brought to the newest schema; raise `NoDatabase` where there is none."""
    database = find_database(config)
    async with database:
        yield Rooms(config, database, Redactor(config.secrets))


def find_database(config: Config) -> Database:
    """Return the database, not yet entered; raise `NoDatabase` where entering it would make it."""
    database = open_database(config.settings.gateway.database, config.home.path)
    if database.url.startswith(FILE) and not Path(database.url.removeprefix(FILE)).exists():
        raise NoDatabase(f"there is no database in {config.home.path} yet: it is made when the gateway first runs")
    return database
