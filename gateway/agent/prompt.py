"""The system prompt of a session: who the agent is and where it speaks. Built once, stored, the same ever after."""

from __future__ import annotations

IDENTITY = (
    "You are Hermes, a helpful assistant that people reach through their chat programs. "
    "Answer in the language you are written to. Be accurate and brief; say so when you do not know."
)


def system_prompt(*, identity: str = "", hint: str = "", notes: str = "") -> str:
    """Join the sections that hold something: the home's SOUL.md or our own identity, the platform's hint, the notes."""
    return "\n\n".join(part.strip() for part in (identity or IDENTITY, hint, notes) if part.strip())
