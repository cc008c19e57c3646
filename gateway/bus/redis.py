"""Hints over Redis: a stream per shard, read by the shard's one owner, and pub/sub for signals."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Set
from contextlib import asynccontextmanager
from typing import Any, Self

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as Disconnected
from redis.exceptions import RedisError

from gateway.contracts.bus import Hints
from gateway.errors import ConfigError

log = logging.getLogger(__name__)

LONGEST = 10_000
"""Entries a stream keeps at most; what is trimmed is found in the rows."""
BLOCK_MS = 1000
PAUSES = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds between tries while Redis is away."""
QUIET = 1.0
"""Seconds after a failure in which nothing is said: a Redis that hangs must not hold up every message."""
MOUTHS, EARS = 8, 4096
"""Connections at most, to speak and to listen."""
ANSWER = 2.0
"""Seconds within which Redis answers, or is away."""


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
        self._quiet_until = 0.0

    async def __aenter__(self) -> Self:
        # Our own pauses rule. One try more for a connection that had died in the pool, none for a Redis that hangs.
        options: dict[str, Any] = {
            "retry": Retry(NoBackoff(), 1, supported_errors=(Disconnected,)),
            "socket_connect_timeout": ANSWER,
            "socket_keepalive": True,
            "decode_responses": True,
            "encoding_errors": "surrogatepass",
            "protocol": 2,
        }
        try:
            # Who has something to say waits for a free connection; each topic listened to keeps one of its own.
            mouth = BlockingConnectionPool.from_url(
                self._url, max_connections=MOUTHS, timeout=ANSWER, socket_timeout=ANSWER, **options
            )
            mouth.make_connection()  # type: ignore[no-untyped-call]
        except (ValueError, TypeError) as error:
            raise ConfigError("gateway.bus: this URL cannot be read", hint="write redis://host:6379/0") from error
        self._redis = Redis.from_pool(mouth)
        self._ear = Redis.from_url(self._url, max_connections=EARS, socket_timeout=ANSWER + BLOCK_MS / 1000, **options)
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
        await self._say(lambda: self._redis.xadd(self._stream(shard), {"lane": lane}, maxlen=LONGEST, approximate=True))

    async def signal(self, topic: str, data: str = "") -> None:
        await self._say(lambda: self._redis.publish(f"{self._prefix}:{topic}", data))

    async def _say(self, command: Callable[[], Awaitable[object]]) -> None:
        if asyncio.get_running_loop().time() < self._quiet_until:
            return
        try:
            await command()
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
        # What was read of a shard that is no longer ours is left to its owner.
        found = {stream: entries for stream, entries in answer or () if stream in self._watched}
        self._watched |= {stream: entries[-1][0] for stream, entries in found.items()}
        await self._forget({stream: [id for id, _ in entries] for stream, entries in found.items()})
        return [fields["lane"] for entries in found.values() for _, fields in entries if "lane" in fields]

    async def _forget(self, read: dict[str, list[str]]) -> None:
        """Delete what was read; what stays is read once more by the next owner, and harmless."""
        try:
            async with self._redis.pipeline(transaction=False) as pipeline:
                for stream, ids in read.items():
                    pipeline.xdel(stream, *ids)
                await pipeline.execute()
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
        self._quiet_until = asyncio.get_running_loop().time() + QUIET
        if not self._away:
            self._away = True
            log.warning("Redis is away (%s); messages are found in the database, a few seconds later", error)

    def _back(self) -> None:
        self._quiet_until = 0.0
        if self._away:
            self._away = False
            log.info("Redis is back")
