"""
What keeps automatic compressions from doing harm again and again. It belongs to the session and is stored with it.

In: how compressions went, and what endpoints count afterwards. Out: whether another may be tried now. The figures are
the reference's. Times are seconds since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from pydantic import TypeAdapter

from gateway.contracts.context import Compressed, Kept
from gateway.messages import Usage

STRIKES = 2
"""Compressions in a row that did no good, or had no model's summary, after which automatic ones stop."""
PROBE = 300.0
"""Seconds after which one may be tried all the same."""
LONGEST = 900.0
"""No pause is longer, whatever a clock does."""

PAUSE = 60.0
"""Seconds after an engine failed; the reference's for what has no other."""

Block = Literal["", "pause", "ineffective", "fallbacks"]


@dataclass(frozen=True, slots=True)
class Guards:
    """
    `compressions` counts those that took effect. `failures` are the last failures in a row of one `cause`, `reason`
    says what the last was, and `until` when its pause ends.

    `ineffective` counts compressions in a row after which the endpoint still counted more than the threshold,
    `fallbacks` those without a model's summary, and `tried` is when the last began after too many of either. `open`
    says that nobody has counted since the last compression. `held` says that one was undone: none is begun by itself
    until an endpoint counts too much. `told` is what the person was warned of since the last that went well.
    """

    compressions: int = 0
    cause: str = ""
    reason: str = ""
    failures: int = 0
    until: float = 0.0
    ineffective: int = 0
    fallbacks: int = 0
    tried: float = 0.0
    open: bool = False
    held: bool = False
    told: str = ""

    def left(self, now: float) -> float:
        """Return the seconds until the pause after a failure ends, 0 where there is none."""
        return min(max(self.until - now, 0.0), LONGEST)

    def block(self, now: float) -> Block:
        """Say why no automatic compression may begin, "" where one may."""
        if self.left(now):
            return "pause"
        if 0 <= now - self.tried < PROBE:
            return "ineffective" if self.ineffective >= STRIKES else "fallbacks" if self.fallbacks >= STRIKES else ""
        return ""

    def begun(self, now: float) -> Guards:
        """Return them after an automatic compression began."""
        return replace(self, tried=now)

    def compressed(self, done: Compressed, now: float) -> Guards:
        """Return them after a compression took effect; one that only shortened results says nothing of summaries."""
        counted = self.shortened()
        if done.outcome == "fallback":
            failures = self.failures + 1 if done.cause == self.cause else 1
            paused = replace(counted, cause=done.cause, reason=done.reason, failures=failures, until=now + done.pause)
            return replace(paused, fallbacks=self.fallbacks + 1)
        if done.outcome == "summary":
            return replace(counted, cause="", reason="", failures=0, until=0.0, fallbacks=0)
        return counted

    def shortened(self) -> Guards:
        """Return them after a compression for which no model was asked took effect."""
        return replace(self, compressions=self.compressions + 1, open=True, held=False)

    def kept(self, kept: Kept, now: float) -> Guards:
        """Return them after a compression that changed nothing."""
        if not kept.failed:
            return self
        failures = self.failures + 1 if kept.cause == self.cause else 1
        return replace(self, cause=kept.cause, reason=kept.reason, failures=failures, until=now + kept.pause)

    def counted(self, tokens: int, due: int) -> Guards:
        """Return them after an endpoint counted the tokens of a request; `due` is the threshold."""
        if tokens >= due:
            return replace(self, ineffective=self.ineffective + 1, open=False) if self.open else self
        if not (self.open or self.ineffective):
            return self
        return replace(self, ineffective=0, open=False)

    def asked(self) -> Guards:
        """Return them after a person asked for a compression: no pause stands in its way."""
        return replace(self, until=0.0)


def unusable(reason: str, *, writer: str = "", usage: Usage | None = None) -> Kept:
    """Return what stands for a compression that an engine failed, or whose outcome cannot be used."""
    return Kept(reason=reason, failed=True, cause="engine", pause=PAUSE, writer=writer, usage=usage or Usage())


FORM = TypeAdapter(Guards)


def packed(guards: Guards) -> str:
    """Return the form in which they are stored, "" for those of a session that knows nothing yet."""
    return "" if guards == Guards() else FORM.dump_json(guards).decode()


def unpacked(text: str) -> Guards:
    """Read what `packed` returned."""
    return FORM.validate_json(text) if text else Guards()
