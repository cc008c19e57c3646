"""The commands by name: what a text asks for, and the menu."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from gateway.bus.lanes import Claimed
from gateway.contracts.adapter import MenuEntry
from gateway.storage.database import Connection
from gateway.types import Event, Role, SessionKey

_COMMAND = re.compile(r"/([A-Za-z][\w-]*)(?:\s+(.*))?", re.DOTALL)
"""A name without another slash: ``/usr/bin`` is a path, and goes to the model."""


MENU_ENTRIES = 60
"""As many as the reference shows; longer menus are hard to read."""


@dataclass(frozen=True, slots=True)
class Asked:
    """
    Who asks, where, and the words behind the command. `id` is the inbox row of the asking.

    `claimed` is the turn of a command that waited for its own; what it stores is fenced by that.
    """

    key: SessionKey
    event: Event
    role: Role
    rest: str
    id: int
    claimed: Claimed | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """
    The answer, and whether a turn that runs in the lane must end.

    `stores` is what a `Work` found is to be done: it runs in the transaction that stores the asking.
    """

    text: str
    stops: bool = False
    stores: Callable[[Connection], None] | None = None


Act = Callable[[Connection, Asked], Said]
"""Runs in the transaction that stores the asking, so that both happen or neither."""
Work = Callable[[Asked], Awaitable[Said]]
"""Runs before that transaction, since it reaches beyond the database; after a crash it runs again."""


@dataclass(frozen=True, slots=True)
class Command:
    """
    What a command does is its `act`, or its `work`, which always waits for the running turn.

    `at_once`: does not wait for the running turn. `again`: neither, but the last turn, taken again.
    """

    name: str
    help: str
    act: Act | None = None
    work: Work | None = None
    aliases: tuple[str, ...] = ()
    at_once: bool = False
    again: bool = False
    role: Role = Role.GUEST


@dataclass(frozen=True, slots=True)
class Found:
    command: Command
    rest: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A text that asks for a command there is not; it is never sent to the model."""

    name: str


class Commands:
    """Finds a command by its name or alias, in any case."""

    def __init__(self, commands: Sequence[Command]) -> None:
        self.all = tuple(commands)
        self._by_name = {name: command for command in commands for name in (command.name, *command.aliases)}

    def find(self, text: str) -> Found | Unknown | None:
        """Return what a text asks for; None for a text that is no command."""
        match = _COMMAND.fullmatch(text.strip())
        if match is None:
            return None
        command = self._by_name.get(match[1].lower())
        return Found(command, (match[2] or "").strip()) if command else Unknown(match[1])

    def has(self, name: str) -> bool:
        """Say whether a command is called so."""
        return name.lower() in self._by_name

    def menu(self, more: Sequence[MenuEntry] = ()) -> list[MenuEntry]:
        """Return the commands for a platform's own menu, and as many others behind them as there is room for."""
        own = [MenuEntry(command.name, command.help) for command in self.all]
        others = [entry for entry in more if not self.has(entry.name)]
        return [*own, *others][: max(MENU_ENTRIES, len(own))]
