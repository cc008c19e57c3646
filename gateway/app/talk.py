"""A conversation of the command line: a message goes the way of every other, and its answer is read from the rows.

Where a gateway runs on the home it sees that something was written, and takes the turn. Where none does, this process
is one for as long as the turn takes, and serves nothing but the command line.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType

from gateway.app.gateway import Gateway
from gateway.app.minds import Minds
from gateway.app.plan import plan_of
from gateway.app.process import Duties, Plan
from gateway.app.terminal import ME, PLATFORM, CommandLine, lane_of
from gateway.bus import reports
from gateway.bus.reports import Fate
from gateway.config import Config
from gateway.contracts.resource import Resource
from gateway.delivery import outbox
from gateway.delivery.outbox import Shown
from gateway.home import HomeInUse
from gateway.intake import event_key
from gateway.storage import lease
from gateway.storage.database import Connection, Database
from gateway.supervise import beside
from gateway.types import Address, Event

POLL_SECONDS = 0.1
CHECK_SECONDS = 2.0
"""How often a waiting command looks whether there still is somebody to answer it."""
EDIT_SECONDS = 0.1
"""How often a turn that runs here stores what there is of its answer."""
NEWEST = 50
"""Messages of one answer that are looked for."""


@dataclass(frozen=True, slots=True)
class Said:
    """
    What became of a message: the answer's messages, and the session that holds them.

    `problem` says why there is no answer, `fault` which error it was; `stopped`: the person wanted none any more.
    """

    texts: tuple[str, ...]
    session: str
    problem: str = ""
    fault: str = ""
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class _Seen:
    fate: Fate | None
    parts: Sequence[Shown]
    session: str


class Talk(Resource):
    """`show` is called with what there is of an answer while it is being made."""

    def __init__(self, config: Config, address: Address, show: Callable[[str], None]) -> None:
        self._config = config
        self._plan = plan_of(config)
        self._address = address
        self._lane = lane_of(address, self._plan.routes)
        self._show = show
        self._newest: int | None = None
        self._minds: Minds | None = None
        self._ready = False
        self._stack = contextlib.AsyncExitStack()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def say(self, text: str, stop: asyncio.Event) -> Said:
        """Say something and wait for the answer; when `stop` is set the turn is stopped like by /stop."""
        event, said = self._event(text), None
        while said is None:
            said = await self._once(event, stop)
        return said

    def _event(self, text: str) -> Event:
        return Event(id=uuid.uuid4().hex, origin=self._address, sender=ME, text=text)

    async def _once(self, event: Event, stop: asyncio.Event) -> Said | None:
        """Have the event answered; None where whoever was to do it is gone. It is kept once, however often tried."""
        with contextlib.ExitStack() as held:
            if self._plan.alone:
                try:
                    held.enter_context(self._config.home.lock())
                except HomeInUse:
                    return await self._there(event, stop)
            elif (said := await self._there(event, stop)) is not None:
                return said
            return await self._here(event, stop)

    async def _here(self, event: Event, stop: asyncio.Event) -> Said | None:
        """Be the gateway for one turn."""
        every = None if self._plan.edit_every is None else EDIT_SECONDS
        plan = replace(self._plan, duties=Duties.ALL, only=PLATFORM, edit_every=every)
        async with self._gateway(plan, await self._entered()) as gateway, beside(gateway.run()) as (running,):
            said = await self._turn(gateway, event, stop, _always)
            gateway.stop()
            await running
            return said

    async def _there(self, event: Event, stop: asyncio.Event) -> Said | None:
        """Bring the event in as an edge does, and leave the turn to a gateway that runs."""
        plan = replace(self._plan, duties=Duties.EDGE, alone=False, only=PLATFORM)
        # A command may answer at once, and tell what models there are; nothing else here asks for any.
        minds = await self._entered() if event.text.lstrip().startswith("/") else self._opened()
        async with self._gateway(plan, minds) as gateway:
            served = partial(_served, gateway.database)
            if not self._plan.alone and not await served():
                return None
            return await self._turn(gateway, event, stop, served)

    def _gateway(self, plan: Plan, minds: Minds) -> Gateway:
        return Gateway(plan, {PLATFORM: CommandLine()}, minds.of)

    def _opened(self) -> Minds:
        if self._minds is None:
            self._minds = Minds(self._config)
        return self._minds

    async def _entered(self) -> Minds:
        """Enter the minds once; they stay for the whole conversation."""
        minds = self._opened()
        if not self._ready:
            self._ready = True
            await self._stack.enter_async_context(minds)
        return minds

    async def _turn(
        self, gateway: Gateway, event: Event, stop: asyncio.Event, served: Callable[[], Awaitable[bool]]
    ) -> Said | None:
        """Bring the event in and read the rows until it is dealt with."""
        read, clock = gateway.database.read, asyncio.get_running_loop().time
        if self._newest is None:
            self._newest = await read(self._newest_of)
        await gateway.intake.accept(event)
        checked, stopping = clock(), False
        while isinstance(seen := await read(partial(self._look, event_key(event))), str):
            if seen:
                self._show(seen)
            if stop.is_set() and not stopping:
                stopping = True
                await gateway.intake.accept(self._event("/stop"))
            elif clock() - checked > CHECK_SECONDS:
                if not await served():
                    return None
                checked = clock()
            await _pause(None if stopping else stop)
        return self._said(seen, stopped=stopping)

    def _newest_of(self, connection: Connection) -> int:
        newest = outbox.shown(connection, str(self._address), 1)
        return newest[-1].id if newest else 0

    def _look(self, key: str, connection: Connection) -> _Seen | str:
        """Return what became of the event, or the answer so far; read before the answer, so that this is there then."""
        fate = reports.fate(connection, key)
        if fate is not None and fate.state in {"waiting", "claimed"}:
            return outbox.live_at(connection, str(self._address)) or ""
        shown = outbox.shown(connection, str(self._address), NEWEST)
        parts = [part for part in shown if part.id > (self._newest or 0)]
        return _Seen(fate, parts, reports.standing(connection, self._lane).session_id)

    def _said(self, seen: _Seen, *, stopped: bool) -> Said:
        texts = tuple(part.markdown for part in seen.parts)
        self._newest = max((part.id for part in seen.parts), default=self._newest)
        if seen.fate is not None and seen.fate.state == "done":
            return Said(texts, seen.session, seen.fate.problem, seen.fate.fault)
        problem = "" if stopped else " ".join(texts) or "the message was dropped"
        return Said(texts, seen.session, problem, stopped=stopped)


async def _pause(stop: asyncio.Event | None) -> None:
    """Wait a moment, or less if the person has had enough."""
    try:
        async with asyncio.timeout(POLL_SECONDS):
            await (stop.wait() if stop is not None else asyncio.sleep(POLL_SECONDS * 2))
    except TimeoutError:
        return


async def _always() -> bool:
    return True


async def _served(database: Database) -> bool:
    """Say whether a process is alive that takes turns."""
    return any(worker.role != "edge" for worker in await database.read(lease.living))
