"""What a chat is told of compressions while a turn runs: progress in, one line out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from gateway.agent.context.settings import CompressionSettings
from gateway.agent.context.words import short
from gateway.messages import Compressing, CompressionEnded, Progress, TextDelta

Wanted = Literal["nothing", "progress", "kept"]
"""Nothing; while it goes on, until the answer takes its place; or that, and what it did stays in the chat."""
UNCHANGED = "nothing was changed"


def wanted(settings: CompressionSettings) -> Wanted:
    """Return what the settings say."""
    if not settings.progress_notices:
        return "nothing"
    return "kept" if settings.keep_notices else "progress"


class CompressionNotice:
    """
    The line about all compressions of one turn; `done` are those of earlier attempts, tokens before and after.

    `line` is what is to be shown now, `result` what stays of it.
    """

    def __init__(self, wanted: Wanted, done: Sequence[tuple[int, int]] = ()) -> None:
        self._kept = wanted == "kept"
        self._done = list(done)
        self.line = self._with()

    def hear(self, progress: Progress) -> None:
        """Take note of what the turn reports."""
        match progress:
            case Compressing(tokens):
                self.line = self._with(f"compressing… ({short(tokens)} tokens)")
            case CompressionEnded(reason="") as ended:
                self._done.append((ended.before, ended.after))
                self.line = self._with()
            case CompressionEnded():
                self.line = self._with(UNCHANGED)
            case TextDelta() if not self._kept:
                self.line = ""
            case _:
                pass

    @property
    def result(self) -> str:
        """The line that stays; empty where nothing was done, or nothing is to be kept."""
        return self._with() if self._kept else ""

    def _with(self, now: str = "") -> str:
        past = ", ".join(f"{short(before)} → {short(after)}" for before, after in self._done)
        parts = [f"done: {past} tokens"] if past and (self._kept or not now) else []
        said = "; ".join([*parts, *([now] if now else [])])
        return f"🗜️ {said}" if said else ""
