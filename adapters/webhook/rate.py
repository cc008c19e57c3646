"""How many calls a route takes: a moment in, the seconds to wait out."""

from __future__ import annotations


class Allowance:
    """
    So many calls in so many seconds, evenly, with a burst of all of them at first (GCRA).

    Kept in the process that listens, which is one.
    """

    def __init__(self, calls: int, seconds: float) -> None:
        self._interval = seconds / calls
        self._burst = seconds - self._interval
        self._due = 0.0

    def take(self, now: float) -> float:
        """Take one call and return 0, or return the seconds until there is one to take."""
        due = max(self._due, now)
        wait = due - now - self._burst
        if wait > 1e-9:
            return wait
        self._due = due + self._interval
        return 0.0
