"""When conversations are reviewed: every so many turns once the answer is delivered, and when they are left.

In: turns that ended, sessions that are left. Out: notes, skills, and a line in the chat. A review runs beside the
turns and holds up nobody; what it is about was taken from the counters before it began, so that it happens at most
once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from weakref import WeakKeyDictionary

from structlog.contextvars import bound_contextvars

from gateway.agent.history import repair
from gateway.agent.memory.backing import nudges
from gateway.agent.memory.backing.nudges import Counters
from gateway.agent.review.outcome import managed, saved, steps
from gateway.agent.review.report import Notifications, report
from gateway.agent.review.reviewer import Past, Reviewed, Reviewer
from gateway.agent.tools.skills import MANAGE
from gateway.bus import lanes, reports
from gateway.bus.claims import TURNS_TOPIC
from gateway.contracts.bus import Hints
from gateway.contracts.model import Model
from gateway.contracts.tool import Tools, ToolSpec
from gateway.delivery import outbox
from gateway.delivery.prepare import Prepare
from gateway.delivery.sender import Sender
from gateway.errors import GatewayError
from gateway.messages import Message
from gateway.metrics import Metrics
from gateway.sessions import store
from gateway.sessions.keys import is_of_one
from gateway.sessions.whose import Whose
from gateway.storage.database import Connection, Database
from gateway.supervise import contain
from gateway.turns.live import LiveSession
from gateway.types import Address, Event, Reply, SessionKey, Turn

log = logging.getLogger(__name__)

AT_ONCE = 2
"""Reviews that run at the same time in this process; others wait for them."""
DELIVERY_SECONDS = 60.0
"""How long a review waits for the answer to be delivered."""
FIRST_LOOK, LAST_LOOK = 0.05, 2.0
"""Seconds between two looks into the outbox, doubled from the first to the last."""
CANCEL_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Reviewing:
    """
    How an agent looks back over its conversations: after how many turns, and how many make one that is left worth it.

    0: never. `steps` is after how many answers with tool calls skills are looked for. `reviewer` is None where there is
    nothing to write to. `other` is the model that reviews in place of the one that answered, if any. The rest is as for
    turns.
    """

    interval: int
    leaving: int
    reviewer: Reviewer | None
    other: Model | None
    model: Callable[[str], Model]
    tools: Callable[[Turn, Model], Tools]
    whose: Callable[[Event], Awaitable[Whose]]
    steps: int = 0


@dataclass(frozen=True, slots=True)
class ReviewRooms:
    """
    What reviews work with.

    `of` returns how the agent of a lane reviews, by the lane's key, None where there is no such agent any more;
    `notify` what an adapter's chats are told, by its name.
    """

    database: Database
    hints: Hints
    prepare: Prepare
    sender: Sender
    metrics: Metrics
    of: Callable[[SessionKey | str], Reviewing | None]
    notify: Callable[[str], Notifications]


@dataclass(frozen=True, slots=True)
class Spoken:
    """The last turn of a live session: the model that answered and the tools it had, and how many are not saved."""

    turn: Turn
    model: Model
    offered: Sequence[ToolSpec]
    unsaved: int = 0


@dataclass(frozen=True, slots=True)
class Due:
    """A review that is due, and what it looks for. `take` takes what was counted, or learns that another has."""

    take: Callable[[Connection], bool]
    notes: bool = True
    skills: bool = False


class Reviews:
    """The reviews of a process, one of a session at a time. Does nothing before `run`."""

    def __init__(self, rooms: ReviewRooms) -> None:
        self._rooms = rooms
        self._spoken: WeakKeyDictionary[LiveSession, Spoken] = WeakKeyDictionary()
        self._running: dict[str, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._group: asyncio.TaskGroup | None = None

    # --- what turns tell

    def count(self, connection: Connection, turn: Turn, added: Sequence[Message], *, again: bool) -> Counters | None:
        """Count a turn in the transaction that ends it; one that answers again what was counted adds no turn."""
        reviewing = self._rooms.of(turn.session)
        if reviewing is None:
            return None
        remembers = bool(turn.notes and (reviewing.interval or reviewing.leaving))
        if not remembers and not (reviewing.steps and is_of_one(str(turn.session))):
            return None
        return nudges.count(
            connection,
            turn.session_id,
            turns=int(not again),
            steps=steps(added),
            saved=saved(added),
            managed=managed(added),
        )

    def ended(self, session: LiveSession, spoken: Spoken, counters: Counters | None, *, completed: bool) -> None:
        """Hear of a turn that was stored; review its session if that is due."""
        reviewing = self._rooms.of(spoken.turn.session)
        if counters is None or reviewing is None or reviewing.reviewer is None:
            return
        if session not in self._spoken and self._group is not None:
            self._group.create_task(self._look(spoken.turn.session))  # the news of a /new may have been lost
        self._spoken[session] = replace(spoken, unsaved=counters.unsaved)
        if completed and (due := _due(reviewing, spoken, counters)) is not None:
            self._start(session, spoken, due, delivered=spoken.turn.targets)

    async def left(self, session: LiveSession) -> None:
        """Hear that a session is let go, and review it if enough was said since the last save; returns at once."""
        self._leave(session, self._spoken.get(session))

    def _leave(self, session: LiveSession, spoken: Spoken | None) -> None:
        if spoken is not None and self._is_worth_it(spoken):
            take = partial(nudges.begin, session_id=session.id, unsaved=self._leaving(spoken.turn.session))
            self._start(session, spoken, Due(take))

    def _is_worth_it(self, spoken: Spoken) -> bool:
        return 0 < self._leaving(spoken.turn.session) <= spoken.unsaved

    def _leaving(self, lane: SessionKey) -> int:
        reviewing = self._rooms.of(lane)
        return reviewing.leaving if reviewing is not None and reviewing.reviewer is not None else 0

    # --- what goes on

    async def run(self) -> None:
        """Run reviews until cancelled, and those begun with it."""
        async with asyncio.TaskGroup() as self._group:
            try:
                await self._watch()
            finally:
                self._group = None  # before it ends, since from then on it takes nothing

    async def _watch(self) -> None:
        """Review what /new left behind. Whoever hears of it looks, since the shard may be nobody's just then."""
        async with self._rooms.hints.signals(TURNS_TOPIC) as stopped:
            async for lane in stopped:
                await self._look(SessionKey(lane))

    async def _look(self, lane: SessionKey) -> None:
        if self._leaving(lane):
            try:
                await contain("looking for what a chat has left", self._find(lane), GatewayError)
            except GatewayError as error:
                log.error("what %s has left is not reviewed: %s", lane, error)

    async def _find(self, lane: SessionKey) -> None:
        leaving = self._leaving(lane)
        id = await self._rooms.database.read(lambda connection: nudges.left(connection, str(lane), leaving))
        live = next(((session, spoken) for session, spoken in self._spoken.items() if session.id == id), None)
        if id and (found := live or await self._read(lane, id)):
            session, spoken = found
            self._leave(session, replace(spoken, unsaved=leaving))

    async def _read(self, lane: SessionKey, id: str) -> tuple[LiveSession, Spoken] | None:
        """Build a session that is not live any more, and its last turn."""

        def job(connection: Connection) -> tuple[store.Stored, str, tuple[Event, ...], str]:
            turn = store.last_turn(connection, id)
            model = reports.standing(connection, lane).model
            return store.load(connection, id), turn, lanes.of_turn(connection, turn), model

        stored, last, events, name = await self._rooms.database.read(job)
        reviewing = self._rooms.of(lane)
        if not events or reviewing is None or not (whose := await reviewing.whose(events[-1])).notes:
            return None
        session, model = LiveSession(id, str(lane)), reviewing.model(name)
        await asyncio.to_thread(session.read, stored, 0)
        turn = Turn(id=last, session=lane, session_id=id, events=events, person=whose.person, notes=whose.notes)
        return session, Spoken(turn, model, reviewing.tools(turn, model).specs())

    async def drain(self, seconds: float) -> None:
        """Review every live session that is worth it, as far as there is time, and give the rest up."""
        worth = [(session, spoken) for session, spoken in self._spoken.items() if self._is_worth_it(spoken)]
        for session, spoken in worth if seconds > 0 else []:
            self._leave(session, spoken)
        skipped = len(worth) if seconds <= 0 else 0
        late = set(self._running.values())
        if late:
            _, late = await asyncio.wait(late, timeout=max(seconds, 0))
        for task in late:
            task.cancel()
        if late or skipped:
            log.warning("looks back over conversations were given up, since the gateway stops: %d", len(late) + skipped)
        if late:
            await asyncio.wait(late, timeout=CANCEL_SECONDS)

    def _start(self, session: LiveSession, spoken: Spoken, due: Due, *, delivered: Sequence[Address] = ()) -> None:
        """Begin a review, unless one of the session runs; what is not begun stays counted."""
        reviewing = self._rooms.of(spoken.turn.session)
        if self._group is None or session.id in self._running or reviewing is None:
            return
        if (reviewing.other or spoken.model).demo:
            return
        task = self._group.create_task(self._guard(session, spoken, due, delivered))
        self._running[session.id] = task
        task.add_done_callback(lambda _: self._running.pop(session.id, None))

    async def _guard(self, session: LiveSession, spoken: Spoken, due: Due, delivered: Sequence[Address]) -> None:
        """A review that fails is a line in the log."""
        with bound_contextvars(session=session.id, turn=spoken.turn.id):
            work = self._in_turn(session, spoken, due, delivered)
            try:
                await contain("a review of what to remember", work, GatewayError)
            except GatewayError as error:
                log.warning("what to remember of %s was not reviewed: %s", session.id, error)

    async def _in_turn(self, session: LiveSession, spoken: Spoken, due: Due, delivered: Sequence[Address]) -> None:
        """Wait for the delivery and for a slot, take what was counted, and review."""
        if delivered:
            await self._delivered(delivered)
        async with self._slots:
            if await self._rooms.database.write(due.take):
                now = self._spoken.get(session)
                if due.notes and now is not None and now.turn is spoken.turn:
                    self._spoken[session] = replace(now, unsaved=0)
                await self._review(session, spoken, due)

    async def _delivered(self, targets: Sequence[Address]) -> None:
        """Return once nothing waits for these places any more, or after a while."""
        queues, pause = {target.queue for target in targets}, FIRST_LOOK

        def waits(connection: Connection) -> bool:
            return outbox.busy(connection, queues)

        try:
            async with asyncio.timeout(DELIVERY_SECONDS):
                while await self._rooms.database.read(waits):
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, LAST_LOOK)
        except TimeoutError:
            log.info("the answer is not delivered yet, and what to remember is reviewed all the same")

    async def _review(self, session: LiveSession, spoken: Spoken, due: Due) -> None:
        turn, reviewing = spoken.turn, self._rooms.of(spoken.turn.session)
        assert reviewing is not None
        assert reviewing.reviewer is not None
        other, offered = reviewing.other, () if reviewing.other else spoken.offered
        # The next turn may be under way, and what it has said so far is open.
        said = tuple(repair(session.history))
        model, prompt = other or spoken.model, session.conversation.system
        past = Past(turn, model, prompt, said, offered, notes=due.notes, skills=due.skills)
        reviewed = await reviewing.reviewer.review(past, partial(self._there, session.id))
        self._count(reviewed)
        if reviewed.problem:
            log.warning("the review of what to remember of %s ended early: %s", session.id, reviewed.problem)
        await self._tell(turn, reviewed)

    async def _there(self, session_id: str) -> bool:
        return await self._rooms.database.read(lambda connection: nudges.known(connection, session_id))

    def _count(self, reviewed: Reviewed) -> None:
        self._rooms.metrics.count_model(reviewed.usage, reviewed.asked, failed=bool(reviewed.problem))
        outcome = "kept" if reviewed.kept or reviewed.skills else "failed" if reviewed.problem else "nothing"
        self._rooms.metrics.reviews_total.labels(outcome).inc()

    async def _tell(self, turn: Turn, reviewed: Reviewed) -> None:
        """Say in the chat what was kept, unless its conversation was erased meanwhile."""
        tell, notify = partial(report, reviewed.kept, skills=reviewed.skills), self._rooms.notify
        said = [(target, tell(how=notify(target.adapter))) for target in turn.targets]
        parts = [part for target, text in said if text for part in self._rooms.prepare.parts(Reply(text), target)]

        def job(connection: Connection) -> list[str]:
            return outbox.add(connection, parts) if nudges.known(connection, turn.session_id) else []

        if parts:
            await self._rooms.sender.wake(await self._rooms.database.write(job))


def _due(reviewing: Reviewing, spoken: Spoken, counters: Counters) -> Due | None:
    """
    Return the review that is due after a turn, for notes, for skills or for both.

    Skills only for people who may change them, and where nobody else speaks: what others say in a chat teaches the
    agent nothing that it would do for everybody.
    """
    turn = spoken.turn
    notes = bool(turn.notes) and 0 < reviewing.interval <= counters.turns
    may = is_of_one(str(turn.session)) and any(spec.name == MANAGE for spec in spoken.offered)
    skills = may and 0 < reviewing.steps <= counters.steps
    if not notes and not skills:
        return None
    turns, steps = reviewing.interval if notes else 0, reviewing.steps if skills else 0
    return Due(partial(nudges.begin, session_id=turn.session_id, turns=turns, steps=steps), notes, skills)
