"""Listens to every account of a process, and knows how each of them is doing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial

from gateway.bus.duty import Duty
from gateway.contracts.adapter import Adapter, Emit, MenuEntry
from gateway.errors import AdapterError, StorageError, TokenRefused, Unreachable
from gateway.storage import refusals
from gateway.storage.database import Connection, Database
from gateway.supervise import contain, keep

log = logging.getLogger(__name__)

REFUSED_SECONDS = 300.0
"""How long an account rests whose token was refused; the platform may have been wrong, or may be asked to forgive."""


class Listening:
    """
    `listen` takes events from one account; one that fails stops no other.

    That a token is refused is also a row, for commands that do not ask the gateway. `give_up` is called where every
    account that somebody can write to was refused, and none has worked before; `in_vain` says why then.
    """

    def __init__(
        self,
        database: Database,
        me: str,
        menu: Callable[[], Awaitable[Sequence[MenuEntry]]],
        emit: Emit,
        give_up: Callable[[], None],
        *,
        needed: Iterable[str],
        alone: bool,
    ) -> None:
        self._database = database
        self._me = me
        self._menu = menu
        self._emit = emit
        self._give_up = give_up
        self._needed = frozenset(needed)
        self._alone = alone
        self._refused: set[str] = set()
        self._worked: set[str] = set()
        self.in_vain: TokenRefused | None = None
        self.troubles: dict[str, str] = {}
        """Why an account does not work in this moment, by adapter name."""

    async def listen(self, adapter: Adapter) -> None:
        """Listen to an account while its lease is ours; a refused token is tried again, seldom."""
        listen = partial(self._hearken, adapter)
        if adapter.lone:
            listen = partial(Duty(self._database, f"listen:{adapter.name}", self._me, force=self._alone).run, listen)
        while True:
            try:
                await keep(f"listening to {adapter.name}", listen, fatal=(TokenRefused,))
            except TokenRefused as error:
                await self._refuse(adapter.name, error)
            await asyncio.sleep(REFUSED_SECONDS)

    async def _hearken(self, adapter: Adapter) -> None:
        try:
            await contain(f"asking {adapter.name} who we are", adapter.check(), Unreachable)
            await self._works(adapter.name)
            await self._show_menu(adapter)
            await contain(f"listening to {adapter.name}", adapter.listen(self._emit), Unreachable)
        except AdapterError as error:
            self.troubles[adapter.name] = str(error)
            raise

    async def _show_menu(self, adapter: Adapter) -> None:
        try:
            await adapter.menu(await self._menu())
        except TokenRefused:
            raise
        except AdapterError as error:
            log.warning("the menu of %s could not be set: %s", adapter.name, error)

    async def _works(self, name: str) -> None:
        """Note that the platform takes the account's token."""
        self._worked.add(name)
        self.troubles.pop(name, None)
        await self._note(lambda connection: refusals.forget(connection, name))

    async def _refuse(self, name: str, error: TokenRefused) -> None:
        """Note that it does not."""
        log.error("%s is off: %s", name, error)
        await self._note(lambda connection: refusals.note(connection, name, str(error)))
        self._refused.add(name)
        if self._needed and self._needed <= self._refused and not self._worked & self._needed:
            self.in_vain = error
            self._give_up()

    async def _note(self, job: Callable[[Connection], None]) -> None:
        """Write for whoever looks; the account goes on where that fails."""
        try:
            await self._database.write(job)
        except StorageError as error:
            log.warning("how an account is doing could not be noted: %s", error)
