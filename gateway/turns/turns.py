"""The corridor from a claimed lane to a stored answer. See DESIGN §6.3 to §6.6."""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import AsyncIterator, Callable, Set
from dataclasses import dataclass

from structlog.contextvars import bound_contextvars

from gateway.agent import journal
from gateway.agent.history import closing
from gateway.agent.journal import Ending
from gateway.bus import lanes, letters, reports
from gateway.bus.claims import TURNS_TOPIC, Claims
from gateway.bus.lanes import Claimed, shard_of
from gateway.bus.letters import DeadLetter
from gateway.bus.order import Dead
from gateway.commands.registry import Asked, Commands, Found, Said, Work
from gateway.contracts.bus import Hints
from gateway.delivery import outbox
from gateway.delivery.prepare import Prepare
from gateway.delivery.sender import Sender
from gateway.delivery.typing import typing
from gateway.errors import Fenced, StorageError
from gateway.metrics import Metrics
from gateway.sessions import store
from gateway.sessions.keys import namespace_of
from gateway.storage.database import Connection, Database
from gateway.turns.answer import Answers
from gateway.types import Event, Reply, SessionKey

log = logging.getLogger(__name__)

POLL_SECONDS = 2.0
"""How often the generations of running turns are read, whatever the signals say."""
AWAY_SECONDS = 2.0
"""Pause before a lane is tried again whose claim the database refused."""
GIVEN_UP = (
    "I tried three times and could not deal with your message ({reason}). It is kept for the operator: "
    "hermes-gateway deliveries list --in --dead"
)
AWAY = (
    "The agent {name}, whom you wrote to, is not here any more. Your message and the conversation are kept for the"
    " operator; write again, and another will answer."
)


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """How many turns run at once in this process, and how long a drain waits for them."""

    max_concurrent: int = 64
    drain_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class TurnRooms:
    """The rooms between which turns is the corridor; `known` says of a lane whether there is its agent."""

    database: Database
    hints: Hints
    claims: Claims
    sender: Sender
    prepare: Prepare
    commands: Commands
    answers: Answers
    metrics: Metrics
    known: Callable[[SessionKey], bool] = lambda lane: True


class Turns:
    """Runs turns: each in a task of its own, a failure of one never another's."""

    def __init__(self, rooms: TurnRooms, settings: TurnSettings) -> None:
        self._rooms = rooms
        self._settings = settings
        self._slots = asyncio.Semaphore(settings.max_concurrent)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._generations: dict[str, int] = {}
        self._draining = False

    @property
    def running(self) -> int:
        return len(self._running)

    async def run(self) -> None:
        """Take lanes until cancelled; what runs then is given back."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._slots.acquire()
                key = await self._rooms.claims.ready()
                if self._draining:
                    return
                task = group.create_task(self._guard(key))
                self._running[str(key)] = task
                task.add_done_callback(functools.partial(self._ended, key))

    def _ended(self, key: SessionKey, task: asyncio.Task[None]) -> None:
        self._slots.release()
        self._running.pop(str(key), None)
        self._generations.pop(str(key), None)
        self._rooms.claims.release(key)

    async def drain(self) -> None:
        """Begin nothing new; let what runs end within the time, and give the rest back."""
        self._draining = True
        running = list(self._running.values())
        if running:
            await asyncio.wait(running, timeout=self._settings.drain_seconds)
        await self._cancel(set(self._running))

    async def _cancel(self, keys: Set[str]) -> None:
        tasks = [task for key, task in self._running.items() if key in keys]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=POLL_SECONDS)

    async def came(self, shards: Set[int]) -> None:
        """Look for what waits in shards that are ours now."""
        await self._rooms.claims.look(shards)

    async def leaving(self, shards: Set[int]) -> None:
        """Let the turns of shards that we give away end, and give back what takes too long."""
        keys = {key for key in self._running if shard_of(key) in shards}
        if tasks := [self._running[key] for key in keys]:
            await asyncio.wait(tasks, timeout=self._settings.drain_seconds)
        await self.lost(shards)

    async def lost(self, shards: Set[int]) -> None:
        """Cancel the turns of shards that are no longer ours, and forget their sessions."""
        await self._cancel({key for key in self._running if shard_of(key) in shards})
        self._rooms.answers.forget(shards)

    async def watch(self) -> None:
        """Cancel turns that somebody stopped: at the signal, and every two seconds by what the rows say."""
        async with self._rooms.hints.signals(TURNS_TOPIC) as stopped, asyncio.TaskGroup() as group:
            group.create_task(self._hear(stopped))
            while True:
                await asyncio.sleep(POLL_SECONDS)
                await self._check(list(self._generations))

    async def _hear(self, stopped: AsyncIterator[str]) -> None:
        async for key in stopped:
            await self._check([key])

    async def _check(self, keys: list[str]) -> None:
        mine = {key: self._generations[key] for key in keys if key in self._generations}
        if not mine:
            return
        try:
            now = await self._rooms.database.read(lambda connection: lanes.generations(connection, list(mine)))
        except StorageError as error:
            log.error("running turns could not be checked: %s", error)
            return
        await self._cancel({key for key, generation in mine.items() if now.get(key) != generation})

    async def _guard(self, key: SessionKey) -> None:
        """One of the places that catch everything: a turn must not end its neighbours."""
        claimed: Claimed | None = None
        try:
            found = await self._rooms.claims.claim(key)
            if isinstance(found, Dead):
                await self._bury(key, found)
                self._rooms.claims.offer(str(key))
            elif found is not None:
                claimed = found
                self._generations[str(key)] = claimed.generation
                await (self._take(claimed) if self._rooms.known(key) else self._turn_away(claimed))
        except Fenced:
            log.info("a turn of %s was stopped or taken over", key)
        except StorageError as error:
            log.error("a turn of %s: %s", key, error)
            asyncio.get_running_loop().call_later(AWAY_SECONDS, self._rooms.claims.offer, str(key))
        except asyncio.CancelledError:
            await self._give_back(claimed)
            raise
        except Exception as error:
            log.exception("a turn of %s failed", key)
            await self._fail(key, claimed, error)

    async def _take(self, claimed: Claimed) -> None:
        began = time.monotonic()
        with bound_contextvars(session=claimed.session_id, turn=claimed.turn):
            found = self._rooms.commands.find(claimed.events[-1].text) if claimed.command else None
            if isinstance(found, Found) and not found.command.again:
                outcome = await self._command(claimed, found)
            else:
                outcome = await self._rooms.answers.answer(claimed, again=isinstance(found, Found))
        self._rooms.metrics.turns_total.labels(outcome).inc()
        self._rooms.metrics.turn_seconds.observe(time.monotonic() - began)

    async def _turn_away(self, claimed: Claimed) -> None:
        """Keep what an agent was told that is not there any more for the operator, and say so."""
        name = namespace_of(claimed.lane)
        places = dict.fromkeys(event.origin for event in claimed.events)

        def job(connection: Connection) -> list[str]:
            lanes.fence(connection, claimed.lane, claimed.generation)
            letters.bury(connection, claimed.ids, f"the profile {name} is not configured any more")
            outbox.end_live(connection, claimed.turn)
            return outbox.add(connection, self._rooms.prepare.to_all(Reply(AWAY.format(name=name)), tuple(places)))

        await self._rooms.sender.wake(await self._rooms.database.write(job))
        log.warning("%s: there is no profile %s any more; what was said is kept", claimed.lane, name)
        self._rooms.metrics.turns_total.labels("dead").inc()

    async def _command(self, claimed: Claimed, found: Found) -> str:
        """Run a command that waited for its turn; what it says and that it is done are one transaction."""
        command = found.command
        asked = Asked(claimed.lane, claimed.events[-1], claimed.role, found.rest, claimed.ids[-1], claimed)
        allowed = claimed.role.covers(command.role)
        worked = await self._work(command.work, asked) if command.work is not None and allowed else None

        def job(connection: Connection) -> list[str]:
            lanes.fence(connection, claimed.lane, claimed.generation)
            said = worked or Said(f"/{command.name} is for an {command.role}.")
            if command.act is not None and allowed:
                said = command.act(connection, asked)
            if said.stores is not None:
                said.stores(connection)
            lanes.done(connection, claimed.ids)
            return outbox.add(connection, self._rooms.prepare.parts(Reply(said.text), claimed.events[-1].origin))

        await self._rooms.sender.wake(await self._rooms.database.write(job))
        return "command"

    async def _work(self, work: Work, asked: Asked) -> Said:
        """Do the work of a command, which may take a while: the chat shows that something is under way."""
        place = asked.event.origin
        async with typing(self._rooms.prepare.adapter(place), place):
            return await work(asked)

    async def _give_back(self, claimed: Claimed | None) -> None:
        """Return a cancelled turn and its attempt, unless it is no longer ours; a drain leaves word in the chat."""
        if claimed is None:
            return

        def job(connection: Connection) -> list[str]:
            lanes.give_back(connection, claimed)
            lives = outbox.lives(connection, claimed.turn) if self._draining else []
            paused = self._rooms.prepare.paused
            words = [word for place, message_id, shown in lives for word in paused(shown, place, message_id)]
            return outbox.add(connection, words)

        try:
            await self._rooms.sender.wake(await asyncio.shield(self._rooms.database.write(job)))
        except StorageError as error:
            log.info("a turn of %s is not given back: %s", claimed.lane, error)

    async def _fail(self, key: SessionKey, claimed: Claimed | None, error: Exception) -> None:
        """Count the attempt; the last one makes a dead letter."""
        self._rooms.metrics.turns_total.labels("error").inc()
        if claimed is None:
            asyncio.get_running_loop().call_later(AWAY_SECONDS, self._rooms.claims.offer, str(key))
            return
        reason = f"{type(error).__name__}: {error}"[:200]
        try:
            again = await self._rooms.database.write(lambda connection: lanes.fail(connection, claimed, reason))
        except StorageError as problem:
            log.error("a failed turn of %s is found again later: %s", key, problem)
            return
        log.warning("attempt %d of 3 for a message of %s failed%s", claimed.attempt, key, "" if again else ", the last")
        self._rooms.claims.offer(str(key))

    def _is_command(self, event: Event) -> bool:
        found = self._rooms.commands.find(event.text)
        return isinstance(found, Found) and not found.command.again

    async def _bury(self, key: SessionKey, found: Dead) -> None:
        """Make dead letters of events that had all their attempts, and tell who wrote them."""

        def job(connection: Connection) -> tuple[list[DeadLetter], list[str]]:
            buried = letters.bury(connection, found.ids)
            if not buried:
                return [], []
            reason = buried[0].reason or "the gateway was interrupted each time"
            session = reports.standing(connection, key).session_id
            if not self._is_command(buried[0].event):  # which says nothing in the conversation
                begun = journal.started_calls(connection, found.turn)
                store.append(connection, session, found.turn, closing(store.of_turn(connection, found.turn), begun))
                journal.finish(connection, found.turn, str(key), session, Ending("failed", problem=reason))
            # Where an attempt was showing something, the sentence takes its place.
            shown = {address: message_id for address, message_id, _ in outbox.lives(connection, found.turn)}
            outbox.end_live(connection, found.turn)
            places = {buried[0].event.origin: ""} | shown
            told, parts = Reply(GIVEN_UP.format(reason=reason)), self._rooms.prepare.parts
            said = [part for place, live in places.items() for part in parts(told, place, edits=live)]
            return buried, outbox.add(connection, said)

        buried, queues = await self._rooms.database.write(job)
        for letter in buried:
            log.error("event %d of %s is a dead letter: %s", letter.id, key, letter.reason)
        await self._rooms.sender.wake(queues)
