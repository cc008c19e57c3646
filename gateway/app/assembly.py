"""The rooms of one process put together, from the floor up. In: what is open. Out: the corridors, ready to run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime

from gateway.access.policy import Access
from gateway.agent.context.looked import Open
from gateway.app.households import Households
from gateway.app.listening import Listening
from gateway.app.process import Plan
from gateway.app.terminal import PLATFORM as LOCAL
from gateway.bus.claims import Claims
from gateway.bus.lanes import Claimed
from gateway.bus.shards import Shards
from gateway.commands.builtin import Facts, builtin_commands
from gateway.commands.compact import ContextRooms
from gateway.commands.context import context_commands
from gateway.commands.notes import memory_commands
from gateway.commands.personality import personality_command
from gateway.commands.registry import Commands
from gateway.commands.skills import menu_entries, skills_command
from gateway.contracts.adapter import Adapter, MenuEntry
from gateway.contracts.bus import Hints
from gateway.delivery.pace import Pace
from gateway.delivery.prepare import Prepare
from gateway.delivery.sender import Sender
from gateway.intake import Intake
from gateway.metrics import Metrics
from gateway.sessions.cache import Cache
from gateway.sessions.keys import new_session_id, place_of
from gateway.storage.database import Database
from gateway.turns import TurnRooms, Turns
from gateway.turns.answer import Answers
from gateway.turns.live import Entry
from gateway.turns.reviews import ReviewRooms, Reviews
from gateway.turns.rooms import AnswerRooms

BURST = 20
"""Messages to one chat that may go at once before the platform's sustained rate holds."""
WEIGHT = 2.2
"""Bytes of memory per UTF-8 byte of a live session's messages and prompt, as `make bench` measures it."""


@dataclass(frozen=True, slots=True)
class Floor:
    """What is open before the rooms are put together; `stop` ends the process."""

    plan: Plan
    adapters: Mapping[str, Adapter]
    metrics: Metrics
    database: Database
    hints: Hints
    shards: Shards
    prepare: Prepare
    households: Households
    stop: Callable[[], None]


class Assembly:
    """The rooms of a process, each given those below it."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self.cache: Cache[str, Entry] = Cache(
            floor.plan.cache,
            lambda entry: int(entry.session.bytes * WEIGHT),
            self._let_go,
        )
        self.commands = self._make_commands()
        self.sender = self._make_sender()
        self.claims = self._make_claims()
        self.intake = self._make_intake()
        self.reviews = self._make_reviews()
        self.answers = self._make_answers()
        self.turns = self._make_turns()
        self.listening = self._make_listening()

    def _make_commands(self) -> Commands:
        floor, households = self._floor, self._floor.households
        context = ContextRooms(floor.database, self._live, lambda key: households.of(key).profile.compression.enabled)
        facts = Facts(
            floor.plan.version,
            lambda key: households.of(key).mind.model("").name,
            lambda key: households.of(key).mind.names(),
            self._cache_line,
        )
        more = [*context_commands(context), *memory_commands(households.remembered)]
        more.append(personality_command(lambda key: households.of(key).prompts.personalities))
        more.append(skills_command(households.skills))
        return builtin_commands(floor.prepare, facts, more)

    def _make_sender(self) -> Sender:
        floor = self._floor
        paces = {name: Pace(adapter.limits.per_chat, BURST) for name, adapter in floor.adapters.items()}
        return Sender(floor.database, floor.hints, floor.shards, floor.prepare, floor.metrics, paces, self._serves)

    def _make_claims(self) -> Claims:
        floor = self._floor
        return Claims(
            floor.database,
            floor.hints,
            floor.shards,
            home=floor.households.home,
            ids=new_id,
            serves=lambda lane: self._serves(place_of(lane)),
        )

    def _make_intake(self) -> Intake:
        floor = self._floor
        return Intake(
            floor.database,
            floor.hints,
            self.claims,
            self.sender,
            floor.prepare,
            Access(floor.plan.rules),
            self.commands,
            floor.metrics,
            floor.households.is_skill,
            sharing=floor.plan.sharing,
            routes=floor.plan.routes,
            max_queue=floor.plan.max_queue,
        )

    def _make_reviews(self) -> Reviews:
        floor, notices = self._floor, self._floor.plan.notices
        rooms = ReviewRooms(
            floor.database,
            floor.hints,
            floor.prepare,
            self.sender,
            floor.metrics,
            floor.households.reviewing,
            lambda adapter: notices.get(adapter, "on"),
        )
        return Reviews(rooms)

    def _make_answers(self) -> Answers:
        floor = self._floor
        rooms = AnswerRooms(
            floor.database,
            self.cache,
            floor.prepare,
            self.sender,
            floor.metrics,
            self.reviews,
            self.commands,
            floor.households.agent,
            floor.plan.edit_every,
        )
        return Answers(rooms)

    def _make_turns(self) -> Turns:
        floor = self._floor
        rooms = TurnRooms(
            floor.database,
            floor.hints,
            self.claims,
            self.sender,
            floor.prepare,
            self.commands,
            self.answers,
            floor.metrics,
            floor.households.knows,
        )
        return Turns(rooms, floor.plan.turns)

    def _make_listening(self) -> Listening:
        floor = self._floor
        return Listening(
            floor.database,
            floor.shards.me.id,
            self._menu,
            self.intake.accept,
            floor.stop,
            needed=floor.adapters.keys() - {LOCAL},
            alone=floor.plan.alone,
        )

    async def _menu(self) -> list[MenuEntry]:
        """Return the menu of every account: the commands, and the skills of the gateway's own agent."""
        skills = self._floor.households.main.skills
        more = await asyncio.to_thread(menu_entries, skills.room.library) if skills else []
        return self.commands.menu(more)

    def _live(self, claimed: Claimed) -> AbstractAsyncContextManager[Open]:
        return self.answers.live(claimed)

    async def _let_go(self, entry: Entry) -> None:
        self._floor.households.agent(entry.session.lane).fitting.engines.left(entry)
        await self.reviews.left(entry.session)

    def _serves(self, place: str) -> bool:
        """Say whether this process looks after a place: an address, or a lane's key from the platform on."""
        only = self._floor.plan.only
        return not only or place.partition(":")[0].partition("/")[0] == only

    def _cache_line(self) -> str:
        if not self._floor.plan.works:
            return ""
        figures = self.cache.figures
        return f"{figures.entries}, {figures.bytes / 1e6:.1f} MB, {figures.hits} hits, {figures.evictions} evicted"


def new_id() -> str:
    """Return the id of a session that begins now."""
    return new_session_id(datetime.now().astimezone())
