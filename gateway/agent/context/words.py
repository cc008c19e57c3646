"""What people are told of compressions, in a chat."""

from __future__ import annotations

from gateway.agent.context.guards import Block, Guards

OUT = "/compact tries again, /new starts afresh."


def short(tokens: int) -> str:
    """Return a number of tokens as people say it: 950, 8.4k, 84k, 1.2M."""
    if tokens < 1_000:
        return str(tokens)
    if tokens < 1_000_000:
        return f"{tokens / 1_000:.1f}".removesuffix(".0") + "k" if tokens < 10_000 else f"{round(tokens / 1_000)}k"
    return f"{tokens / 1_000_000:.1f}".removesuffix(".0") + "M"


def spoken(seconds: float) -> str:
    """Return a time as people say it."""
    return f"{max(1, round(seconds))} s" if seconds < 90 else f"{round(seconds / 60)} min"


def aborted(reason: str) -> str:
    """Say that a compression failed."""
    return f"This conversation could not be compressed ({flat(reason)}). Nothing was changed. {OUT}"


def replaced(reason: str) -> str:
    """Say that no model could sum up."""
    return (
        f"No model could sum up the older part of this conversation ({flat(reason)}), so an extract stands for it."
        f" Nothing is lost: /compaction undo brings it back. {OUT}"
    )


def written_by_another(reason: str, writer: str) -> str:
    """Say that the model for summaries failed."""
    return f"The model for summaries failed ({flat(reason)}), so {writer} wrote the summary."


def blocked(guards: Guards, block: Block, tokens: int, due: int, now: float) -> str:
    """Say that a conversation is over its threshold and is not compressed."""
    full = f"This conversation is over its limit ({short(tokens)} of {short(due)} tokens)"
    if block == "pause":
        return (
            f"{full}, and compressing it failed ({flat(guards.reason)}); next try in {spoken(guards.left(now))}. {OUT}"
        )
    why = "the last compressions won too little" if block == "ineffective" else "no model could sum it up lately"
    return f"{full} and is not compressed for now, since {why}. /compact TOPIC keeps what matters, /new starts afresh."


def flat(text: str) -> str:
    """Return a reason as part of a sentence."""
    return " ".join(text.split())[:160].rstrip(".")
