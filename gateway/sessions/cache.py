"""
A cache of live things: least recently used first out, bounded by count, idle time and bytes. Generic.

What is in use is never evicted; building is single-flight; what was evicted is handed to `flush`.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from gateway.metrics import CacheFigures

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much may stay: entries, seconds without use, bytes."""

    entries: int
    idle_seconds: float
    bytes: int


@dataclass(slots=True)
class _Held(Generic[V]):
    value: V
    used: float
    users: int = 0
    gone: bool = False


class Cache(Generic[K, V]):
    """`weigh` gives a value's bytes and is asked again after every use."""

    def __init__(
        self,
        bounds: Bounds,
        weigh: Callable[[V], int],
        flush: Callable[[V], Awaitable[None]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._bounds = bounds
        self._weigh = weigh
        self._flush = flush
        self._clock = clock
        self._held: OrderedDict[K, _Held[V]] = OrderedDict()
        self._weights: dict[K, int] = {}
        self._bytes = 0
        # A lock is there as long as somebody builds or waits for it.
        self._building: WeakValueDictionary[K, asyncio.Lock] = WeakValueDictionary()
        self._hits = self._misses = self._evictions = 0

    @property
    def figures(self) -> CacheFigures:
        """What it holds, and how it did since the start."""
        return CacheFigures(len(self._held), self._bytes, self._hits, self._misses, self._evictions)

    def __contains__(self, key: K) -> bool:
        return key in self._held

    @asynccontextmanager
    async def use(self, key: K, build: Callable[[], Awaitable[V]]) -> AsyncIterator[V]:
        """Hold the value of a key, built if it is not there; it stays at least as long as it is held."""
        held = await self._get(key, build)
        held.users += 1
        try:
            yield held.value
        finally:
            held.users -= 1
            held.used = self._clock()
            if not held.gone:
                self._held.move_to_end(key)
                self._weigh_again(key, held.value)
            await self.tidy()

    async def _get(self, key: K, build: Callable[[], Awaitable[V]]) -> _Held[V]:
        if held := self._held.get(key):
            self._hits += 1
            return held
        lock = self._building.setdefault(key, asyncio.Lock())
        async with lock:
            if held := self._held.get(key):
                self._hits += 1
                return held
            self._misses += 1
            held = self._held[key] = _Held(await build(), self._clock())
            self._weigh_again(key, held.value)
            return held

    def _weigh_again(self, key: K, value: V) -> None:
        weight = self._weigh(value)
        self._bytes += weight - self._weights.get(key, 0)
        self._weights[key] = weight

    def drop(self, key: K) -> None:
        """Forget a value that no longer holds, in use or not, without flushing it."""
        if held := self._held.pop(key, None):
            held.gone = True
            self._bytes -= self._weights.pop(key)

    def drop_where(self, matches: Callable[[V], bool]) -> None:
        """Forget every value that matches."""
        for key in [key for key, held in self._held.items() if matches(held.value)]:
            self.drop(key)

    async def tidy(self) -> None:
        """Evict what is idle too long, then the least recently used until the bounds hold."""
        late = self._clock() - self._bounds.idle_seconds
        for key, held in list(self._held.items()):
            if held.gone:  # while another was flushed
                continue
            over = len(self._held) > self._bounds.entries or self._bytes > self._bounds.bytes
            if not over and held.used >= late:
                break
            if not held.users and (over or held.used < late):
                await self._evict(key)

    async def _evict(self, key: K) -> None:
        held = self._held[key]
        self.drop(key)
        self._evictions += 1
        if self._flush:
            await self._flush(held.value)
