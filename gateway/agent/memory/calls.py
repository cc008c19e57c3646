"""Calls of a provider: with a time limit, and without what they raise.

In: a hook's name and what calls it. Out: what it gave, None where it failed. Somebody else's code ends here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from gateway.agent.memory.breaker import Breaker
from gateway.contracts.memory import MemoryProvider
from gateway.errors import GatewayError, ToolError
from gateway.supervise import Background

log = logging.getLogger(__name__)
T = TypeVar("T")

Call = Callable[[MemoryProvider], Awaitable[T]]


class Calls:
    """`provider` is None from the beginning, or once it could not be opened; then nothing is called."""

    def __init__(self, provider: MemoryProvider | None, background: Background, breaker: Breaker) -> None:
        self.provider = provider
        self._background, self._breaker = background, breaker
        self._stuck: dict[str, asyncio.Task[Any]] = {}

    @property
    def name(self) -> str:
        return name_of(self.provider) if self.provider else ""

    async def open(self, seconds: float) -> None:
        """Enter the provider, or do without it."""
        if self.provider is None:
            return
        try:
            async with asyncio.timeout(seconds):
                await self.provider.__aenter__()
        except Exception as error:
            log.warning("memory: %s is not used, since it cannot be opened: %s", self.name, said(error))
            self.provider = None

    async def close(self, seconds: float) -> None:
        """Leave the provider."""
        if self.provider is None:
            return
        try:
            async with asyncio.timeout(seconds):
                await self.provider.__aexit__(None, None, None)
        except Exception as error:
            log.warning("memory: %s did not close well: %s", self.name, said(error))

    def told(self, hook: str, call: Callable[[MemoryProvider], T], otherwise: T) -> T:
        """Call a hook that is not async."""
        if self.provider is None:
            return otherwise
        try:
            return call(self.provider)
        except Exception:
            log.exception("memory: %s of %s failed", hook, self.name)
            return otherwise

    async def ask(self, hook: str, call: Call[T], seconds: float, *, owner: str = "") -> T | None:
        """Call a hook; None where it failed or is left alone. A `ToolError` is an answer, and raised."""
        if self.provider is None or not self._breaker.allows():
            return None
        try:
            given = await self.within(call, seconds, owner=owner)
        except asyncio.CancelledError:
            self._breaker.undecided()
            raise
        except ToolError:
            self._breaker.succeeded()
            raise
        except Exception as error:
            self._failed(hook, error)
            return None
        self._breaker.succeeded()
        return given

    async def within(self, call: Call[T], seconds: float, *, owner: str = "") -> T:
        """
        Await a call for so long, or raise `TimeoutError`.

        It is cancelled then, whether it obeys or not. Until it has ended the owner is stuck.
        """
        task = self._background.start(self._begin(call))
        try:
            await asyncio.wait({task}, timeout=seconds)
        finally:
            task.cancel()
        if task.cancelled():
            raise RuntimeError("it was cancelled from within")
        if task.done():
            return task.result()
        if owner:
            self._stuck[owner] = task
        raise TimeoutError(f"no answer within {seconds:g} s")

    def is_stuck(self, owner: str) -> bool:
        """Say whether an earlier call has neither ended in time nor when it was cancelled."""
        if (task := self._stuck.get(owner)) is not None and task.done():
            del self._stuck[owner]
        return owner in self._stuck

    async def _begin(self, call: Call[T]) -> T:
        """Make the call in its task, since a hook that is not async does its work, or fails, when it is called."""
        if self.provider is None:
            raise GatewayError("there is no provider any more")
        return await call(self.provider)

    def _failed(self, hook: str, error: Exception) -> None:
        own = isinstance(error, GatewayError | TimeoutError)
        log.warning("memory: %s of %s failed: %s", hook, self.name, said(error), exc_info=None if own else error)
        if self._breaker.failed():
            log.warning("memory: %s is left alone for a while, since it has failed again and again", self.name)


def name_of(provider: MemoryProvider) -> str:
    return str(getattr(provider, "name", type(provider).__name__))


def said(error: Exception) -> str:
    """Return an error as part of a sentence."""
    return str(error) if isinstance(error, GatewayError) else f"{type(error).__name__}: {error}"
