"""One turn of the agent: the live session, the loop, what the chat sees meanwhile, and the transaction that ends it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence, Set
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from weakref import WeakValueDictionary

from gateway.agent import journal
from gateway.agent.context.guards import packed
from gateway.agent.context.looked import Open
from gateway.agent.journal import Ending
from gateway.agent.loop import Work
from gateway.agent.memory.backing.nudges import Counters
from gateway.agent.prompt.chat import begun_as
from gateway.agent.prompt.prompt import Prompt
from gateway.agent.references.attach import Attached
from gateway.bus import lanes
from gateway.bus.lanes import Claimed, shard_of
from gateway.contracts.model import Model
from gateway.delivery import outbox
from gateway.delivery.outbox import Outgoing
from gateway.delivery.prepare import LONG
from gateway.delivery.typing import typing
from gateway.errors import Fenced
from gateway.messages import Finished, Message
from gateway.sessions import compressions, store
from gateway.sessions.compose import user_message
from gateway.sessions.whose import Whose
from gateway.storage.database import Connection
from gateway.turns.calls import Calls, calls
from gateway.turns.journal import TurnJournal
from gateway.turns.ledger import TurnLedger
from gateway.turns.live import UNKNOWN, Entry, LiveSession, cache_key
from gateway.turns.reviews import Spoken
from gateway.turns.rooms import AgentRooms, AnswerRooms
from gateway.turns.showing import Chat, Shown
from gateway.types import Event, Reply, Turn

MANY = 500
"""Messages that are put together in a thread: to look at more takes the loop too long."""
NOTHING = "There is nothing to answer again."
SUMMED_UP = (
    "A summary stands for a part of that turn. Send /compaction undo to have it back as it was said, and then /retry."
)


@dataclass(frozen=True, slots=True)
class _Past:
    """What earlier attempts of this turn left: its journal, the calls it began, its live messages, its compressions."""

    said: tuple[Message, ...] = ()
    started: frozenset[str] = frozenset()
    live: str = ""
    replaces: str = ""
    events: tuple[Event, ...] = ()
    refused: str = ""
    compressed: tuple[tuple[int, int], ...] = ()
    calls: Calls = Calls(())


class Answers:
    """Holds the live sessions, and answers claimed turns with them."""

    def __init__(self, rooms: AnswerRooms) -> None:
        self._rooms = rooms
        self._sessions: WeakValueDictionary[str, LiveSession] = WeakValueDictionary()

    def forget(self, shards: Set[int]) -> None:
        """Drop the live sessions of shards that are no longer ours."""
        self._rooms.cache.drop_where(lambda entry: shard_of(entry.session.lane) in shards)

    async def answer(self, claimed: Claimed, *, again: bool) -> str:
        """
        Answer a turn and store the answer; return how it ended.

        `again` answers the session's last turn once more, which is then out of view.
        """
        agent = self._rooms.agent(claimed.lane)
        model = agent.model(claimed.model)
        past = await self._past(claimed, again=again)
        if past.refused or past.events == ():
            return await self._nothing(claimed, past.refused or NOTHING)
        past = await self._called(claimed, agent, past)
        if not past.events:
            return await self._nothing(claimed, "\n".join(dict.fromkeys(past.calls.problems)))
        whose = await agent.whose(past.events[-1])  # an account may be another person's since the last turn
        key = cache_key(claimed.session_id, agent.home, model.name)
        async with self._rooms.cache.use(key, lambda: self._build(claimed, agent, model, whose)) as entry:
            session = entry.session
            session.whose = whose
            if session.version != claimed.version or past.replaces or past.said:
                await self._reload(session, claimed, past)
            await self._suit(session, claimed, agent, model)
            try:
                return await self._speak(claimed, agent, entry, model, past)
            except BaseException:
                session.version = UNKNOWN  # whatever it holds now, the rows know better
                raise

    @asynccontextmanager
    async def live(self, claimed: Claimed) -> AsyncIterator[Open]:
        """Hold the live session of a lane that a command has claimed, to look at it or to compress it."""
        agent = self._rooms.agent(claimed.lane)
        model = agent.model(claimed.model)
        whose = await agent.whose(claimed.events[-1])
        key = cache_key(claimed.session_id, agent.home, model.name)
        async with self._rooms.cache.use(key, lambda: self._build(claimed, agent, model, whose)) as entry:
            session = entry.session
            session.whose = whose
            if session.version != claimed.version:
                await self._reload(session, claimed, _Past(events=claimed.events))
            await self._suit(session, claimed, agent, model)
            turn = await self._turn(claimed, agent, session, claimed.events)
            await agent.fitting.engines.begin(entry, turn, fresh=claimed.fresh)
            specs = agent.tools(turn, model).specs()
            ledger = self._ledger(claimed, agent, session, turn, "")
            window = agent.fitting.window(entry, turn, model, specs, ledger)
            try:
                yield Open(window, entry.engine, entry.meter, model, specs)
            finally:
                session.version = UNKNOWN  # what a command stores is another version in any case

    def _ledger(
        self, claimed: Claimed, agent: AgentRooms, session: LiveSession, turn: Turn, replaces: str
    ) -> TurnLedger:
        followed = partial(agent.fitting.followed, turn)
        rooms, without = self._rooms, frozenset({replaces})
        return TurnLedger(rooms.database, claimed, session, without, agent.follow, followed, rooms.metrics)

    async def _past(self, claimed: Claimed, *, again: bool) -> _Past:
        if not claimed.again and not again:
            return _Past(events=claimed.events)

        def job(connection: Connection) -> _Past:
            last = store.last_turn(connection, claimed.session_id) if again else ""
            lives = outbox.lives(connection, claimed.turn)
            return _Past(
                store.of_turn(connection, claimed.turn),
                journal.started_calls(connection, claimed.turn),
                lives[0][1] if lives else "",
                last,
                lanes.of_turn(connection, last) if again else claimed.events,
                SUMMED_UP if again and store.is_compressed(connection, last) else "",
                tuple(compressions.won(connection, claimed.session_id, claimed.turn)),
            )

        return await self._rooms.database.read(job)

    async def _called(self, claimed: Claimed, agent: AgentRooms, past: _Past) -> _Past:
        """Load the skills that are called, unless an earlier attempt has stored what the model read."""
        if past.said:
            return past
        found = await calls(agent.skills, self._rooms.commands, past.events, claimed.session_id)
        return replace(past, events=found.events, calls=found)

    async def _nothing(self, claimed: Claimed, why: str) -> str:
        def job(connection: Connection) -> list[str]:
            lanes.fence(connection, claimed.lane, claimed.generation)
            lanes.done(connection, claimed.ids)
            return outbox.add(connection, self._rooms.prepare.to_all(Reply(why), (claimed.events[-1].origin,)))

        await self._rooms.sender.wake(await self._rooms.database.write(job))
        return "command"

    async def _build(self, claimed: Claimed, agent: AgentRooms, model: Model, whose: Whose) -> Entry:
        session = self._sessions.get(claimed.session_id)
        if session is None:
            session = agent.fitting.session(claimed.session_id, str(claimed.lane), whose)
            if claimed.fresh:
                await self._begin(session, claimed, agent, model)
            self._sessions[claimed.session_id] = session
        return agent.fitting.entry(session, model)

    async def _begin(self, session: LiveSession, claimed: Claimed, agent: AgentRooms, model: Model) -> None:
        event = claimed.events[-1]
        if session.whose.alone:
            await self._rooms.database.write(partial(_name, claimed, session.whose.alone))
        await agent.begun(event, session)
        session.begin(await self._prompt(claimed, agent, session, model), claimed.version)

    async def _prompt(self, claimed: Claimed, agent: AgentRooms, session: LiveSession, model: Model) -> Prompt:
        turn = await self._turn(claimed, agent, session, claimed.events)
        return await agent.prompt(turn, model, claimed.personality)

    async def _suit(self, session: LiveSession, claimed: Claimed, agent: AgentRooms, model: Model) -> None:
        """Have a prompt made where there is none, or one for another model or for people who may do more."""
        if not session.prompt.text or not session.prompt.suits(model.name, claimed.role):
            made = await self._prompt(claimed, agent, session, model)
            session.prompted(begun_as(session.prompt, made))

    async def _reload(self, session: LiveSession, claimed: Claimed, past: _Past) -> None:
        """Read the conversation from the rows, without what this turn says anew and without the turn it replaces."""
        without = {past.replaces} if past.said else {claimed.turn, past.replaces}
        stored = await self._rooms.database.read(
            lambda connection: store.load(connection, claimed.session_id, without=without)
        )
        before = session.prompt
        read = partial(session.read, stored, claimed.version, open_end=bool(past.said))
        await asyncio.to_thread(read) if len(stored.rows) > MANY else read()
        session.stored = bool(stored.prompt)
        if not session.stored:
            session.prompted(before)

    async def _speak(self, claimed: Claimed, agent: AgentRooms, entry: Entry, model: Model, past: _Past) -> str:
        session = entry.session
        turn = await self._turn(claimed, agent, session, past.events)
        await agent.fitting.engines.begin(entry, turn, fresh=claimed.fresh)
        tools = agent.tools(turn, model)
        ledger = self._ledger(claimed, agent, session, turn, past.replaces)
        async with typing(self._rooms.prepare.adapter(turn.targets[0]), turn.targets[0]):
            attached = await self._said(turn, agent, model, session, past, claimed.personality)
            work = Work(
                turn=turn,
                model=model,
                tools=tools,
                journal=TurnJournal(self._rooms.database, claimed, model.name, session),
                window=agent.fitting.window(entry, turn, model, tools.specs(), ledger),
                said=attached.said,
                resumed=past.said,
                started=past.started,
            )
            shown = await self._run(agent, work, past)
        finished = shown.finished
        parts = await self._parts(turn, attached.notices, shown)
        version, queues, counters = await self._store(claimed, ledger, work, finished, parts, past)
        session.version, session.stored = version, True
        await self._rooms.sender.wake(queues)
        self._rooms.metrics.count_model(finished.usage, max(1, finished.calls), failed=bool(finished.problem))
        spoken = Spoken(turn, model, work.specs)
        self._rooms.reviews.ended(session, spoken, counters, completed=not finished.problem)
        if not finished.problem:
            agent.learn(turn, work.added[0], finished.text)
        agent.fitting.engines.ended(entry, work.added)
        return "failed" if finished.problem else "done"

    async def _turn(self, claimed: Claimed, agent: AgentRooms, session: LiveSession, events: tuple[Event, ...]) -> Turn:
        return Turn(
            id=claimed.turn,
            session=claimed.lane,
            session_id=claimed.session_id,
            events=events,
            role=claimed.role,
            workspace=str(await asyncio.to_thread(agent.workspace, session.origin, claimed.events[-1].origin)),
            person=session.whose.person,
            notes=session.whose.notes,
        )

    async def _said(
        self, turn: Turn, agent: AgentRooms, model: Model, session: LiveSession, past: _Past, personality: str
    ) -> Attached:
        """Return the user's message as the model is shown it, once and for all attempts."""
        if past.said:
            return Attached(past.said[0])
        specs, history = agent.tools(turn, model).specs(), session.history
        attached = await agent.attach(turn, model.window, specs, user_message(past.events, past.calls.texts))
        attached = replace(attached, notices=(*past.calls.problems, *attached.notices))
        said = await agent.recall(turn, history, attached.said)
        return replace(attached, said=agent.beside(turn, said, session.prompt, history, personality))

    async def _run(self, agent: AgentRooms, work: Work, past: _Past) -> Shown:
        """Let the agent speak, and the chat see it."""
        rooms, target = self._rooms, work.turn.targets[0]
        chat = Chat(
            rooms.database,
            rooms.prepare.adapter(target),
            work.turn,
            rooms.edit_every,
            agent.told,
            past.live,
            past.compressed,
        )
        return await chat.watch(agent.shown(agent.agent.run(work)))

    async def _parts(self, turn: Turn, notices: Sequence[str], shown: Shown) -> list[Outgoing]:
        """Prepare what is said for every target; long answers in a thread, since cutting them may take seconds."""
        work = partial(self._cut, turn, [*notices, *shown.notices], shown)
        return await asyncio.to_thread(work) if len(shown.finished.text) > LONG else work()

    def _cut(self, turn: Turn, notices: Sequence[str], shown: Shown) -> list[Outgoing]:
        """Cut and render; the live message of the first target becomes the line that stays, else the answer."""
        parts, prepared = list[Outgoing](), self._rooms.prepare.parts
        for place, target in enumerate(turn.targets):
            live = "" if place else shown.live
            if shown.compressed and not place:
                parts += prepared(Reply(shown.compressed), target, edits=live)
                live = ""
            for notice in notices:
                parts += prepared(Reply(f"*{notice}*"), target)
            parts += prepared(Reply(shown.finished.text), target, edits=live)
        return parts

    async def _store(
        self,
        claimed: Claimed,
        ledger: TurnLedger,
        work: Work,
        finished: Finished,
        parts: Sequence[Outgoing],
        past: _Past,
    ) -> tuple[int, list[str], Counters | None]:
        """Store the end of the turn: messages, parts, events done, counters. All of it or nothing."""
        session = ledger.session
        guards = packed(session.conversation.guards)
        state, told = "failed" if finished.problem else "done", self._rooms.agent(claimed.lane).told
        ending = Ending(
            state,
            work.model.name,
            finished.usage,
            finished.calls,
            finished.problem,
            finished.fault,
            finished.read,
        )

        def job(connection: Connection) -> tuple[int, list[str], Counters | None]:
            version = lanes.fence(connection, claimed.lane, claimed.generation)
            journal.finish(connection, claimed.turn, str(claimed.lane), claimed.session_id, ending)
            if past.replaces:
                store.hide_turn(connection, claimed.session_id, past.replaces, "retry")
                lanes.adopt(connection, past.replaces, claimed.turn)
            if not session.stored:
                session.keep_prompt(connection)
            if session.whose.person and not session.whose.alone:
                store.take_part(connection, claimed.session_id, {event.account for event in work.turn.events})
            if guards != session.guards:
                store.keep_guards(connection, ledger.current, guards)
            store.append(connection, claimed.session_id, claimed.turn, finished.added)
            if self._rooms.edit_every is not None or told != "nothing":
                outbox.end_live(connection, claimed.turn)
            lanes.done(connection, claimed.ids)
            counted = self._rooms.reviews.count(connection, work.turn, work.added, again=bool(past.replaces))
            return version, outbox.add(connection, parts, claimed.turn), counted

        stored = await self._rooms.database.write(job)
        session.guards = guards
        return stored


def _name(claimed: Claimed, person: str, connection: Connection) -> None:
    """Store whose alone a session is before anything is said in it, so that whoever is erased is erased there, too."""
    lanes.fence(connection, claimed.lane, claimed.generation)
    if not store.keep_person(connection, claimed.session_id, person):
        raise Fenced(f"who speaks in {claimed.lane} was erased")
