"""The gateway as a person meets it: in one process on either database, and as an edge with two workers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from gateway.access.policy import Rules
from gateway.agent.context.compressor import Compressor
from gateway.agent.skills.library import Library
from gateway.app.gateway import Gateway
from gateway.app.process import Duties, Mind, Plan, Profile
from gateway.contracts.context import ContextEngine
from gateway.contracts.memory import MemoryProvider
from gateway.contracts.model import Model
from gateway.contracts.tool import Tools
from gateway.errors import StorageError
from gateway.log.redact import Redactor
from gateway.sessions.keys import NAMESPACE
from gateway.sessions.profiles import Route
from gateway.storage.database import Database
from gateway.toolkit.function import Tool
from gateway.toolkit.toolset import FunctionTools, Narrowed, Union
from gateway.turns import TurnSettings
from tests.fakes.model import DrivenModel
from tests.fakes.platform import FakePlatform

KINDS = ["one process on SQLite", "one process on Postgres", "an edge and two workers over Redis and Postgres"]


@dataclass
class House:
    """Runs the gateway for a test, as often as it likes, on the same rows."""

    plans: list[Plan]
    platform: FakePlatform
    models: dict[str, DrivenModel]
    agents: dict[str, DrivenModel] = field(default_factory=dict)
    """The models of other profiles, by the name of the profile."""
    others: list[FakePlatform] = field(default_factory=list)
    """More platforms, or more accounts of the one."""
    tools: Tools = field(default_factory=lambda: FunctionTools([]))
    gateways: list[Gateway] = field(default_factory=list)
    provider: MemoryProvider | None = None
    reviewer: DrivenModel | None = None
    writers: list[Model] = field(default_factory=list)
    """Models that write summaries before the one that answers."""
    minds: dict[str, Mind] = field(default_factory=dict)
    """What profiles think with, by name, where that is not put together here."""
    skills: bool = False
    """Let the agent have the skills of its home."""
    engine: Callable[[], ContextEngine] | None = None
    """Makes the context engines; None for the one that comes along."""

    @property
    def model(self) -> DrivenModel:
        return self.models[""]

    @property
    def database(self) -> Database:
        return self.gateways[0].database

    def give_tools(self, tools: Iterable[Tool]) -> None:
        """Let the agent have these."""
        self.tools = FunctionTools(tools)

    def change(self, **changes: object) -> None:
        """Change the plan of every process, or its main profile."""
        own = {name: changes.pop(name) for name in list(changes) if name in Profile.__slots__}
        self.plans = [
            replace(plan, main=replace(plan.main, **own), **changes)  # type: ignore[arg-type]
            for plan in self.plans
        ]

    def add_profile(self, name: str, model: DrivenModel, **changes: Any) -> Path:
        """Give every process one more profile, with a home below that of the gateway; return the home."""
        self.agents[name] = model
        home = self.plans[0].home / "profiles" / name
        home.mkdir(parents=True)
        profile = Profile(home, name, **changes)
        self.plans = [replace(plan, others=(*plan.others, profile)) for plan in self.plans]
        return home

    def route(self, *routes: Route) -> None:
        """Say which events are whose."""
        self.plans = [replace(plan, routes=routes) for plan in self.plans]

    def _minds(self, plan: Plan) -> dict[str, Mind]:
        own = {profile.name: self._mind_of(profile) for profile in plan.others}
        return {NAMESPACE: self._mind(), **own, **self.minds}

    def _mind_of(self, profile: Profile) -> Mind:
        return replace(
            self._mind(),
            model=lambda name: self.agents[profile.name],
            workspace=lambda session, address: profile.home,
            names=list,
            library=Library(profile.home) if self.skills else None,
            provider=lambda: None,
            engine=lambda: Compressor(profile.compression, Redactor(), search=True),
            writers=lambda name: [self.agents[profile.name]],
        )

    def _mind(self) -> Mind:
        return Mind(
            model=lambda name: self.models[name],
            tools=lambda role, model, more: Narrowed(Union(self.tools, more), role),
            workspace=lambda session, address: self.plans[0].home,
            names=lambda: sorted(name for name in self.models if name),
            provider=lambda: self.provider,
            library=Library(self.plans[0].home) if self.skills else None,
            reviews=lambda: self.reviewer,
            engine=self.engine or (lambda: Compressor(self.plans[0].main.compression, Redactor(), search=True)),
            writers=lambda name: [*self.writers, self.models.get(name, self.model)],
        )

    @asynccontextmanager
    async def running(self, *, kill: bool = False) -> AsyncIterator[FakePlatform]:
        """Run every process; end them by a drain, or as a kill does: without a word to anybody."""
        async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
            platforms = {platform.name: platform for platform in (self.platform, *self.others)}
            self.gateways = [Gateway(plan, platforms, self._minds(plan)) for plan in self.plans]
            for gateway in self.gateways:
                await stack.enter_async_context(gateway)
            tasks = [group.create_task(_run(gateway, kill=kill)) for gateway in self.gateways]
            try:
                yield self.platform
            finally:
                for gateway, task in zip(self.gateways, tasks, strict=True):
                    await _end(gateway, task, kill=kill)


async def _run(gateway: Gateway, *, kill: bool) -> None:
    try:
        await gateway.run()
        if not kill:
            await gateway.__aexit__(None, None, None)  # as each process would, whatever the others still do
    except* StorageError:
        if not kill:
            raise


async def _end(gateway: Gateway, task: asyncio.Task[None], *, kill: bool) -> None:
    if kill:
        gateway.database.write = _dead  # type: ignore[method-assign,assignment]
        task.cancel()
    gateway.stop()
    async with asyncio.timeout(30):
        await asyncio.wait([task])


async def _dead(job: object) -> None:
    """A killed process writes nothing more."""
    raise StorageError("this process was killed")


@pytest.fixture
def house_of(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[str], House]:
    """Make a house of one of the kinds."""

    def make(kind: str) -> House:
        plan = Plan(
            Profile(tmp_path),
            rules=Rules(owners=frozenset({"fake:ann"}), allow_all=True),
            turns=TurnSettings(max_concurrent=16, drain_seconds=5),
            edit_every=0.02,
        )
        plans = [plan]
        if "Postgres" in kind:
            plans = [replace(plan, database=request.getfixturevalue("postgres_url"))]
        if "edge" in kind:
            redis: str = request.getfixturevalue("redis_url")
            prefix: str = request.getfixturevalue("redis_prefix")
            both = replace(plans[0], bus=redis, bus_prefix=prefix, alone=False)
            plans = [replace(both, duties=Duties.EDGE), *[replace(both, duties=Duties.WORKER)] * 2]
        return House(plans, FakePlatform(), {"": DrivenModel()})

    return make


@pytest.fixture(params=KINDS)
def house(request: pytest.FixtureRequest, house_of: Callable[[str], House]) -> House:
    """A house of every kind in turn."""
    return house_of(request.param)


@pytest.fixture
def small(house_of: Callable[[str], House]) -> House:
    """A house of the simplest kind, for what does not depend on where rows live."""
    return house_of(KINDS[0])
