"""Leaves alone for a while what fails again and again."""

from __future__ import annotations

import time
from collections.abc import Callable

FAILURES, PAUSE = 5, 120.0
"""So many failures in a row, and seconds without a call; the reference's figures."""


class Breaker:
    """
    Every call that `allows` let through is followed by one of `succeeded`, `failed` and `undecided`.

    After the pause one call is let through; it decides whether the pause is over.
    """

    def __init__(
        self, failures: int = FAILURES, pause: float = PAUSE, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit, self._pause, self._clock = failures, pause, clock
        self._failures = 0
        self._until = 0.0

    @property
    def open(self) -> bool:
        return self._failures >= self._limit

    def allows(self) -> bool:
        """Say whether a call may be made now."""
        if not self.open:
            return True
        if self._clock() < self._until:
            return False
        self._until = self._clock() + self._pause  # the others wait for what comes of this one
        return True

    def succeeded(self) -> None:
        self._failures = 0

    def failed(self) -> bool:
        """Take note; return whether this failure was the one that opened it."""
        self._failures += 1
        if self.open:
            self._until = self._clock() + self._pause
        return self._failures == self._limit

    def undecided(self) -> None:
        """Let the next call try: this one was given up for reasons of its own."""
        self._until = 0.0
