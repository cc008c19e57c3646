"""The engine that comes along: shorten what tools said, keep both ends, and sum up what lies between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date
from functools import partial

from gateway.agent.context.assembly import assemble
from gateway.agent.context.boundaries import LEAST_ROWS, MOST_ROWS, Parts, parted, span
from gateway.agent.context.prune import prune, prune_early
from gateway.agent.context.settings import CompressionSettings
from gateway.agent.context.summary import job as jobs
from gateway.agent.context.summary.check import missing
from gateway.agent.context.summary.fallback import fallback
from gateway.agent.context.summary.finish import NOBODY
from gateway.agent.context.summary.job import Job
from gateway.agent.context.summary.sections import earlier
from gateway.agent.context.summary.serialise import Redact
from gateway.agent.context.summary.spoken import asks
from gateway.agent.context.summary.summarise import Cause, Failure, Summary, summarise
from gateway.agent.context.threshold import Threshold, explained, threshold
from gateway.agent.context.words import short
from gateway.contracts.context import Compressed, ContextEngine, Kept, Order, Past, Row, View
from gateway.llm.tokens.messages import Count, estimate
from gateway.llm.tokens.text import estimate_text
from gateway.messages import Message, Usage

TOO_LITTLE = 0.1
"""Of the threshold: after one that did no good, no summary is asked for that could win less."""
NEAR = 1_000
"""Rows at the end whose weight is estimated anew once they are pruned: where the cut falls they count one by one."""
FRAME = 8
"""Tokens that the shortest message takes."""
NOTHING = Kept(reason="there is nothing to compress yet: what is left stays as it was said")
ROUNDS_MOST = 100
"""Exchanges that a person may keep with `here N`; the reference's."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """A conversation divided: its parts, and the tokens of each row of the middle."""

    parts: Parts
    tokens: Sequence[int]


@dataclass(frozen=True, slots=True)
class _Failed:
    """A job that no model did: the last failure, and those of other models before it."""

    past: Past
    cut: _Cut
    job: Job
    failure: Failure
    tried: Sequence[Failure]
    order: Order

    @property
    def before(self) -> int:
        """How often the same was wrong just before."""
        return self.order.failures if self.order.cause == self.failure.cause else 0


class Compressor(ContextEngine):
    """
    See the module, and the rooms beside it for the five phases.

    `redact` takes secrets out of what a summary is made of. `search` says whether the agent can look things up in what
    was said. `today` gives the date that goes into summaries. `count` is the conversation's.
    """

    name = "compressor"

    def __init__(
        self,
        settings: CompressionSettings,
        redact: Redact,
        *,
        search: bool = False,
        today: Callable[[], date] = date.today,
        count: Count = estimate_text,
    ) -> None:
        self._count, self._estimate = count, partial(estimate, count=count)
        self._settings, self._redact, self._search, self._today = settings, redact, search, today
        self.limit = Threshold(0, 0, 0)
        self._window, self._model = 0, ""

    def model_changed(self, model: str, window: int, max_tokens: int | None) -> None:
        self._window, self._model = window, model
        self.limit = threshold(self._settings, model, window, max_tokens)

    @property
    def due(self) -> int:
        return self.limit.tokens

    def has_content(self, past: Past) -> bool:
        return self._divided(past, Order(models=())) is not None

    def hides(self, past: Past, order: Order) -> Set[int]:
        cut = self._divided(past, order)
        return assemble(cut.parts, "").view.hidden if cut is not None else frozenset()

    def status(self) -> Mapping[str, str]:
        return {
            "threshold": explained(self._settings, self.limit, self._model, self._window),
            "stays as said": f"the newest {short(self.limit.tail)} tokens or so",
        }

    def prune(self, past: Past) -> Compressed | None:
        settings = self._settings
        if not 0 < settings.proactive_prune_tokens <= past.counted:
            return None
        changed, freed = prune_early(
            past.rows,
            min(max(settings.protect_last_n, LEAST_ROWS), len(past.rows)),
            shortest=settings.proactive_prune_min_result_chars,
            tokens=past.tokens,
            count=self._estimate,
        )
        changed = {place: message for place, message in changed.items() if past.rows[place].id}
        if freed < settings.proactive_prune_min_reclaim_tokens:
            return None
        return _shortened(past, changed)

    async def compress(self, past: Past, order: Order) -> Compressed | Kept:
        cut = await asyncio.to_thread(self._divided, past, order)
        if cut is None:
            return await asyncio.to_thread(self._only_pruned, past)
        if order.strikes and not order.asked and sum(cut.tokens) * past.factor < self.due * TOO_LITTLE:
            return await asyncio.to_thread(self._only_pruned, past)
        job = self._job(cut, order)
        found, tried = await self._summary(job, order)
        if isinstance(found, Summary):
            made = assemble(cut.parts, found.text)
            why = tried[-1] if tried else None
            return Compressed(
                view=made.view,
                rows=made.rows,
                outcome="summary",
                writer=found.model,
                usage=_spent([*tried, found]),
                score=found.anchors.score,
                cause=why.cause if why else "",
                reason=why.text if why else "",
            )
        return await asyncio.to_thread(self._without, _Failed(past, cut, job, found, tried, order))

    def _divided(self, past: Past, order: Order) -> _Cut | None:
        """Find what is to be summed up; None where there is too little of it."""
        rows, tokens, budget = past.rows, past.tokens, self._budget(past)
        tail = len(rows) - self._tail(tokens, budget)
        changed = prune(rows, tail, budget=budget, tokens=tokens, count=self._estimate)
        weights = self._weights(rows, tokens, changed)
        found = _cut_at(rows, order) if order.keep is not None else None
        if found is None and order.keep is None:
            found = span(rows, weights, self._settings, budget, compressed_before=order.again)
        if found is None:
            return None
        parts = parted(rows, tokens, found, budget, changed)
        middle = [row for row in parts.middle if not row.summary]
        if not middle:
            return None
        by_id = {id(changed.get(place, row.message)): weights[place] for place, row in enumerate(rows)}
        return _Cut(parts, [by_id[id(row.message)] for row in parts.middle])

    def _weights(self, rows: Sequence[Row], tokens: Sequence[int], changed: Mapping[int, Message]) -> list[int]:
        """Return what each row weighs once pruned; far from the end by its share of what it was, which is quick."""
        weights, near = list(tokens), len(rows) - NEAR
        for place, message in changed.items():
            if place >= near:
                weights[place] = self._estimate(message)
            else:
                weights[place] = max(FRAME, tokens[place] * _size(message) // max(1, _size(rows[place].message)))
        return weights

    def _budget(self, past: Past) -> int:
        """Return what the end may keep, in the estimate's tokens."""
        return max(1, int(self.limit.tail / past.factor))

    def _tail(self, tokens: Sequence[int], budget: int) -> int:
        """Return how many rows at the end pruning spares at first."""
        least = min(max(LEAST_ROWS, min(self._settings.protect_last_n, MOST_ROWS)), len(tokens))
        number, weight = 0, 0
        for token in reversed(tokens):
            weight += token
            if weight > budget and number >= least:
                break
            number += 1
        return number

    def _job(self, cut: _Cut, order: Order) -> Job:
        parts = cut.parts
        previous = next((row.message.text for row in parts.middle if row.summary), "")
        everyone = (*parts.head, *parts.middle, *parts.tail)
        asked = any(asks(row) for row in everyone) or (bool(previous) and NOBODY not in previous)
        return Job(
            rows=parts.middle,
            tokens=cut.tokens,
            target=jobs.target(sum(cut.tokens), self._window),
            room=jobs.room(self._window),
            previous=previous,
            later=parts.tail,
            asked=asked,
            focus=order.focus,
            memory=order.memory,
            today=self._today(),
            search=self._search,
        )

    async def _summary(self, job: Job, order: Order) -> tuple[Summary | Failure, list[Failure]]:
        """Ask one model after the other; return what came of it, and what went wrong before."""
        tried: list[Failure] = []
        found: Summary | Failure = Failure(Cause.NO_MODEL, order.why or "no model is set up for summaries")
        for model in order.models:
            found = await summarise(model, job, self._count, self._redact)
            if isinstance(found, Summary):
                break
            tried.append(found)
        return found, tried if isinstance(found, Summary) else tried[:-1]

    def _without(self, failed: _Failed) -> Compressed | Kept:
        """Leave everything as it is, or put a summary together without a model."""
        failure, job = failed.failure, failed.job
        usage, pause = _spent([*failed.tried, failure]), failure.cause.pause(failed.before)
        certain = failed.order.certain
        if failure.cause.aborts or self._settings.abort_on_summary_failure or not certain:
            return Kept(
                reason=failure.text, failed=certain, cause=failure.cause, pause=pause, writer=failure.model, usage=usage
            )
        text = fallback(job, failure.text, self._redact)
        made = assemble(failed.cut.parts, text)
        return Compressed(
            view=made.view,
            rows=made.rows,
            outcome="fallback",
            usage=usage,
            score=missing(text, job.rows, self._redact, later=job.later, before=earlier(job.previous)).score,
            cause=failure.cause,
            reason=failure.text,
            pause=pause,
        )

    def _only_pruned(self, past: Past) -> Compressed | Kept:
        """Do what can be done without a summary."""
        budget = self._budget(past)
        tail = len(past.rows) - self._tail(past.tokens, budget)
        changed = prune(past.rows, tail, budget=budget, tokens=past.tokens, count=self._estimate)
        changed = {place: message for place, message in changed.items() if past.rows[place].id}
        return _shortened(past, changed) if changed else NOTHING


def _size(message: Message) -> int:
    return len(message.content) + sum(len(call.arguments) for call in message.calls)


def _shortened(past: Past, changed: dict[int, Message]) -> Compressed:
    view = View(shown={past.rows[place].id: message for place, message in changed.items()})
    rows = [
        Row(row.id, changed[place], row.summary) if place in changed else row for place, row in enumerate(past.rows)
    ]
    return Compressed(view=view, rows=tuple(rows), outcome="pruned")


def _cut_at(rows: Sequence[Row], order: Order) -> tuple[int, int] | None:
    """Return everything before the last `keep` exchanges."""
    begun = [place for place, row in enumerate(rows) if row.message.role == "user" and not row.summary]
    keep = min(max(order.keep or 0, 0), ROUNDS_MOST)
    if keep >= len(begun):
        return None
    end = begun[-keep] if keep else len(rows)
    return (0, end) if end else None


def _spent(asked: Sequence[Summary | Failure]) -> Usage:
    return sum((one.usage for one in asked), Usage())
