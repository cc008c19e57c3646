"""A job, asked of a model: the summary, or why there is none and what that means."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from enum import StrEnum

from gateway.agent.context.summary.check import Anchors
from gateway.agent.context.summary.clip import Count
from gateway.agent.context.summary.finish import Finished, cleaned, finish
from gateway.agent.context.summary.job import Job
from gateway.agent.context.summary.prompt import prompt
from gateway.agent.context.summary.serialise import Redact
from gateway.contracts.model import Completed, Model
from gateway.errors import AuthFailed, BadResponse, ContextOverflow, ModelBusy, ModelError
from gateway.llm.faults import BrokenOff, ModelUnknown, ModelUnreachable
from gateway.messages import Message, Usage

DEADLINE = 600.0
"""Seconds that a summary may take, however steadily the model writes."""
TRIES = 4
"""Requests for one summary: each that is too long is followed by one of half the size."""
ANSWER = 2
"""How many times the target is kept free in the window: models overrun it, and some think first."""
MARGIN = 0.1
"""The share of the window kept free for what the estimate is wrong by."""
REASON = 220
"""Characters of an error that are kept; the reference's."""


class Cause(StrEnum):
    """Why there is no summary. The values are stored."""

    NO_MODEL = "no_model"  # none is set up
    UNKNOWN_MODEL = "unknown_model"  # the endpoint does not have it
    TIMEOUT = "timeout"  # silent, too slow, busy or broken on its side
    MALFORMED = "malformed"  # not what an endpoint answers
    BROKEN_OFF = "broken_off"  # the connection went while it answered
    UNREACHABLE = "unreachable"  # there was none
    REFUSED = "refused"  # the key, or the account has no credit
    EMPTY = "empty"  # nothing, or nothing but thoughts
    CUT_SHORT = "cut_short"  # ended by its length or a filter
    TOO_LONG = "too_long"  # what is to be read does not fit, however much is left out
    NOT_SHORTER = "not_shorter"  # than what it was to replace
    OTHER = "other"

    @property
    def aborts(self) -> bool:
        """Say whether everything stays as it is: it will pass, or somebody has to see to it, and no words are lost."""
        return self in _ABORTING

    def pause(self, before: int = 0) -> float:
        """Return the seconds until the next try; `before` counts the failures of this cause just before this one."""
        if self is Cause.TIMEOUT:
            return _TIMEOUTS[min(max(before, 0), len(_TIMEOUTS) - 1)]
        return _PAUSES.get(self, 60.0)


_ABORTING = frozenset({Cause.BROKEN_OFF, Cause.UNREACHABLE, Cause.REFUSED, Cause.EMPTY, Cause.CUT_SHORT})
_TIMEOUTS = (60.0, 300.0, 900.0)
_PAUSES = {Cause.NO_MODEL: 600.0, Cause.MALFORMED: 30.0, Cause.BROKEN_OFF: 30.0, Cause.UNREACHABLE: 30.0}


@dataclass(frozen=True, slots=True)
class Summary:
    """
    A summary as it is kept: the text without the marks of a message, and its tokens.

    `anchors` is the check, `usage` what all requests took as the endpoint counted, `seconds` how long they took, and
    `model` who wrote it.
    """

    text: str
    tokens: int
    anchors: Anchors
    usage: Usage
    seconds: float
    model: str


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no summary: the cause, and in at most 220 characters what the endpoint said, without secrets."""

    cause: Cause
    text: str
    usage: Usage = Usage()
    seconds: float = 0.0
    model: str = ""


async def summarise(
    model: Model | None, job: Job, count: Count, redact: Redact, *, deadline: float = DEADLINE
) -> Summary | Failure:
    """
    Ask a model for the summary of a job.

    One user's message goes out, with no system's prompt, no tools and no limit of its own on the answer; it fits the
    model's window by `count`. A model that still finds it too long is asked again with half. Whatever a model or its
    endpoint does wrong is a `Failure`, never an error: who asks tries another model with the same job, or takes
    `fallback`. Cancelling passes through.
    """
    if model is None:
        return Failure(Cause.NO_MODEL, "no model is set up for summaries")
    asked = _Asked(model, job, count, redact)
    began = time.monotonic()
    try:
        async with asyncio.timeout(deadline):
            outcome = await asked.outcome()
    except TimeoutError:
        outcome = Cause.TIMEOUT, f"{model.name} has not finished within {deadline:g} s"
    except ModelError as error:
        outcome = cause(error), redact(str(error))
    seconds = time.monotonic() - began
    if isinstance(outcome, tuple):
        return Failure(outcome[0], outcome[1][:REASON], asked.usage, seconds, model.name)
    return Summary(outcome.text, outcome.tokens, outcome.anchors, asked.usage, seconds, model.name)


def cause(error: ModelError) -> Cause:
    """Name the cause that an error of a model is."""
    return next((found for kind, found in _CAUSES if isinstance(error, kind)), Cause.OTHER)


_CAUSES: tuple[tuple[type[ModelError], Cause], ...] = (
    (AuthFailed, Cause.REFUSED),
    (ModelUnknown, Cause.UNKNOWN_MODEL),
    (ModelUnreachable, Cause.UNREACHABLE),
    (ModelBusy, Cause.TIMEOUT),
    (BrokenOff, Cause.BROKEN_OFF),
    (BadResponse, Cause.MALFORMED),
    (ContextOverflow, Cause.TOO_LONG),
)


class _Asked:
    """The requests for one summary; `usage` is what they took so far, also where they came to nothing."""

    def __init__(self, model: Model, job: Job, count: Count, redact: Redact) -> None:
        self._model, self._job, self._count, self._redact = model, job, count, redact
        self.usage = Usage()

    async def outcome(self) -> Finished | tuple[Cause, str]:
        most = self._free()
        for _ in range(TRIES):
            text = prompt(self._job, most, self._count, self._redact)
            if not text:
                break
            try:
                answer = await self._model.complete([Message("user", text)])
            except ContextOverflow:
                # The window may have shrunk meanwhile: endpoints name theirs when they refuse.
                most = min(self._count(text) // 2, self._free())
                continue
            self.usage += answer.usage
            return self._judged(answer)
        return Cause.TOO_LONG, f"what is to be summed up does not fit the window of {self._model.name}"

    def _free(self) -> int:
        return int(self._model.window * (1 - MARGIN)) - ANSWER * self._job.target

    def _judged(self, answer: Completed) -> Finished | tuple[Cause, str]:
        name = self._model.name
        if answer.ending != "stop":
            return Cause.CUT_SHORT, f"the summary of {name} ended before its end ({answer.ending})"
        if not cleaned(answer.text, self._redact):
            return Cause.EMPTY, f"{name} answered with nothing"
        finished = finish(answer.text, self._job, self._count, self._redact)
        return finished or (Cause.NOT_SHORTER, f"the summary of {name} is not shorter than what it was to replace")
