"""At how many tokens a conversation is compressed, and how many its end keeps. Pure.

The figures are the reference's: the output is taken off the window first; windows below 512,000 tokens are filled to
three quarters at least, none is compressed below 64,000, and never is more than 85 % of the window asked for before.
"""

from __future__ import annotations

from dataclasses import dataclass

from gateway.agent.context.settings import CompressionSettings

FLOOR = 64_000
"""Tokens below which compressing costs more than it gains, where the window has room for them."""
MOST = 0.85
"""The share of a window that a conversation may fill where the floor would reach its end."""
SMALL = 512_000
SMALL_SHARE = 0.75
TARGET = 0.10, 0.80
"""Bounds of `target_ratio`."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """
    `tokens` of prompt, tools and messages together at which a compression is due; `tail` of them stay as they are.

    `room` is the window without the tokens kept for the answer.
    """

    tokens: int
    tail: int
    room: int


def room_of(window: int, max_tokens: int | None) -> int:
    """Return the tokens of a window that a request may take; of one that its answers would fill, all of it."""
    left = window - (max_tokens or 0)
    return left if left > 0 else window


def threshold(settings: CompressionSettings, model: str, window: int, max_tokens: int | None = None) -> Threshold:
    """Return the threshold of a model: `window` and `max_tokens` (of an answer; None where nobody set it) in tokens."""
    room = room_of(window, max_tokens)
    share = _share(settings, model)
    if window < SMALL:
        share = max(share, SMALL_SHARE)
    tokens = max(int(room * share), FLOOR)
    if tokens >= room:
        tokens = max(1, min(int(room * MOST), room - 1))
    if settings.threshold_tokens is not None:
        tokens = min(tokens, settings.threshold_tokens)
    low, high = TARGET
    return Threshold(tokens, int(tokens * min(max(settings.target_ratio, low), high)), room)


def explained(settings: CompressionSettings, limit: Threshold, model: str, window: int) -> str:
    """Say in a few words how a threshold came about."""
    tokens, room = limit.tokens, limit.room
    if tokens == settings.threshold_tokens:
        return "as compression.threshold_tokens says"
    of = f"of {room:,} tokens"
    if room < window:
        of += f" (the window without the {window - room:,} kept for an answer)"
    if tokens == FLOOR > int(room * max(_share(settings, model), SMALL_SHARE if window < SMALL else 0)):
        return f"the least there is, {of}"
    return f"{tokens / room:.0%} {of}" if room else "never"


ROOMIER = "take a model with a larger window, fewer tools, or shorter notes"


def too_small(limit: Threshold, fixed: int) -> str:
    """
    Say that prompt and tools, `fixed` tokens of every request, leave a conversation no room; "" where they do.

    `ROOMIER` is what mends it.
    """
    if fixed + limit.tail < limit.room and fixed < limit.tokens:
        return ""
    return (
        f"the system prompt and the tools take about {fixed:,} of {limit.room:,} tokens, and compression begins at"
        f" {limit.tokens:,}"
    )


def too_high(settings: CompressionSettings) -> dict[tuple[str, ...], str]:
    """Name the shares that leave a request no room to grow before the window is full, by the path of the setting."""
    shares: dict[tuple[str, ...], float] = {("threshold",): settings.threshold}
    shares |= {("model_thresholds", name): share for name, share in settings.model_thresholds.items()}
    return {
        ("compression", *path): f"{share:g} is above {MOST:g}: an answer, or what a tool returns, may not fit before"
        f" compression begins; {MOST:g} or less leaves room"
        for path, share in shares.items()
        if share > MOST
    }


def _share(settings: CompressionSettings, model: str) -> float:
    fitting = [part for part in settings.model_thresholds if part.lower() in model.lower()]
    return settings.model_thresholds[max(fitting, key=len)] if fitting else settings.threshold
