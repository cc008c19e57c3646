"""The agent loop: ask the model, run its tools, until it has nothing more to call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from gateway.agent.context.echo import unechoed
from gateway.agent.context.window import Told, Window
from gateway.agent.history import NO_ANSWER, distinct, is_object, unanswered
from gateway.agent.journal import Journal
from gateway.contracts.model import Completed, Model
from gateway.contracts.tool import Tools, ToolSpec
from gateway.errors import BadResponse, ContextOverflow, ModelBusy, ModelError, ToolError
from gateway.llm.faults import ModelUnreachable
from gateway.messages import (
    Finished,
    Message,
    Progress,
    Retracted,
    TextDelta,
    ToolCall,
    ToolFinished,
    ToolStarted,
    Usage,
)
from gateway.toolkit.arguments import repaired
from gateway.types import Turn, clean

log = logging.getLogger(__name__)

TOGETHER = 8
"""Calls of one answer that run at the same time, where all are safe to."""
OUT_OF_STEPS = (
    "You have used all {steps} steps of this turn and cannot call tools any more. "
    "Say now what you have done, what you found, and what is left to do."
)
EMPTY = "The model gave an empty answer", "Send /retry to ask again."
FILTERED = "The model's provider withheld the answer by its content filter", "Put the question differently, or /retry."
FAILED = "I could not get an answer: {error}", "Your message is kept; send /retry to ask again."
NOTES = {
    "length": "\n\n[cut off: the answer reached the model's output limit]",
    "filter": "\n\n[cut off: the provider's content filter withheld the rest]",
}
TOO_LONG = (
    "This conversation does not fit the model's window of {window} tokens",
    "Send a shorter message, /compact to shorten what was said, or /new to start afresh.",
)
"""Each says what is wrong, and what one can do about it in a chat."""


Asked = TextDelta | Retracted | Told | Completed


@dataclass(slots=True)
class Work:
    """
    A turn as the loop takes it on.

    `window` is what of the conversation goes to the model; `said`, the user's message, is put there unless an earlier
    attempt has journalled it. `resumed` is what that has journalled of the turn (it begins with the user's message)
    and `started` the calls it began. `shown` is what went out last, and `read` what the endpoint counted for the whole
    conversation then, 0 where it did not.
    """

    turn: Turn
    model: Model
    tools: Tools
    journal: Journal
    window: Window
    said: Message
    resumed: Sequence[Message] = ()
    started: frozenset[str] = frozenset()
    added: list[Message] = field(default_factory=list)
    stored: int = 0
    usage: Usage = Usage()
    asked: int = 0
    shown: Sequence[Message] = ()
    read: int = 0
    overflows: int = 0

    def __post_init__(self) -> None:
        self.added = list(self.resumed) or [self.said]
        self.stored = len(self.resumed)
        if not self.resumed:
            self.window.add([self.said])

    @property
    def specs(self) -> Sequence[ToolSpec]:
        return self.tools.specs()

    @property
    def unsaved(self) -> int:
        """How many of the last messages are not journalled yet."""
        return len(self.added) - self.stored

    def add(self, said: Sequence[Message]) -> None:
        """Add what is said to the turn and to what the model sees."""
        self.added += said
        self.window.add(said)

    async def write(self, *, starting: Sequence[str] = ()) -> None:
        """Journal what is not stored yet."""
        fresh, self.stored = self.added[self.stored :], len(self.added)
        await self.journal.write(fresh, starting=starting)

    def count(self, answer: Completed) -> None:
        """Add what a request cost, and write its line into the log."""
        self.asked += 1
        self.usage += answer.usage
        log.info(
            "model request %d: %s, prompt_tokens=%d completion_tokens=%d cached=%d",
            self.asked,
            self.model.name,
            answer.usage.prompt,
            answer.usage.completion,
            answer.usage.cached,
        )

    def finished(self, problem: str = "", advice: str = "", *, fault: str = "") -> Finished:
        """Report the end; a problem, with what to do about it, stands where an answer would."""
        said = [message.text.strip() for message in self.added if message.role == "assistant"]
        if problem:
            said.append(f"{problem}. {advice}")
            self.add([Message("assistant", NO_ANSWER)])
        text = "\n\n".join(part for part in said if part)
        return Finished(text, tuple(self.added[self.stored :]), self.usage, self.asked, problem, fault, self.read)


class Agent:
    """Takes turns; holds nothing between them. `steps` bounds the model calls of one turn."""

    def __init__(self, *, steps: int) -> None:
        self._steps = steps

    async def run(self, work: Work) -> AsyncGenerator[Progress, None]:
        """Report what happens, ending with exactly one `Finished`. Raises `Fenced` where the turn was taken away."""
        async for progress in self._open_calls(work):
            yield progress
        answer = Completed("")
        try:
            for _ in range(self._steps):
                async for piece in self._ask(work, work.specs):
                    if isinstance(piece, Completed):
                        answer = piece
                    else:
                        yield piece
                if not answer.calls:
                    break
                async for progress in self._act(work, answer):
                    yield progress
            else:
                async for piece in self._ask(work, (), OUT_OF_STEPS.format(steps=self._steps)):
                    if isinstance(piece, Completed):
                        answer = piece
                    else:
                        yield piece
        except ModelError as error:
            yield _failed(work, error)
            return
        yield _ended(work, answer)

    async def _ask(self, work: Work, specs: Sequence[ToolSpec], urge: str = "") -> AsyncIterator[Asked]:
        """Ask once; where the request is too long, make it shorter and ask again."""
        # Only what is stored can be compressed: after an answer that called tools, all is.
        async for told in work.window.make_room("after answer" if work.asked else "before turn", work.unsaved):
            yield told
        while True:
            try:
                async for piece in self._request(work, specs, urge):
                    yield piece
                return
            except (ContextOverflow, ModelBusy, BadResponse) as error:
                if not _too_long(work, error):
                    raise
                work.overflows += 1
                yield Retracted("the request was too long")
                async for told in work.window.overflowed(work.unsaved, certain=isinstance(error, ContextOverflow)):
                    yield told
                if not work.window.shorter:
                    raise

    async def _request(self, work: Work, specs: Sequence[ToolSpec], urge: str) -> AsyncIterator[Asked]:
        window = work.window
        work.shown, estimated = window.request(), window.estimated
        request = [Message("system", window.prompt), *work.shown]
        if urge:  # beside the last result, since strict providers let nobody but the model speak after one
            request[-1] = replace(request[-1], api_content=f"{request[-1].content}\n\n[{urge}]")
        async with aclosing(unechoed(work.model.stream(request, specs))) as pieces:
            async for piece in pieces:
                if isinstance(piece, Completed):
                    work.count(piece)
                    work.read = window.answered(piece, estimated)
                    if _ran_out(piece) and window.may_be_full():
                        raise ContextOverflow(f"{work.model.name} had no room left for an answer")
                yield piece

    async def _act(self, work: Work, answer: Completed) -> AsyncIterator[Progress]:
        """Journal the calls of an answer, run them, journal their results."""
        calls = distinct(answer.calls, [*work.shown, *work.added])  # of this turn also what is compressed already
        kept = tuple(replace(call, arguments=_replayable(call.arguments)) for call in calls)
        work.add([Message("assistant", clean(answer.text), kept)])
        async for progress in self._run(work, calls):
            yield progress

    async def _open_calls(self, work: Work) -> AsyncIterator[Progress]:
        """Deal with the calls that an earlier attempt left without a result."""
        caller = next((index for index, said in enumerate(work.added) if _open(work.added, index)), None)
        if caller is None:
            return
        calls = work.added[caller].calls
        repeatable = {spec.name for spec in work.specs if spec.repeatable}
        results = {message.call_id for message in work.added[caller + 1 :]}
        lost = [
            call for call in calls if call.id not in results and call.id in work.started and call.name not in repeatable
        ]
        work.add([unanswered(call) for call in lost])
        open_calls = [call for call in calls if call.id not in results and call not in lost]
        async for progress in self._run(work, open_calls):
            yield progress
        order = {call.id: place for place, call in enumerate(calls)}
        work.added[caller + 1 :] = sorted(work.added[caller + 1 :], key=lambda result: order[result.call_id])
        work.window.settle()

    async def _run(self, work: Work, calls: Sequence[ToolCall]) -> AsyncIterator[Progress]:
        segments = _segments(calls, {spec.name for spec in work.specs if spec.parallel})
        for segment in segments:
            fresh = [call.id for call in segment if call.id not in work.started]
            await work.write(starting=fresh)
            for call in segment:
                yield ToolStarted(call)
            for done in await self._together(work, segment):
                yield done
        await work.write()

    async def _together(self, work: Work, segment: Sequence[ToolCall]) -> list[ToolFinished]:
        """Run calls side by side; each result is stored when it comes, and takes its place in the calls' order."""
        if len(segment) == 1:
            done = await self._call(work, segment[0])
            work.add([_result(done)])
            return [done]

        async def one(call: ToolCall) -> ToolFinished:
            finished = await self._call(work, call)
            await work.journal.write([_result(finished)])
            return finished

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(call)) for call in segment]
        except BaseExceptionGroup as errors:
            first = errors.exceptions[0]
            raise first from first.__cause__
        finished = [task.result() for task in tasks]
        work.add([_result(done) for done in finished])
        work.stored += len(finished)
        return finished

    async def _call(self, work: Work, call: ToolCall) -> ToolFinished:
        try:
            return ToolFinished(call, clean(await work.tools.call(call, work.turn)))
        except ToolError as error:
            return ToolFinished(call, clean(str(error)), failed=True)


def _open(added: Sequence[Message], index: int) -> bool:
    """Say whether this message has calls without results; only the last that called can."""
    calls = {call.id for call in added[index].calls}
    return bool(calls - {message.call_id for message in added[index + 1 :]})


def _result(done: ToolFinished) -> Message:
    return Message("tool", done.result, call_id=done.call.id, name=done.call.name)


def _replayable(arguments: str) -> str:
    if is_object(arguments):
        return clean(arguments)
    return clean(repaired(arguments)) or "{}"


def _segments(calls: Sequence[ToolCall], parallel: set[str]) -> list[list[ToolCall]]:
    """Divide calls into runs: neighbours that are safe side by side together, every other one alone, in order."""
    segments: list[list[ToolCall]] = []
    for call in calls:
        last = segments[-1] if segments else []
        if call.name in parallel and last and last[-1].name in parallel and len(last) < TOGETHER:
            last.append(call)
        else:
            segments.append([call])
    return segments


def _too_long(work: Work, error: ModelError) -> bool:
    """Say whether a request was too long; some endpoints then only have trouble, and do not say why."""
    if isinstance(error, ContextOverflow):
        return True
    return not isinstance(error, ModelUnreachable) and work.overflows == 0 and work.window.may_be_full()


def _ran_out(answer: Completed) -> bool:
    """Say whether there was no room for as much as a word, as some servers tell that a request filled the window."""
    return answer.ending == "length" and not answer.text.strip() and not answer.calls


def _failed(work: Work, error: ModelError) -> Finished:
    problem, advice = TOO_LONG if isinstance(error, ContextOverflow) else FAILED
    said = problem.format(window=work.model.window, error=error)
    work.read = 0  # more was said since the last request that was answered
    return work.finished(said, advice, fault=_reaction(error))


def _reaction(error: ModelError) -> str:
    """Name the class of `gateway.errors` that an error is of: what is to be done about it."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "gateway.errors")


def _ended(work: Work, answer: Completed) -> Finished:
    text = clean(answer.text)
    if not text.strip():
        return work.finished(*(FILTERED if answer.ending == "filter" else EMPTY))
    work.add([Message("assistant", text + NOTES.get(answer.ending, ""))])
    return work.finished()
