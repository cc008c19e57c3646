"""One process of the gateway: its rooms opened, the corridors run, the drain at the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Set
from functools import partial

from gateway.agent.memory.backing.queues import Desk
from gateway.app.assembly import Assembly, Floor, new_id
from gateway.app.household import Grounds
from gateway.app.households import Households
from gateway.app.opening import Opening
from gateway.app.process import Duties, Mind, Plan
from gateway.app.speakers import Speakers
from gateway.app.terminal import PLATFORM as LOCAL
from gateway.app.upkeep import Cared, curate_by_and_by, index_by_and_by, prune_by_and_by, stay_alone
from gateway.bus import open_hints
from gateway.bus.shards import Shards
from gateway.contracts.adapter import Adapter, Limits
from gateway.delivery.prepare import Prepare
from gateway.delivery.sender import PREFIX
from gateway.metrics import Metrics
from gateway.sessions.profiles import private_lane
from gateway.storage import open_database
from gateway.supervise import keep
from gateway.types import Event, SessionKey
from gateway.web.chat.adapter import address_of

log = logging.getLogger(__name__)


class Gateway(Opening):
    """The rooms of one process, with a mind for each profile. Enter it, then `run` it until `stop` was called."""

    def __init__(self, plan: Plan, adapters: Mapping[str, Adapter], minds: Mapping[str, Mind]) -> None:
        super().__init__()
        self.plan = plan
        self.adapters = adapters
        self.metrics = Metrics()
        self._minds = minds
        self._stopping = asyncio.Event()

    async def _open(self) -> None:
        plan, enter = self.plan, self._stack.enter_async_context
        self.database = await enter(open_database(plan.database, plan.home))
        if plan.alone:
            await self.database.hold()
        self.hints = await enter(open_hints(plan.bus, plan.bus_prefix))
        role = plan.only or ("all" if plan.duties == Duties.ALL else "worker" if plan.works else "edge")
        self.shards = await enter(Shards(self.database, works=plan.works, alone=plan.alone, role=role))
        desk = await enter(Desk())
        for adapter in self.adapters.values():
            await enter(adapter)
        self.households = await enter(Households(plan, self._minds, self._grounds(desk)))
        self._build()
        for household in self.households if plan.works else ():
            if problem := await household.crowded():
                log.warning("%s%s: %s", f"{apart}: " if (apart := household.profile.apart) else "", *problem)

    def _grounds(self, desk: Desk) -> Grounds:
        plan = self.plan
        return Grounds(
            self.database,
            desk,
            Speakers(self.database, local=LOCAL, first=plan.owner, joined=self.joined),
            plan.sharing,
            self._limits,
            new_id,
            works=plan.works,
            # One that serves a single conversation ends with each turn of it, and would hold back the answer meanwhile.
            reviews=not plan.only,
        )

    def _build(self) -> None:
        """Put the rooms together, and let them hear of shards."""
        floor = Floor(
            self.plan,
            self.adapters,
            self.metrics,
            self.database,
            self.hints,
            self.shards,
            Prepare(self.adapters),
            self.households,
            self.stop,
        )
        rooms = Assembly(floor)
        self.cache, self.sender, self.claims, self.intake = rooms.cache, rooms.sender, rooms.claims, rooms.intake
        self.reviews, self.turns, self.listening = rooms.reviews, rooms.turns, rooms.listening
        for tenant in (self, self.turns, self.sender):
            self.shards.tell(tenant)
        self.metrics.watch_cache(lambda: self.cache.figures)

    def _limits(self, event: Event) -> Limits:
        adapter = self.adapters.get(event.origin.adapter)
        return adapter.limits if adapter else Limits()

    def lane_of_browser(self, visitor: str) -> SessionKey:
        """Return the key of a browser's conversation."""
        return private_lane(address_of(visitor), visitor, self.plan.routes)

    def model_at(self, lane: SessionKey) -> tuple[str, bool]:
        """Return the name of the model that answers in a lane by default, and whether it is the small offline one."""
        model = self.households.of(lane).mind.model("")
        return model.name, model.demo

    async def joined(self, person: str) -> None:
        """Give every home the notes of somebody who turned out to be its owner."""
        await self.households.joined(person)

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
        if self.plan.works:
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
        if self.plan.works and not self.plan.only:
            me, alone = self.shards.me.id, self.plan.alone
            work["old rows"] = partial(prune_by_and_by, self.database, me, self.plan.keep_seconds, alone=alone)
            work["skills"] = partial(curate_by_and_by, self.database, me, self._cared(), alone=alone)
            work["search"] = partial(index_by_and_by, self.database, me, alone=alone)
        if self.plan.alone:
            work["sole use"] = partial(stay_alone, self.database)
        return work

    def _cared(self) -> list[Cared]:
        return [
            Cared(one.name, one.mind.library, one.profile.skills.curator)
            for one in self.households
            if one.mind.library is not None
        ]

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
