"""
Keeps the conversation of one turn inside the model's window: when to compress, and what to do where that is not enough.

In: what is said, what endpoints count, errors that say that a request was too long. Out: the messages of the next
request, and what the chat should know. How a compression goes, `compacting` says.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from operator import is_

from gateway.agent.context.compacting import Compacting, FittingRooms
from gateway.agent.context.conversation import Conversation
from gateway.agent.context.summary.summarise import Cause
from gateway.agent.context.window import LEFT_OUT, Occasion, Told
from gateway.agent.context.words import blocked
from gateway.agent.history import later_half
from gateway.contracts.context import Order, Past
from gateway.contracts.model import Completed, Model
from gateway.contracts.tool import ToolSpec
from gateway.llm.tokens.messages import estimate
from gateway.messages import Message, Notice

log = logging.getLogger(__name__)

PASSES = 3
"""Compressions one after the other before a request, each of which must win something; the reference's."""
PROGRESS = 0.95
"""What one must at least bring the tokens down to for another to follow."""
GROWTH = 1.05
"""How much must have been said before it is tried again to compress what could not be."""
IDLE_SHARE = 0.25
"""Of the threshold, that a conversation fills before idleness alone is a reason."""
FULL = 0.75
"""Of the threshold, from which an endpoint's unexplained trouble may be that the request is too long."""


class FittedWindow:
    """The window of one turn; `specs` are the tools that go with its requests."""

    def __init__(
        self, conversation: Conversation, rooms: FittingRooms, model: Model, specs: Sequence[ToolSpec]
    ) -> None:
        self.conversation = conversation
        self.shorter = False
        self._rooms, self._model = rooms, model
        self._work = Compacting(conversation, rooms, model, specs)
        self._left_out = self._pruned_at = 0
        self._whole = True
        self._waited = rooms.now() - conversation.spoken if conversation.spoken else 0.0  # before this turn
        name, counted, rows = conversation.reported
        if counted and name == model.name and not rooms.meter.counted:
            rooms.meter.recall(self._work.fixed + rows, counted)
        self._look()

    def _look(self) -> None:
        self._rooms.engine.model_changed(self._model.name, self._model.window, self._model.max_tokens)

    # --- the request

    @property
    def prompt(self) -> str:
        """The system's prompt as it goes out."""
        return self._work.prompt

    def request(self) -> Sequence[Message]:
        """Return what goes out behind the prompt, once for each request."""
        there = self.conversation.messages[self._left_out :]
        chosen = self._rooms.engine.select(there)
        same = len(chosen) == len(there) and all(map(is_, chosen, there))
        self._whole = same and not self._left_out
        return chosen

    @property
    def estimated(self) -> int:
        """The uncorrected estimate of the next request."""
        return self._work.estimated

    @property
    def tokens(self) -> int:
        """About how many tokens the next request takes."""
        return self._work.tokens

    def add(self, said: Sequence[Message]) -> None:
        """Add what is said in this turn."""
        self.conversation.add(said)

    def settle(self) -> None:
        """Put results in the order of their calls, once every call has its own."""
        self.conversation.settle()

    def answered(self, answer: Completed, estimated: int) -> int:
        """Hear what the endpoint counted; return it where the whole conversation went out."""
        prompt, due = answer.prompt, self._rooms.engine.due
        if self._whole:
            self._rooms.meter.learn(estimated, prompt)
        self._rooms.engine.used(answer.usage)
        self._look()
        if prompt and due:
            self._work.guards = self._work.guards.counted(prompt, due)
        return prompt if self._whole else 0

    async def past(self) -> Past:
        """Return the conversation for the engine, every stored row with its id."""
        return await self._work.past()

    # --- when

    async def make_room(self, cause: Occasion, unsaved: int) -> AsyncIterator[Told]:
        """Compress before a request where that is due and may be done."""
        rooms, self._work.unsaved = self._rooms, unsaved
        if not rooms.settings.enabled or not rooms.engine.due:
            return
        if cause == "before turn" and self._idle() and await self._work.has_content():
            cause = "idle"
        elif not self._due():
            await self._prune()
            return
        for _ in range(PASSES):
            before = self.tokens
            if self._stopped():
                for notice in self._blocked(before):
                    yield notice
                return
            async for told in self._compress(cause, Order(models=rooms.writers)):
                yield told
            if not self.shorter or self.tokens > before * PROGRESS or not self._due():
                return

    async def overflowed(self, unsaved: int, *, certain: bool) -> AsyncIterator[Told]:
        """Make the conversation shorter after a request that was too long; `shorter` then says whether it is."""
        self.shorter, self._work.unsaved = False, unsaved
        self._look()
        if not self._rooms.settings.enabled or (self._stopped() and not certain):
            return
        order = Order(models=self._rooms.writers, certain=certain)
        if certain:
            self._rooms.meter.forget()
        if self._stopped():
            for notice in self._blocked(self.tokens):
                yield notice
            order = Order(models=(), why=self._work.guards.reason)
        if order.models or self._may_do_without():
            async for told in self._compress("overflow", order):
                yield told
        if not self.shorter and certain:
            for notice in self._leave_out():
                yield notice

    def may_be_full(self) -> bool:
        """Say whether trouble that an endpoint does not explain may be that the request was too long."""
        return bool(self._rooms.engine.due) and self.tokens >= self._rooms.engine.due * FULL

    async def command(self, focus: str, keep: int | None) -> AsyncIterator[Told]:
        """Compress because a person asked for it, whatever the guards say."""
        self._work.guards = self._work.guards.asked()
        order = Order(models=self._rooms.writers, focus=focus, keep=keep, asked=True)
        async for told in self._compress("command", order):
            yield told

    async def _prune(self) -> None:
        """Shorten old results where that is wanted; where it is not worth it, again once more was said."""
        wanted = self._rooms.settings.proactive_prune_tokens
        if 0 < wanted <= self.tokens and self.estimated >= self._pruned_at * GROWTH:
            self._pruned_at = 0 if await self._work.prune() else self.estimated

    async def _compress(self, cause: Occasion, order: Order) -> AsyncIterator[Told]:
        async for told in self._work.compress(cause, order):
            yield told
        self.shorter = self._work.shorter
        if self.shorter:
            self._left_out = 0

    def _due(self) -> bool:
        tokens = self._rooms.meter.counted if self._work.guards.held else self.tokens
        return tokens >= self._rooms.engine.due and self.estimated >= self._work.in_vain * GROWTH

    def _idle(self) -> bool:
        enough = self.tokens >= self._rooms.engine.due * IDLE_SHARE
        return 0 < self._rooms.settings.idle_compact_after_seconds <= self._waited and (
            enough and not self._work.guards.held
        )

    def _stopped(self) -> bool:
        block = self._work.guards.block(self._rooms.now())
        return bool(block) or self._work.failures >= self._rooms.settings.max_attempts

    def _may_do_without(self) -> bool:
        """Say whether an extract may stand in where no model may be asked: not where that will pass by itself."""
        guards = self._work.guards
        return guards.fallbacks > 0 and guards.cause in set(Cause) and not Cause(guards.cause).aborts

    def _blocked(self, tokens: int) -> list[Notice]:
        """Say that it is over the threshold and not compressed."""
        guards, due, now = self._work.guards, self._rooms.engine.due, self._rooms.now()
        block, told = guards.block(now), guards.told.split()
        if not block or tokens < due:
            return []
        log.warning("compression is blocked (%s) at %d of %d tokens", block, tokens, due)
        if block == "pause" and any(key == "fallback" or key.startswith("failed") for key in told):
            return []  # the failure that the pause follows was told
        return self._work.once(block, blocked(guards, block, tokens, due, now))

    def _weight(self, messages: Sequence[Message]) -> int:
        count = self.conversation.count
        return self._rooms.meter.corrected(sum(estimate(message, count) for message in messages))

    def _leave_out(self) -> list[Notice]:
        """Send the newer half alone, in this turn: all of it stays stored and in view."""
        rest = later_half(self.conversation.messages[self._left_out :])
        while rest and self._weight(rest) > self._model.window:
            rest = later_half(rest)
        if not rest:
            return []
        self._left_out, self.shorter = len(self.conversation.messages) - len(rest), True
        return self._work.once("left-out", LEFT_OUT)
