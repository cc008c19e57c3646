"""What guards stand in the way of automatic compressions, as people are told. In: guards. Out: lines."""

from __future__ import annotations

from gateway.agent.context.guards import PROBE, STRIKES, Guards
from gateway.agent.context.words import flat, spoken


def standing(guards: Guards, now: float) -> list[str]:
    """Return a line for each guard that has something to say; none where nothing stands in the way."""
    lines: list[str] = []
    if left := guards.left(now):
        lines.append(f"paused for {spoken(left)}, since the last compression failed: {flat(guards.reason)}")
    for number, what in ((guards.ineffective, "won too little"), (guards.fallbacks, "had no model's summary")):
        if number:
            lines.append(f"{number} in a row {what}{_until(guards, number, now)}")
    if guards.held:
        lines.append("held after an undo, until the model's endpoint counts more than the threshold")
    return lines


def _until(guards: Guards, number: int, now: float) -> str:
    if number < STRIKES:
        return f" (at {STRIKES} automatic ones pause)"
    left = PROBE - (now - guards.tried)
    return f"; the next automatic one in {spoken(left)} at the earliest" if 0 < left <= PROBE else "; one more is tried"
