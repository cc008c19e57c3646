"""Hints within one process."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Set
from contextlib import asynccontextmanager

from gateway.contracts.bus import Hints

EAR = 1024
"""Signals a slow listener may be behind; older ones are dropped, which a reader of rows survives."""


class MemoryHints(Hints):
    """Queues in this process; the shards do not matter, since all are ours."""

    def __init__(self) -> None:
        self._hints: asyncio.Queue[str] = asyncio.Queue()
        self._ears: defaultdict[str, set[asyncio.Queue[str]]] = defaultdict(set)

    async def hint(self, shard: int, lane: str) -> None:
        self._hints.put_nowait(lane)

    async def watch(self, shards: Set[int]) -> None:
        return

    async def hints(self) -> AsyncIterator[str]:
        while True:
            yield await self._hints.get()

    async def signal(self, topic: str, data: str = "") -> None:
        for ear in self._ears.get(topic, ()):
            if ear.full():
                ear.get_nowait()
            ear.put_nowait(data)

    @asynccontextmanager
    async def signals(self, topic: str) -> AsyncIterator[AsyncIterator[str]]:
        ear: asyncio.Queue[str] = asyncio.Queue(EAR)
        self._ears[topic].add(ear)
        try:
            yield _drain(ear)
        finally:
            self._ears[topic].discard(ear)
            if not self._ears[topic]:
                del self._ears[topic]


async def _drain(ear: asyncio.Queue[str]) -> AsyncIterator[str]:
    while True:
        yield await ear.get()
