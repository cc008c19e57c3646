"""Who speaks: the person behind an account, made where there is none. In: events. Out: what is known of who wrote them.

People are the gateway's, whatever profile they speak with.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from gateway.access import people
from gateway.access.people import Known
from gateway.storage.database import Connection, Database
from gateway.types import Event


class Speakers:
    """
    Everybody who writes to the gateway.

    `first` is the account, besides those of the platform `local`, of the person who owns the home. `joined` is told of
    a person who turned out to be that one: their notes are to be the home's.
    """

    def __init__(self, database: Database, *, local: str, first: str, joined: Callable[[str], Awaitable[None]]) -> None:
        self._database = database
        self._local, self._first = local, first
        self._joined = joined

    async def of(self, event: Event) -> Known:
        """Say who wrote an event; whoever is new becomes a person."""
        account = event.account
        named = event.origin.platform == self._local or account == self._first
        known = await self._database.read(partial(people.identity, account=account))
        if not known.person or (named != known.home and not known.proved):
            known = await self._settle(account, known, home=named)
        return known

    async def _settle(self, account: str, known: Known, *, home: bool) -> Known:
        """Give an account the person that the settings say: its own, or the home's, and then with what it had."""

        def job(connection: Connection) -> str:
            if not known.person:
                people.meet(connection, account, home=home)
            elif home:
                return people.bring_home(connection, account, grants=False)
            else:
                people.send_away(connection, account)
            return ""

        if before := await self._database.write(job):
            await self._joined(before)
        return await self._database.read(partial(people.identity, account=account))
