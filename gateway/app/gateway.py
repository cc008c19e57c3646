"""One process of the gateway: the rooms put together, the corridors run, the drain at the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import datetime
from functools import lru_cache, partial
from typing import Self

from gateway.access.policy import Access
from gateway.agent.context.looked import Measure, Open
from gateway.agent.context.meter import Meter
from gateway.agent.loop import Agent
from gateway.agent.memory.approve import Approvals
from gateway.agent.memory.backing.queues import Desk
from gateway.agent.memory.manager import MemoryManager
from gateway.agent.memory.scopes import HOME, Owner
from gateway.agent.prompt import system_prompt
from gateway.agent.tools.workspace import remove_folders
from gateway.app.fits import crowded
from gateway.app.listening import Listening
from gateway.app.process import Duties, Mind, Plan
from gateway.app.remember import Remember, open_memories
from gateway.app.review import review_settings, reviewer_of
from gateway.app.terminal import PLATFORM as LOCAL
from gateway.app.upkeep import index_by_and_by, prune_by_and_by, stay_alone
from gateway.bus import open_hints
from gateway.bus.claims import Claims
from gateway.bus.lanes import Claimed
from gateway.bus.shards import Shards
from gateway.commands.builtin import Facts, builtin_commands
from gateway.commands.compact import ContextRooms
from gateway.commands.context import context_commands
from gateway.commands.notes import Remembered, memory_commands
from gateway.commands.registry import Command
from gateway.contracts.adapter import Adapter
from gateway.contracts.model import Model
from gateway.contracts.resource import Resource
from gateway.contracts.tool import Tools
from gateway.delivery.pace import Pace
from gateway.delivery.prepare import Prepare
from gateway.delivery.sender import PREFIX, Sender
from gateway.home import Home
from gateway.intake import Intake
from gateway.llm.tokens.calibration import Calibrations
from gateway.llm.tokens.text import estimate_text
from gateway.metrics import Metrics
from gateway.sessions.cache import Cache
from gateway.sessions.keys import NAMESPACE, new_session_id
from gateway.sessions.tools import NAME as SEARCH
from gateway.sessions.tools import search_tool
from gateway.sessions.whose import Whose
from gateway.storage import open_database
from gateway.supervise import keep
from gateway.toolkit.toolset import FunctionTools, Union
from gateway.turns import TurnRooms, Turns
from gateway.turns.answer import AnswerRooms, Answers, AnswerSettings
from gateway.turns.engines import Engines
from gateway.turns.fitting import Fitting
from gateway.turns.live import Entry
from gateway.turns.notices import wanted
from gateway.turns.reviews import ReviewRooms, Reviews
from gateway.types import Event, Role, SessionKey, Turn

log = logging.getLogger(__name__)

BURST = 20
"""Messages to one chat that may go at once before the platform's sustained rate holds."""
WEIGHT = 2.2
"""Bytes of memory per UTF-8 byte of a live session's messages and prompt, as `make bench` measures it."""


class Gateway(Resource):
    """The rooms of one process. Enter it, then `run` it until `stop` was called."""

    def __init__(self, plan: Plan, adapters: Mapping[str, Adapter], mind: Mind) -> None:
        self.plan = plan
        self.adapters = adapters
        self.metrics = Metrics()
        self._mind = mind
        self._stack = AsyncExitStack()
        self._stopping = asyncio.Event()

    async def __aenter__(self) -> Self:
        try:
            await self._open()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def _open(self) -> None:
        plan, enter = self.plan, self._stack.enter_async_context
        self.database = await enter(open_database(plan.database, plan.home))
        if plan.alone:
            await self.database.hold()
        self.hints = await enter(open_hints(plan.bus, plan.bus_prefix))
        works = Duties.WORKER in plan.duties
        role = plan.only or ("all" if plan.duties == Duties.ALL else "worker" if works else "edge")
        self.shards = await enter(Shards(self.database, works=works, alone=plan.alone, role=role))
        desk = await enter(Desk())
        self.engines = await enter(Engines())
        for adapter in self.adapters.values():
            await enter(adapter)
        manager = await enter(MemoryManager(self._mind.provider() if works else None))
        self._count = await asyncio.to_thread(self._mind.count) if works else estimate_text
        self._build(desk, manager)
        if works and (problem := await self._crowded()):
            log.warning("%s: %s", *problem)

    def _build(self, desk: Desk, manager: MemoryManager) -> None:
        """Put the rooms together, from the floor up."""
        self.prepare = Prepare(self.adapters)
        self.cache: Cache[str, Entry] = Cache(
            self.plan.cache,
            lambda entry: int(entry.session.bytes * WEIGHT),
            self._let_go,
        )
        self.remember = self._make_remember(desk, manager)
        search = FunctionTools([search_tool(self.database)])
        self._with_search = lru_cache(maxsize=8)(lambda more: Union(more, search))
        offered = self._engine_tools()
        self._with_engine = lru_cache(maxsize=8)(lambda more: Union(more, offered) if offered.specs() else more)
        self.commands = builtin_commands(
            self.prepare,
            Facts(self.plan.version, lambda: self._mind.model("").name, self._mind.names, self._cache_line),
            [*self._context_commands(), *memory_commands(self._remembered())],
        )
        self.sender = self._make_sender()
        self.claims = self._make_claims()
        self.intake = self._make_intake()
        self.reviews = self._make_reviews()
        self.answers = self._make_answers()
        self.turns = self._make_turns(self.answers)
        self.listening = self._make_listening()
        for tenant in (self, self.turns, self.sender):
            self.shards.tell(tenant)
        self.metrics.watch_cache(lambda: self.cache.figures)

    def _make_remember(self, desk: Desk, manager: MemoryManager) -> Remember:
        plan = self.plan
        memories = open_memories(self.database, desk, Home(plan.home).memories, plan.memory)
        return Remember(
            self.database,
            memories,
            manager,
            plan.memory,
            plan.sharing,
            taken=(*self._mind.taken, SEARCH),
            local=LOCAL,
            first=plan.owner,
        )

    def _remembered(self) -> Remembered:
        memories = self.remember.memories
        heard = self.remember.heard
        approvals = Approvals(self.database, memories, self.plan.memory.write_approval, heard)
        return Remembered(
            self.database, memories, approvals, self.remember.whose, heard, self._forget, self.remember.manager.name
        )

    def _context_commands(self) -> list[Command]:
        return context_commands(ContextRooms(self.database, self._live, self.plan.compression.enabled))

    def _live(self, claimed: Claimed) -> AbstractAsyncContextManager[Open]:
        return self.answers.live(claimed)

    async def _forget(self, owner: Owner, person: str, sessions: Sequence[str]) -> list[str]:
        """Remove the folders of conversations that are gone; report it."""
        folders = [folder for session in sessions if (folder := self._mind.folder(session)) is not None]
        gone = await asyncio.to_thread(remove_folders, [*folders, Home(self.plan.home).cache / person])
        service = await self.remember.forget(owner, person)
        return [f"{gone} files", *service, "not reached: backups that whoever runs this gateway has made"]

    def _make_sender(self) -> Sender:
        paces = {name: Pace(adapter.limits.per_chat, BURST) for name, adapter in self.adapters.items()}
        return Sender(self.database, self.hints, self.shards, self.prepare, self.metrics, paces, self._serves)

    def _make_claims(self) -> Claims:
        return Claims(
            self.database,
            self.hints,
            self.shards,
            home=str(self.plan.home),
            ids=self._new_id,
            serves=lambda lane: self._serves(lane.removeprefix(f"agent:{NAMESPACE}:")),
        )

    def _make_intake(self) -> Intake:
        return Intake(
            self.database,
            self.hints,
            self.claims,
            self.sender,
            self.prepare,
            Access(self.plan.rules),
            self.commands,
            self.metrics,
            sharing=self.plan.sharing,
            max_queue=self.plan.max_queue,
        )

    def _make_answers(self) -> Answers:
        rooms = AnswerRooms(
            self.database,
            Agent(steps=self.plan.max_steps),
            self.cache,
            self.prepare,
            self.sender,
            self.metrics,
            self._mind.model,
            self._tools,
            self.remember.whose,
            self._prompt,
            self._mind.workspace,
            self._mind.references.attach,
            self.remember.recall,
            self.remember.begun,
            self.remember.shown,
            self.remember.learn,
            self.reviews,
            Fitting(
                self.plan.compression,
                self._mind.engine,
                self._mind.writers,
                self.remember.before_compression,
                self._renewed,
                self.remember.followed,
                engines=self.engines,
                count=self._count,
            ),
        )
        follow = None if self.plan.compression.in_place else self._new_id
        told = wanted(self.plan.compression)
        return Answers(rooms, AnswerSettings(str(self.plan.home), self.plan.edit_every, follow, told))

    def _make_reviews(self) -> Reviews:
        plan, works = self.plan, Duties.WORKER in self.plan.duties
        # A process that serves a single conversation ends with each turn of it, and holds back the answer until it has.
        looks = works and not plan.only
        reviewer = reviewer_of(self.remember.memories, self.database, plan.memory) if looks else None
        rooms = ReviewRooms(
            self.database,
            self.hints,
            self.prepare,
            self.sender,
            self.metrics,
            reviewer,
            self._mind.reviews() if reviewer else None,
            self._mind.model,
            self._tools,
            self.remember.whose,
        )
        return Reviews(rooms, review_settings(plan.memory, plan.notices))

    def _make_turns(self, answers: Answers) -> Turns:
        rooms = TurnRooms(
            self.database,
            self.hints,
            self.claims,
            self.sender,
            self.prepare,
            self.commands,
            answers,
            self.metrics,
        )
        return Turns(rooms, self.plan.turns)

    def _make_listening(self) -> Listening:
        return Listening(
            self.database,
            self.shards.me.id,
            self.commands.menu(),
            self.intake.accept,
            self.stop,
            needed=self.adapters.keys() - {LOCAL},
            alone=self.plan.alone,
        )

    def _serves(self, place: str) -> bool:
        """Say whether this process looks after a place: an address, or a lane's key from the platform on."""
        return not self.plan.only or place.partition(":")[0].partition("/")[0] == self.plan.only

    def _cache_line(self) -> str:
        if Duties.WORKER not in self.plan.duties:
            return ""
        figures = self.cache.figures
        return f"{figures.entries}, {figures.bytes / 1e6:.1f} MB, {figures.hits} hits, {figures.evictions} evicted"

    async def _prompt(self, event: Event, whose: Whose) -> str:
        adapter = self.adapters.get(event.origin.adapter)
        hint = adapter.limits.hint if adapter else ""
        notes = await self.remember.snapshot(whose)
        return system_prompt(identity=self.plan.identity, hint=hint, notes=notes)

    async def _renewed(self, event: Event, whose: Whose, prompt: str) -> str:
        """Return a prompt for after a compression: the same to the byte, unless the notes in it have changed."""
        notes = await self.remember.snapshot(whose)
        return prompt if notes and notes in prompt else await self._prompt(event, whose)

    def _new_id(self) -> str:
        return new_session_id(datetime.now().astimezone())

    def _tools(self, turn: Turn, model: Model) -> Tools:
        more = self.remember.tools(turn)
        more = self._with_search(more) if turn.person else more
        return self._mind.tools(turn.role, model, self._with_engine(more))

    async def _crowded(self) -> tuple[str, str] | None:
        """Say that prompt and tools of the owner's private chat leave the default model no room, and what mends it."""
        whose, model = Whose(person=LOCAL, notes=str(HOME)), self._mind.model("")
        turn = Turn(
            id="",
            session=SessionKey(""),
            session_id="",
            events=(),
            role=Role.OWNER,
            person=whose.person,
            notes=whose.notes,
        )
        prompt = system_prompt(identity=self.plan.identity, notes=await self.remember.snapshot(whose))
        meter = Meter(Calibrations(), model.name, self._count)
        return crowded(self.plan.compression, Measure(model, self._tools(turn, model).specs(), meter), prompt)

    def _engine_tools(self) -> Tools:
        """Ask an engine once what tools those of all live sessions offer."""
        if Duties.WORKER not in self.plan.duties:
            return FunctionTools(())
        return self.engines.tools(self._mind.engine(), {*self._mind.taken, SEARCH, *self.remember.taken})

    async def _let_go(self, entry: Entry) -> None:
        self.engines.left(entry)
        await self.reviews.left(entry.session)

    async def came(self, shards: Set[int]) -> None:
        """Hear the hints of the shards that are ours."""
        await self.hints.watch(self.shards.held)

    async def leaving(self, shards: Set[int]) -> None:
        """Hear the hints of what stays."""
        await self.hints.watch(self.shards.held)

    async def lost(self, shards: Set[int]) -> None:
        """Hear the hints of what is left."""
        await self.hints.watch(self.shards.held)

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    def stop(self) -> None:
        """Let `run` drain and return."""
        self._stopping.set()

    async def run(self) -> None:
        """
        Do what the plan says until stopped; then drain: see DESIGN §6.

        Raise `TokenRefused` where there is nobody to serve, since every platform refused our token from the start.
        """
        async with asyncio.TaskGroup() as inner:
            steady = [inner.create_task(keep(name, work)) for name, work in self._steady().items()]
            async with asyncio.TaskGroup() as outer:
                listening = [outer.create_task(self.listening.listen(adapter)) for adapter in self._listeners()]
                await self._stopping.wait()
                for task in listening:
                    task.cancel()
            until = asyncio.get_running_loop().time() + self.plan.turns.drain_seconds
            await self.turns.drain()
            await self.reviews.drain(until - asyncio.get_running_loop().time())
            await self.sender.flush(self.plan.turns.drain_seconds)
            for task in steady:
                task.cancel()
        if self.listening.in_vain is not None:
            raise self.listening.in_vain

    def _steady(self) -> dict[str, Callable[[], Awaitable[None]]]:
        work: dict[str, Callable[[], Awaitable[None]]] = {"leases": self.shards.run}
        if Duties.WORKER in self.plan.duties:
            work |= {
                "hints": self._hear,
                "turns": self.turns.run,
                "stopped turns": self.turns.watch,
                "reviews": self.reviews.run,
                "waiting messages": self.claims.sweep,
                "sender": self.sender.run,
                "outbox": self.sender.sweep,
                "idle sessions": self._tidy,
            }
        if Duties.WORKER in self.plan.duties and not self.plan.only:
            me, alone = self.shards.me.id, self.plan.alone
            work["old rows"] = partial(prune_by_and_by, self.database, me, self.plan.keep_seconds, alone=alone)
            work["search"] = partial(index_by_and_by, self.database, me, alone=alone)
        if self.plan.alone:
            work["sole use"] = partial(stay_alone, self.database)
        return work

    def _listeners(self) -> list[Adapter]:
        return list(self.adapters.values()) if Duties.EDGE in self.plan.duties else []

    async def _hear(self) -> None:
        async for hint in self.hints.hints():
            if hint.startswith(PREFIX):
                self.sender.offer(hint.removeprefix(PREFIX))
            else:
                self.claims.offer(hint)

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(30)
            await self.cache.tidy()
