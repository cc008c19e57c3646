"""How events reach a worker: lanes over the database, hints that wake, shards that say whose lane it is."""

from __future__ import annotations

from gateway.bus.memory import MemoryHints
from gateway.contracts.bus import Hints
from gateway.errors import ConfigError


def open_hints(url: str, prefix: str = "hg") -> Hints:
    """
    Return the hints of a URL, not yet entered: ``embedded:`` or ``redis://host:port/n``.

    `prefix` begins every key in Redis, so that several gateways can share one.
    """
    scheme = url.partition(":")[0]
    if scheme == "embedded":
        return MemoryHints()
    if scheme in {"redis", "rediss", "unix"}:
        from gateway.bus.redis import RedisHints

        return RedisHints(url, prefix)
    raise ConfigError(f"gateway.bus: {scheme!r} is not a bus we know", hint="write embedded: or redis://host:6379/0")
