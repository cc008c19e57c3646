"""A context engine of others, so that whatever it does, a conversation goes on.

In: the hooks of the contract. Out: what the engine answered, or, where that cannot be used, an answer that changes
nothing; the log says so. What has to be awaited has a time limit.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, TypeVar, get_args

from gateway.agent.context.guards import unusable
from gateway.agent.context.settings import CompressionSettings
from gateway.agent.context.threshold import threshold
from gateway.contracts.context import Compressed, ContextEngine, Kept, Order, Outcome, Past
from gateway.contracts.tool import ToolSpec
from gateway.errors import GatewayError, ToolError
from gateway.messages import Message, Usage
from gateway.supervise import attempt, contain, within
from gateway.types import clean

log = logging.getLogger(__name__)
T = TypeVar("T")

MOST = 1 << 62
"""Numbers beyond this cannot be stored."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds that are waited for a hook, for a compression with all its models, and for a tool."""

    hook: float = 10
    compress: float = 900
    tool: float = 60


class Guarded(ContextEngine):
    """Wraps the engine of the plugin `name`. `settings` say when a compression is due where the engine cannot."""

    def __init__(
        self, name: str, engine: ContextEngine, settings: CompressionSettings, patience: Patience | None = None
    ) -> None:
        self.name = name
        self._engine, self._settings = engine, settings
        self._patience = patience or Patience()
        self._due = 0
        self._said: set[str] = set()

    def model_changed(self, model: str, window: int, max_tokens: int | None) -> None:
        self._due = threshold(self._settings, model, window, max_tokens).tokens
        self._told("model_changed", lambda: self._engine.model_changed(model, window, max_tokens), None)

    @property
    def due(self) -> int:
        return self._told("due", lambda: _number(self._engine.due), self._due)

    def has_content(self, past: Past) -> bool:
        return self._told("has_content", lambda: bool(self._engine.has_content(past)), otherwise=True)

    def hides(self, past: Past, order: Order) -> Set[int] | None:
        return self._told("hides", lambda: _ids(self._engine.hides(past, order)), None)

    def prune(self, past: Past) -> Compressed | None:
        return self._told("prune", lambda: _pruned(self._engine.prune(past)), None)

    def select(self, messages: Sequence[Message]) -> Sequence[Message]:
        return self._told("select", lambda: _messages(self._engine.select(messages)), messages)

    def used(self, usage: Usage) -> None:
        self._told("used", lambda: self._engine.used(usage), None)

    def specs(self) -> Sequence[ToolSpec]:
        nothing: Sequence[ToolSpec] = ()
        return self._told("specs", lambda: tuple(self._engine.specs()), nothing)

    def status(self) -> Mapping[str, str]:
        nothing: Mapping[str, str] = {}
        return self._told("status", lambda: _words(self._engine.status()), nothing)

    async def compress(self, past: Past, order: Order) -> Compressed | Kept:
        try:
            made = await self._awaited("", lambda: self._engine.compress(past, order), self._patience.compress)
        except GatewayError as error:
            return unusable(str(error))
        if wrong := attempt(lambda: _flaw(made), repr):
            log.error("what the context engine %s made of a conversation cannot be used: %s", self.name, wrong)
            return unusable(f"what the context engine {self.name} made cannot be used: {wrong}")
        return made

    async def on_session_start(self, session_id: str, *, reason: str) -> None:
        await self._hook("on_session_start", lambda: self._engine.on_session_start(session_id, reason=reason))

    async def on_session_end(self, session_id: str, messages: Sequence[Message]) -> None:
        await self._hook("on_session_end", lambda: self._engine.on_session_end(session_id, messages))

    async def on_session_reset(self) -> None:
        await self._hook("on_session_reset", self._engine.on_session_reset)

    async def on_turn_complete(self, messages: Sequence[Message]) -> None:
        await self._hook("on_turn_complete", lambda: self._engine.on_turn_complete(messages))

    async def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        try:
            answer = await self._awaited(name, lambda: self._engine.call(name, arguments), self._patience.tool)
        except ToolError:
            raise
        except GatewayError as error:
            raise ToolError(
                f"{name} cannot be used at the moment: go on without it, and say so if it matters"
            ) from error
        return clean(str(answer))

    def _told(self, hook: str, call: Callable[[], T], otherwise: T) -> T:
        """Call a hook that is not async; the log says once for each what is wrong with it."""

        def failed(error: Exception) -> T:
            if hook not in self._said:
                self._said.add(hook)
                log.error("%s of the context engine %s failed", hook, self.name, exc_info=error)
            return otherwise

        return attempt(call, failed)

    async def _awaited(self, hook: str, call: Callable[[], Awaitable[T]], seconds: float) -> T:
        async def work() -> T:
            return await call()

        name = f"{hook} of the context engine {self.name}" if hook else f"the context engine {self.name}"
        return await contain(name, within(work(), seconds), GatewayError)

    async def _hook(self, hook: str, call: Callable[[], Awaitable[None]]) -> None:
        try:
            await self._awaited(hook, call, self._patience.hook)
        except GatewayError as error:
            log.warning("%s; the conversation goes on without it", error)


def _number(due: Any) -> int:
    return max(0, int(due))


def _ids(hidden: Any) -> Set[int] | None:
    return None if hidden is None else frozenset(map(int, hidden))


def _messages(chosen: Sequence[Any]) -> Sequence[Message]:
    listed = tuple(chosen)
    if not listed or not all(isinstance(message, Message) for message in listed):
        raise TypeError("it must return the messages of a request")
    return listed


def _words(status: Mapping[str, str]) -> Mapping[str, str]:
    return {clean(str(key)): clean(str(value)) for key, value in status.items()}


def _pruned(done: Any) -> Compressed | None:
    if done is not None and (flaw := _flaw(done)):
        raise TypeError(flaw)
    if isinstance(done, Kept):
        return None
    return replace(done, outcome="pruned") if done is not None else None


def _flaw(made: Any) -> str:
    """Say what in an answer is not of the type that the contract says; what it means is not looked at here."""
    if not isinstance(made, Compressed | Kept):
        return f"it returned {type(made).__name__}, neither Compressed nor Kept"
    usage: object = made.usage
    if not isinstance(usage, Usage):
        return "its usage is none"
    texts, numbers = [made.reason, made.cause, made.writer], [made.pause, usage.prompt, usage.completion, usage.cached]
    if isinstance(made, Compressed):
        view = made.view
        shown = [*view.shown.values(), *(row.message for row in made.rows)]
        if made.outcome not in get_args(Outcome) or not all(isinstance(message, Message) for message in shown):
            return "its outcome or a message in it is none"
        texts += [view.summary, *(message.text for message in shown)]
        numbers += [made.score or 0.0, view.after, *view.hidden, *view.shown]
        for message in view.shown.values():
            called = (part for call in message.calls for part in (call.id, call.name, call.arguments))
            texts += [message.api_content or "", message.call_id, message.name, *called]
    # Neither what is no number nor what has no end lies between the two.
    if any(clean(text) != text for text in texts) or not all(-MOST < number < MOST for number in numbers):
        return "a text in it cannot be stored, or a number is none"
    return ""
