"""Hints over Redis: a stream per shard, read by the shard's one owner, and pub/sub for signals."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Set
from contextlib import asynccontextmanager
from typing import Any, Self

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from gateway.contracts.bus import Hints

log = logging.getLogger(__name__)

LONGEST = 10_000
"""Entries a stream keeps at most; what is trimmed is found in the rows."""
BLOCK_MS = 1000
PAUSES = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds between tries while Redis is away."""


class RedisHints(Hints):
    """
    ``XADD hg:inbox:<shard>`` after the commit; the owner reads each stream from its start and deletes what it read.

    While Redis is away nothing raises and nothing is lost: the rows are read every few seconds anyway.
    """

    def __init__(self, url: str, prefix: str) -> None:
        self._url = url
        self._prefix = prefix
        self._watched: dict[str, str] = {}
        self._changed = asyncio.Event()
        self._away = False

    async def __aenter__(self) -> Self:
        # Our own pauses rule: a client that retries inside would hold up a message's acknowledgement.
        options: dict[str, Any] = {"retry": Retry(NoBackoff(), 1), "decode_responses": True, "protocol": 2}
        self._redis = Redis.from_url(self._url, socket_timeout=5, socket_connect_timeout=2, **options)
        self._ear = Redis.from_url(self._url, socket_timeout=None, socket_connect_timeout=2, **options)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._redis.aclose()
        await self._ear.aclose()

    async def problem(self) -> str:
        """Say what Redis answers, if it is not what it should."""
        try:
            await self._redis.ping()
        except (RedisError, OSError) as error:
            return f"Redis cannot be used: {error}; check gateway.bus and the server"
        return ""

    def _stream(self, shard: int) -> str:
        return f"{self._prefix}:inbox:{shard}"

    async def hint(self, shard: int, lane: str) -> None:
        try:
            await self._redis.xadd(self._stream(shard), {"lane": lane}, maxlen=LONGEST, approximate=True)
            self._back()
        except (RedisError, OSError) as error:
            self._gone(error)

    async def watch(self, shards: Set[int]) -> None:
        names = {self._stream(shard) for shard in shards}
        self._watched = {name: self._watched.get(name, "0") for name in names}
        self._changed.set()

    async def hints(self) -> AsyncIterator[str]:
        tries = 0
        while True:
            try:
                for lane in await self._read():
                    yield lane
                tries = 0
            except (RedisError, OSError) as error:
                self._gone(error)
                await asyncio.sleep(PAUSES[min(tries, len(PAUSES) - 1)])
                tries += 1

    async def _read(self) -> list[str]:
        """Return the lanes of one round; wait while there is nothing to watch."""
        if not self._watched:
            self._changed.clear()
            await self._changed.wait()
        streams: dict[Any, Any] = dict(self._watched)
        answer: Any = await self._ear.xread(streams, count=256, block=BLOCK_MS)
        self._back()
        lanes: list[str] = []
        for stream, entries in answer or ():
            if stream in self._watched:
                self._watched[stream] = entries[-1][0]
            await self._redis.xdel(stream, *(id for id, _ in entries))
            lanes += [fields["lane"] for _, fields in entries if "lane" in fields]
        return lanes

    async def signal(self, topic: str, data: str = "") -> None:
        try:
            await self._redis.publish(f"{self._prefix}:{topic}", data)
            self._back()
        except (RedisError, OSError) as error:
            self._gone(error)

    @asynccontextmanager
    async def signals(self, topic: str) -> AsyncIterator[AsyncIterator[str]]:
        pubsub = self._ear.pubsub(ignore_subscribe_messages=True)
        try:
            try:
                await pubsub.subscribe(f"{self._prefix}:{topic}")
            except (RedisError, OSError) as error:
                self._gone(error)
            yield self._hear(pubsub, f"{self._prefix}:{topic}")
        finally:
            await pubsub.aclose()  # type: ignore[no-untyped-call]

    async def _hear(self, pubsub: Any, channel: str) -> AsyncIterator[str]:
        tries = 0
        while True:
            try:
                if not pubsub.subscribed:
                    await pubsub.subscribe(channel)
                message = await pubsub.get_message(timeout=BLOCK_MS / 1000)
                tries = 0
            except (RedisError, OSError) as error:
                self._gone(error)
                await asyncio.sleep(PAUSES[min(tries, len(PAUSES) - 1)])
                tries += 1
                continue
            if message is not None and message["type"] == "message":
                yield message["data"]

    def _gone(self, error: Exception) -> None:
        """Say once that Redis is away, not at every try."""
        if not self._away:
            self._away = True
            log.warning("Redis is away (%s); messages are found in the database, a few seconds later", error)

    def _back(self) -> None:
        if self._away:
            self._away = False
            log.info("Redis is back")
