"""Every event comes in here: judged, kept once, answered at once or left waiting for its turn. See DESIGN §6.2."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from cachetools import TTLCache

from gateway.access import people
from gateway.access.policy import Access
from gateway.bus import lanes
from gateway.bus.claims import TURNS_TOPIC, Claims
from gateway.commands.registry import Asked, Commands, Found, Said, Unknown
from gateway.contracts.bus import Hints
from gateway.delivery import outbox
from gateway.delivery.prepare import Prepare
from gateway.delivery.sender import Sender
from gateway.metrics import Metrics
from gateway.sessions.keys import session_key
from gateway.sessions.profiles import Route, profile_of
from gateway.sessions.settings import SharingSettings
from gateway.storage.database import Connection, Database
from gateway.types import Event, EventKind, Reply, Role, SessionKey, clean, escape

log = logging.getLogger(__name__)

TOLD_SECONDS = 600.0
"""How long a stranger is not told again that we do not know them."""
DUPLICATE = "duplicate"
EMPTY = "Your message is empty; write something."
FULL = "{count} of your messages are waiting already, so this one was not taken. Send it again later, or /stop."


@dataclass(slots=True)
class _Outcome:
    """What is to be done once the event is safe."""

    label: str
    queues: list[str] = field(default_factory=list)
    waits: bool = False
    stops: bool = False


Known = Callable[[SessionKey, str, str], Awaitable[bool]]
"""Says whether the agent of a lane has a skill of this name, on a platform."""


class Intake:
    """`accept` returns once the event is safe in the database; only then may its platform hear "ok"."""

    def __init__(
        self,
        database: Database,
        hints: Hints,
        claims: Claims,
        sender: Sender,
        prepare: Prepare,
        access: Access,
        commands: Commands,
        metrics: Metrics,
        is_skill: Known,
        *,
        sharing: SharingSettings,
        routes: Sequence[Route],
        max_queue: int,
    ) -> None:
        self._database = database
        self._hints = hints
        self._claims = claims
        self._sender = sender
        self._prepare = prepare
        self._access = access
        self._commands = commands
        self._metrics = metrics
        self._is_skill = is_skill
        self._sharing = sharing
        self._routes = routes
        self._max_queue = max_queue
        self._told: TTLCache[str, bool] = TTLCache(4096, TOLD_SECONDS)

    async def accept(self, event: Event) -> bool:
        """
        Keep an event and wake whoever deals with it; return False where the same was kept before.

        An event that says not whose it is is refused and logged.
        """
        event = _clean(event)
        try:
            _check_ids(event)
            key = session_key(event, self._sharing, profile_of(event, self._routes))
        except ValueError as error:
            log.error("an event of %s was refused: %s", event.origin.platform or "no platform", error)
            return True
        found = await self._asked(key, event)
        outcome = await self._database.write(lambda connection: self._store(connection, key, event, found))
        self._metrics.events_total.labels(event.origin.platform, outcome.label).inc()
        if outcome.stops:
            await self._hints.signal(TURNS_TOPIC, str(key))
        if outcome.waits:
            await self._claims.wake(key)
        await self._sender.wake(outcome.queues)
        return outcome.label != DUPLICATE

    async def _asked(self, key: SessionKey, event: Event) -> Found | Unknown | None:
        """Return the command that an event asks for; one that calls a skill is a message like others."""
        found = self._commands.find(event.text) if event.kind is EventKind.MESSAGE and not event.burst else None
        if isinstance(found, Unknown) and await self._is_skill(key, found.name, event.origin.platform):
            return None
        return found

    def _store(self, connection: Connection, key: SessionKey, event: Event, found: Found | Unknown | None) -> _Outcome:
        owner = people.role_of(connection, event.account) is Role.OWNER
        verdict = self._access.judge(event, owner=owner)
        if verdict.role is None:
            return self._refuse(connection, event, verdict.answer, str(verdict.reason))
        if isinstance(found, Found) and not found.command.at_once:
            return self._wait(connection, key, event, verdict.role, command=True)
        if found is None and (event.text.strip() or event.attachments):
            return self._wait(connection, key, event, verdict.role, command=False)
        return self._at_once(connection, key, event, verdict.role, found)

    def _refuse(self, connection: Connection, event: Event, answer: str, reason: str) -> _Outcome:
        outcome = _Outcome(reason)
        if answer and event.account not in self._told:
            self._told[event.account] = True
            log.warning("%s (%s) was refused: %s", event.account, event.sender.name, reason)
            outcome.queues = self._say(connection, event, answer)
        return outcome

    def _wait(self, connection: Connection, key: SessionKey, event: Event, role: Role, *, command: bool) -> _Outcome:
        put = lanes.put(connection, key, event_key(event), event, role, command=command, limit=self._max_queue)
        if put.id is None:
            return _Outcome(DUPLICATE, waits=True)
        if put.full:
            return _Outcome("full", self._say(connection, event, FULL.format(count=put.ahead)))
        return _Outcome("kept", waits=True)

    def _at_once(
        self, connection: Connection, key: SessionKey, event: Event, role: Role, found: Found | Unknown | None
    ) -> _Outcome:
        id = lanes.note(connection, key, event_key(event), event, role)
        if id is None:
            return _Outcome(DUPLICATE)
        said = self._act(connection, key, event, role, found, id)
        return _Outcome("command", self._say(connection, event, said.text), stops=said.stops)

    def _act(
        self, connection: Connection, key: SessionKey, event: Event, role: Role, found: Found | Unknown | None, id: int
    ) -> Said:
        if isinstance(found, Unknown):
            return Said(f"There is no command /{found.name[:40]}; /help lists them.")
        if found is None or found.command.act is None:
            return Said(EMPTY)
        if not role.covers(found.command.role):
            return Said(f"/{found.command.name} is for an {found.command.role}.")
        return found.command.act(connection, Asked(key, event, role, found.rest, id))

    def _say(self, connection: Connection, event: Event, text: str) -> list[str]:
        return outbox.add(connection, self._prepare.parts(Reply(text), event.origin))


def event_key(event: Event) -> str:
    """The id that the platform gives what happened, made one among all accounts and their workspaces."""
    team = f"/{escape(event.origin.team)}" if event.origin.team else ""
    return f"{event.origin.adapter}{team}:{event.id}"


def _check_ids(event: Event) -> None:
    """Raise `ValueError` for an id that a store would change, and so make that of somebody else."""
    origin, sender = event.origin, event.sender.id
    ids = (origin.platform, origin.account, origin.team, origin.chat, origin.thread, sender)
    if any(clean(id) != id for id in ids):
        raise ValueError("the event names a chat or a sender with NUL or half a character in it")


def _clean(event: Event) -> Event:
    return replace(event, text=clean(event.text), sender=replace(event.sender, name=clean(event.sender.name)))
