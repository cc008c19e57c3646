"""
One compression: asks the engine, stores what came of it, and says what the chat should know.

In: a conversation, and why it should be shorter. Out: a shorter one, or the same and why; rows either way.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from gateway.agent.context.assembly import viewed
from gateway.agent.context.beginnings import SUMMARY
from gateway.agent.context.conversation import Conversation
from gateway.agent.context.frame import framed
from gateway.agent.context.guards import Guards, packed, unusable
from gateway.agent.context.meter import Meter
from gateway.agent.context.settings import CompressionSettings
from gateway.agent.context.summary.summarise import Cause
from gateway.agent.context.window import Occasion, Told
from gateway.agent.context.words import aborted, replaced, written_by_another
from gateway.agent.prompt.prompt import Prompt
from gateway.contracts.context import Compressed, ContextEngine, Kept, Order, Past, Record, Row
from gateway.contracts.model import Model
from gateway.contracts.tool import ToolSpec
from gateway.errors import GatewayError
from gateway.llm.tokens.messages import Count, estimate
from gateway.messages import Compressing, CompressionEnded, Message, Notice
from gateway.supervise import contain

log = logging.getLogger(__name__)


class Ledger(Protocol):
    """Where a turn's compressions are stored. Raises `Fenced` where the turn is no longer ours."""

    async def stored(self, after: int) -> Sequence[tuple[int, str]]:
        """Return the ids of the session's rows after one, and of each the call it is a result of ("" for others)."""

    async def keep(self, record: Record, done: Compressed | None, guards: Guards, prompt: Prompt) -> None:
        """Store in one transaction what was tried, its view if it took effect, the guards and the prompt after it."""


@dataclass(frozen=True, slots=True)
class FittingRooms:
    """
    What a turn's window works with.

    `writers` write summaries, each where the one before it fails. `remembered` asks a memory service what must be
    kept of messages, `renewed` returns the prompt as it should be after a compression. `session_id` says under which id
    the conversation goes on.
    """

    engine: ContextEngine
    settings: CompressionSettings
    meter: Meter
    ledger: Ledger
    writers: Sequence[Model]
    remembered: Callable[[Sequence[Message]], Awaitable[str]]
    renewed: Callable[[Prompt], Awaitable[Prompt]]
    now: Callable[[], float] = time.time
    session_id: Callable[[], str] = str


class Compacting:
    """
    The compressions of one turn; `specs` are the tools that go with its requests, `unsaved` is how many of the last
    messages have no row yet.

    `shorter` says whether the last one took effect, `failures` how many failed. `in_vain` is the estimate of the
    conversation when one last changed nothing, 0 where none has since it was another.
    """

    def __init__(
        self, conversation: Conversation, rooms: FittingRooms, model: Model, specs: Sequence[ToolSpec]
    ) -> None:
        self.conversation = conversation
        self._rooms, self._model, self._specs = rooms, model, specs
        self.shorter = False
        self.failures = self.in_vain = self.unsaved = 0

    @property
    def prompt(self) -> str:
        """The system's prompt as it goes out."""
        return self.conversation.system

    @property
    def fixed(self) -> int:
        """The uncorrected estimate of what goes with every request."""
        return self._rooms.meter.fixed(self.prompt, self._specs)

    @property
    def estimated(self) -> int:
        """The uncorrected estimate of the next request."""
        return self.fixed + self.conversation.total

    @property
    def tokens(self) -> int:
        """About how many tokens the next request takes."""
        return self._rooms.meter.tokens(self.estimated)

    @property
    def guards(self) -> Guards:
        """What keeps compressions from doing harm."""
        return self.conversation.guards

    @guards.setter
    def guards(self, guards: Guards) -> None:
        self.conversation.guards = guards

    def once(self, key: str, text: str) -> list[Notice]:
        """Tell the person once, until a compression has gone well."""
        key = "-".join(key.split())[:40]
        if key in self.guards.told.split():
            return []
        self.guards = replace(self.guards, told=f"{self.guards.told} {key}".strip())
        return [Notice(text)]

    async def past(self) -> Past:
        """Return the conversation for the engine, every stored row with its id."""
        conversation = self.conversation
        known = max((row.id for row in conversation.rows), default=0)
        if not conversation.number(await self._rooms.ledger.stored(known), self.unsaved):
            raise GatewayError("the conversation in memory is not the one in the rows; it is read again")
        factor = self._rooms.meter.corrected(1_000_000) / 1_000_000
        return Past(tuple(conversation.rows), tuple(conversation.tokens), self.fixed, factor, self.tokens)

    async def has_content(self) -> bool:
        """Say whether there is anything worth compressing."""
        return await asyncio.to_thread(self._rooms.engine.has_content, await self.past())

    async def prune(self) -> bool:
        """Shorten old results of tools where the engine finds that worth a new prompt cache; say whether it did."""
        past = await self.past()
        done = await asyncio.to_thread(self._rooms.engine.prune, past)
        if done is None or objection(past, done):
            return False
        await self._take(past, done, Order(models=()), "prune", 0.0)
        return True

    async def compress(self, cause: Occasion, order: Order) -> AsyncIterator[Told]:
        """Compress once; `shorter` then says whether it took effect."""
        rooms, guards, began = self._rooms, self.guards, time.monotonic()
        self.shorter = False
        past = await self.past()
        if not order.asked:
            self.guards = guards.begun(rooms.now())
        yield Compressing(past.counted)
        log.info("compression begins (%s) at %d tokens of %d", cause, past.counted, rooms.engine.due)
        order = replace(
            order,
            memory=await rooms.remembered([row.message for row in past.rows]),
            again=guards.compressions > 0 or self.conversation.summarised,
            strikes=guards.ineffective,
            cause=guards.cause,
            failures=guards.failures,
        )
        outcome = await self._asked(past, order)
        seconds = time.monotonic() - began
        if isinstance(outcome, Kept):
            await self._leave(past, outcome, order, cause, seconds)
            yield CompressionEnded(past.counted, past.counted, 0, outcome.reason, failed=outcome.failed)
            for notice in self._warned(outcome):
                yield notice
            return
        await self._take(past, outcome, order, cause, seconds)
        self.shorter = True
        yield CompressionEnded(past.counted, self.tokens, self.guards.compressions)
        for notice in self._warned(outcome):
            yield notice

    async def _asked(self, past: Past, order: Order) -> Compressed | Kept:
        """Have the engine compress; what it does wrong leaves everything as it is."""
        engine = self._rooms.engine
        try:
            outcome = await contain(f"the context engine {engine.name}", engine.compress(past, order), GatewayError)
        except GatewayError as error:
            return unusable(str(error))
        if not isinstance(outcome, Compressed):
            return outcome
        outcome = _marked(outcome)
        count, spent = self.conversation.count, outcome.usage
        if wrong := objection(past, outcome):
            log.error("what the context engine %s made of a conversation is not used: %s", engine.name, wrong)
            return unusable(wrong, writer=outcome.writer, usage=spent)
        if _weight(past, outcome, count) >= sum(past.tokens):
            reason, why = "the compressed conversation would not be shorter", Cause.NOT_SHORTER
            return Kept(reason=reason, failed=True, cause=why, pause=why.pause(), writer=outcome.writer, usage=spent)
        return outcome

    async def _take(self, past: Past, done: Compressed, order: Order, cause: Occasion, seconds: float) -> None:
        """Store a compression that took effect, and go on with what it made."""
        rooms, before, conversation = self._rooms, self.guards, self.conversation
        after = replace(before, told="") if done.outcome == "summary" and not done.reason else before
        asked = bool(order.models) or done.outcome == "summary"
        guards = after.compressed(done, rooms.now()) if asked else after.shortened()
        if cause == "prune":
            guards = before
        prompt = await rooms.renewed(conversation.prompt)
        left = past.fixed + _weight(past, done, conversation.count)
        tokens = past.counted, rooms.meter.corrected(left)
        record = self._record(past, order, cause, seconds)
        record = replace(
            record,
            outcome=done.outcome,
            writer=done.writer,
            tokens=tokens,
            messages=(len(past.rows), len(done.rows)),
            usage=done.usage,
            score=done.score,
            reason=f"{done.cause}: {done.reason}" if done.reason else "",
        )
        await rooms.ledger.keep(record, done, guards, prompt)
        conversation.take(prompt, done.rows, guards)
        self.in_vain = 0
        if done.outcome == "fallback":
            log.warning("Summary generation was unavailable, and an extract was made instead: %s", done.reason)
        log.info("compression (%s, %s) took %.1f s: %d to %d tokens", cause, done.outcome, seconds, *tokens)
        await rooms.engine.on_session_start(rooms.session_id(), reason="compression")

    async def _leave(self, past: Past, kept: Kept, order: Order, cause: Occasion, seconds: float) -> None:
        """Hear that nothing was changed; what went wrong is stored."""
        self.in_vain = self.estimated
        if not kept.failed:
            log.info("compression (%s) changed nothing: %s", cause, kept.reason)
            return
        self.failures += 1
        log.warning("compression (%s) failed and changed nothing: %s", cause, kept.reason)
        reason = f"{kept.cause}: {kept.reason}"
        tried = self._record(past, order, cause, seconds)
        record = replace(tried, writer=kept.writer, usage=kept.usage, reason=reason)
        self.guards = self.guards.kept(kept, self._rooms.now())
        await self._rooms.ledger.keep(record, None, self.guards, self.conversation.prompt)

    def _record(self, past: Past, order: Order, cause: Occasion, seconds: float) -> Record:
        return Record(
            occasion=cause,
            outcome="kept",
            engine=self._rooms.engine.name,
            model=self._model.name,
            focus=order.focus,
            tokens=(past.counted, past.counted),
            messages=(len(past.rows), len(past.rows)),
            seconds=seconds,
            guards=packed(self.guards),
        )

    def _warned(self, outcome: Compressed | Kept) -> list[Notice]:
        """Say what went wrong, once."""
        if isinstance(outcome, Kept):
            return self.once(f"failed:{outcome.cause}", aborted(outcome.reason)) if outcome.failed else []
        if outcome.outcome == "fallback":
            return self.once("fallback", replaced(outcome.reason))
        if outcome.reason:
            return self.once("writer", written_by_another(outcome.reason, outcome.writer))
        return []


def objection(past: Past, done: Compressed) -> str:
    """Say what must not be stored; "" for a compression that keeps what it has to."""
    view, roles = done.view, {row.id: row.message.role for row in past.rows if row.id}
    if not roles.keys() >= {*view.hidden, *view.shown} or view.after not in {0, *roles}:
        return "its view is of messages that are not in the conversation"
    if any(roles[id] != message.role for id, message in view.shown.items()):
        return "a message is shown as somebody else's"
    if list(done.rows) != viewed(past.rows, [view]):
        return "its rows are not those of its view"
    asked = next((row for row in reversed(past.rows) if row.asks), None)
    if asked is not None and asked not in done.rows:
        return "the last message of the person is gone"
    if not done.rows:
        return "nothing is left"
    return ""


def _marked(done: Compressed) -> Compressed:
    """Put the marks of a summary around one that an engine left bare: the model would take it for a person's words."""
    text = done.view.summary
    if not text or text.startswith(SUMMARY):
        return done
    view = replace(done.view, summary=framed(text, asked=any(row.asks for row in done.rows)))
    shown = Message("user", view.summary)
    rows = tuple(Row(0, shown, summary=True) if row.summary else row for row in done.rows)
    return replace(done, view=view, rows=rows)


def _weight(past: Past, done: Compressed, count: Count) -> int:
    """Return the uncorrected estimate of the rows that a compression left."""
    known = {id(row.message): tokens for row, tokens in zip(past.rows, past.tokens, strict=True)}
    return sum(known.get(id(row.message)) or estimate(row.message, count) for row in done.rows)
