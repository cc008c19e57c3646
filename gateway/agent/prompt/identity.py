"""Who the agent is where the home has no SOUL.md, and who it is asked to be for a while."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.agent.prompt.prompt import Section, Tier

DEFAULT = (
    "You are Hermes, an assistant that people reach through the chat programs they already use. You are helpful, direct"
    " and accurate. Answer in the language you are written to, and no longer than the matter asks. When you do not know"
    " something, or are not sure of it, say so; never make up a fact, a source or a result."
)
PERSONALITY = "personality"
PERSONALITY_CHARS = 4_000
"""How much of a personality's text is used."""


def identity(soul: str) -> Section:
    """Return the first section of the prompt: what SOUL.md says, or our own words where that is empty."""
    if soul.strip():
        return Section("identity", "SOUL.md", soul, Tier.STABLE)
    return Section("identity", "built in, since the home had no SOUL.md", DEFAULT, Tier.STABLE)


def personality(name: str, known: Mapping[str, str]) -> Section | None:
    """Return the section for a chosen personality; None for none, or one that is no longer there."""
    text = known.get(name, "").strip()
    if not name or not text:
        return None
    said = f"# Personality\nThe person wants you to speak like this, without changing what is true:\n{text}"
    return Section(PERSONALITY, f"agent.personalities.{name}", said, Tier.STABLE, PERSONALITY_CHARS)
