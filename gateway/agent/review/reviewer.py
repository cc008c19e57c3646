"""One review: a conversation in, what was written of it out. It stores nothing but notes and skills."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from gateway.agent.context.window import FixedWindow
from gateway.agent.loop import Agent, Work
from gateway.agent.memory.backing import pending
from gateway.agent.memory.memories import Memories
from gateway.agent.memory.notes import Target
from gateway.agent.memory.operations import Operation
from gateway.agent.memory.scopes import Owner
from gateway.agent.review.narrow import Nowhere, Only
from gateway.agent.review.outcome import kept_skill, said
from gateway.agent.review.replay import digest, replayed, tokens
from gateway.agent.review.report import Kept, KeptSkill
from gateway.agent.review.request import request
from gateway.agent.tools.notes import Heard, Mode, Writing, memory_tool
from gateway.contracts.model import Model
from gateway.contracts.tool import ToolSpec
from gateway.llm.tokens.messages import estimate_tools
from gateway.messages import Finished, Message, ToolFinished, Usage
from gateway.storage.database import Database
from gateway.toolkit.function import Tool
from gateway.types import Turn

ORIGIN = "background_review"
STEPS = 16
"""Requests to the model in one review, as in the reference."""
MOST_TOKENS = 600_000
"""Tokens of all requests of a review together, as in the reference: a review that has used so many is ended."""
REPLAY_TOKENS = 150_000
"""Tokens of the conversation that is shown at most."""
FUTILE = 3
"""Calls in a row that came to nothing, after which a review is ended."""
SECONDS = 600.0
"""How long a review may take."""


@dataclass(frozen=True, slots=True)
class Past:
    """
    A conversation to look back over. `turn` is its last one, whose notes are meant.

    `offered` are the tools that `model` knows from it; there are none where it is another model, which gets a digest.
    `notes` and `skills` say what is looked for.
    """

    turn: Turn
    model: Model
    prompt: str
    history: Sequence[Message]
    offered: Sequence[ToolSpec] = ()
    notes: bool = True
    skills: bool = False


@dataclass(slots=True)
class _Seen:
    """What the calls of a review have come to so far: ids of notes that wait, and skills."""

    staged: list[str] = field(default_factory=list)
    skills: list[KeptSkill] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What was written or waits for approval, what it cost, and why the review ended early, if it did."""

    kept: tuple[Kept, ...]
    usage: Usage
    asked: int
    problem: str = ""
    skills: tuple[KeptSkill, ...] = ()


class Reviewer:
    """
    Reviews conversations; holds nothing between them. `mode` is the setting of the agent's writes of notes.

    `skills` makes the tools with which one review works on skills; they remember what it has looked at.
    """

    def __init__(
        self,
        memories: Memories,
        database: Database,
        mode: Mode,
        skills: Callable[[], Sequence[Tool]] = tuple,
        *,
        seconds: float = SECONDS,
    ) -> None:
        self._memories = memories
        self._database = database
        self._mode: Mode = mode
        self._skills = skills
        self._seconds = seconds
        self._agent = Agent(steps=STEPS - 1)  # and one that ends it, where these were not enough

    async def review(self, past: Past, there: Callable[[], Awaitable[bool]]) -> Reviewed:
        """Look back once; `there` says whether the conversation still exists."""
        if not (shown := await asyncio.to_thread(_shown, past)):
            return Reviewed((), Usage(), 0, f"the conversation does not fit the window of {past.model.name}")
        written: list[Kept] = []

        async def hear(turn: Turn, target: Target, operations: Sequence[Operation]) -> None:
            written.append(Kept(target, tuple(operations)))

        tools = [*self._notes(hear)] if past.notes else []
        tools += self._skills() if past.skills else []
        notes = await self._memories.store(Owner.parse(past.turn.notes)).snapshot() if past.notes else None
        work = Work(
            turn=replace(past.turn, id=f"{past.turn.id}.review"),
            model=past.model,
            tools=Only(tools, past.offered, there),
            journal=Nowhere(),
            window=FixedWindow(past.prompt, shown),
            said=Message("user", request(notes, skills=past.skills)),
        )
        seen = _Seen()
        try:
            async with asyncio.timeout(self._seconds):
                problem = await self._work(work, seen)
        except TimeoutError:
            problem = f"it took longer than {self._seconds:g} s"
        waiting = await self._waiting(past.turn, seen.staged) if seen.staged else []
        return Reviewed((*written, *waiting), work.usage, work.asked, problem, tuple(seen.skills))

    def _notes(self, hear: Heard) -> Sequence[Tool]:
        return (memory_tool(self._memories, self._database, Writing(self._mode, ORIGIN), hear),)

    async def _work(self, work: Work, seen: _Seen) -> str:
        """Let the agent work, as long as it gets somewhere; return what went wrong."""
        futile = 0
        async with aclosing(self._agent.run(work)) as report:
            async for progress in report:
                if isinstance(progress, Finished):
                    return "" if not progress.fault else progress.problem
                if not isinstance(progress, ToolFinished):
                    continue
                told = said(progress.result)
                futile = 0 if told.get("success") is True else futile + 1
                if skill := kept_skill(progress.call, told):
                    seen.skills.append(skill)
                elif told.get("pending_id"):
                    seen.staged.append(str(told["pending_id"]))
                if futile >= FUTILE:
                    return f"{FUTILE} calls in a row came to nothing"
                if work.usage.prompt > MOST_TOKENS:
                    return f"it used {work.usage.prompt} tokens"
        return ""

    async def _waiting(self, turn: Turn, ids: Sequence[str]) -> list[Kept]:
        """Return the writes that wait for approval, as they were stored."""
        rows = await self._database.read(lambda connection: pending.waiting(connection, person=turn.person))
        return [Kept(row.write.target, row.write.operations, row.id) for row in rows if row.id in ids]


def _shown(past: Past) -> list[Message]:
    besides = tokens([Message("system", past.prompt)]) + estimate_tools(past.offered)
    room = min(REPLAY_TOKENS, past.model.window * 3 // 4 - besides)
    return replayed(past.history, room) if past.offered else digest(past.history, room)
