"""The threat scan of notes and files, over texts made to keep it busy."""

from __future__ import annotations

import time

from gateway.agent.threats import scan
from tests.unit.agent.threats.hostile import hostile

SIZE = 65_536


async def threat_scan() -> dict[str, float | int | str]:
    """64 KB of hostile text: the longest scan of any kind, each the best of seven, in processor time."""
    scan("", "strict")
    taken = {name: min(_ms(text) for _ in range(7)) for name, text in hostile(SIZE).items()}
    worst = max(taken, key=lambda name: taken[name])
    return {
        "worst_ms": round(taken[worst], 1),
        "worst_is": worst,
        "benign_ms": round(min(_ms("Prefers short answers. " * (SIZE // 23)) for _ in range(3)), 1),
        "goal_ms": 50,
        "ratio": round(taken[worst] / 50, 2),
    }


def _ms(text: str) -> float:
    began = time.thread_time()
    scan(text, "strict")
    return (time.thread_time() - began) * 1000
