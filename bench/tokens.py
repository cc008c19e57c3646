"""What estimating tokens takes: of texts of every sort, and of a long conversation after one more message."""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path

from gateway.llm.tokens.messages import Estimates
from gateway.llm.tokens.text import estimate_text
from gateway.messages import Message

Figures = dict[str, float | int | str]

CORPUS = Path(__file__).parent.parent / "tests/data/tokens"
MESSAGES = 20_000


async def token_estimate() -> Figures:
    """1 MB of each sort of text, and the estimate of 20,000 messages (15 MB) after one more, ten times."""
    texts = {path.stem: _megabyte(path) for path in sorted(CORPUS.glob("*.json"))}
    taken = {kind: min(_seconds(text) for _ in range(5)) for kind, text in texts.items()}
    slowest = max(taken, key=lambda kind: taken[kind])
    whole = "".join(entry["text"] for path in sorted(CORPUS.glob("*.json")) for entry in _entries(path))
    history = [Message("user", whole[start : start + 700]) for start in range(MESSAGES)]
    estimates = Estimates()
    began = time.perf_counter()
    estimates.total(history)
    first = time.perf_counter() - began
    more = statistics.median(_one_more(estimates, history) for _ in range(10)) * 1000
    return {
        "mb_per_s": round(len(texts) / sum(taken.values()), 1),
        "slowest": slowest,
        "slowest_mb_ms": round(taken[slowest] * 1000, 1),
        "goal_mb_ms": 100,
        "first_ms": round(first * 1000, 1),
        "one_more_ms": round(more, 3),
        "goal_ms": 1,
        "ratio": round(max(taken[slowest] * 10, more), 2),
    }


def _entries(path: Path) -> list[dict[str, str]]:
    entries: list[dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))["texts"]
    return entries


def _megabyte(path: Path) -> str:
    text = "\n".join(entry["text"] for entry in _entries(path))
    size = len(text.encode())
    return (text * (1_000_000 // size + 1)).encode()[:1_000_000].decode(errors="ignore")


def _seconds(text: str) -> float:
    began = time.perf_counter()
    estimate_text(text)
    return time.perf_counter() - began


def _one_more(estimates: Estimates, history: list[Message]) -> float:
    history.append(Message("assistant", "One more thing was said, of the length that people usually write. " * 3))
    began = time.perf_counter()
    estimates.total(history)
    return time.perf_counter() - began
