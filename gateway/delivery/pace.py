"""How soon something may be done again, per key: a rate and a burst go in, seconds to wait come out.

The generic cell rate algorithm: a key holds the time at which it will have paid for all it was given; a slot costs
``1 / rate`` seconds, and a key may be `burst` slots in debt. Nothing here sleeps, and no key is kept that waits for
nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

_ROUNDING = 1e-6
"""Whoever slept as long as told may wake this much too early by the clock's arithmetic."""
_FEW = 256
"""Below this many keys nothing is swept out."""


class Pace:
    """
    Give out `burst` slots at once and `rate_per_second` in the long run, to each key on its own.

    `clock` counts seconds and never goes back.
    """

    def __init__(
        self, rate_per_second: float, burst: float = 1, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if not (rate_per_second > 0 and burst >= 1):
            raise ValueError(f"a pace needs a rate above 0 and a burst of 1 or more, not {rate_per_second} and {burst}")
        self._clock = clock
        self._cost = 1 / rate_per_second
        self._burst = burst
        self._paid: dict[Hashable, float] = {}
        self._closed: dict[Hashable, float] = {}
        self._sweep_at = _FEW

    def delay(self, key: Hashable) -> float:
        """Return 0 and take a slot, or how many seconds to wait before asking again; then nothing is taken."""
        now = self._clock()
        wait = self._wait(key, now)
        if wait > 0:
            return wait
        self._paid[key] = max(self._paid.get(key, now), now) + self._cost
        self._sweep(now)
        return 0.0

    def close(self, key: Hashable, until: float) -> None:
        """Give out nothing before `until` by the clock; an earlier end does not shorten a later one."""
        self._closed[key] = max(until, self._closed.get(key, until))
        self._sweep(self._clock())

    def __len__(self) -> int:
        """Count the keys that are remembered."""
        return len(self._paid) + len(self._closed)

    def _wait(self, key: Hashable, now: float) -> float:
        debt = self._paid.get(key, now) - now - (self._burst - 1) * self._cost
        wait = max(debt, self._closed.get(key, now) - now)
        return wait if wait > _ROUNDING else 0.0

    def _sweep(self, now: float) -> None:
        """Forget the keys that are as good as new, each time as many have come as were left the last time."""
        if len(self) <= self._sweep_at:
            return
        self._paid = {key: paid for key, paid in self._paid.items() if paid > now}
        self._closed = {key: until for key, until in self._closed.items() if until > now}
        self._sweep_at = max(_FEW, 2 * len(self))
