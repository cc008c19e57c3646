"""
The section on skills of a prompt, in the reference's format, of at most so many tokens. Pure.

In: the skills somebody has, each with how much it is used. Out: the text. The same skills are the same bytes, so that
the endpoint's cache holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gateway.agent.skills.audience import Audience
from gateway.agent.skills.fitting import fit, in_order, size
from gateway.agent.skills.page import SHOWN_CHARS, Listed, Page, Told
from gateway.llm.tokens.text import estimate_text

LOOKED_CHARS = 40_000
"""More characters than this are more tokens than there is room for, in whatever language."""
TRIES = 4
SAMPLE = 200


def render(listed: Sequence[Listed], descriptions: Mapping[str, str], audience: Audience) -> str:
    """Return the section; "" where there is no skill, or no tool to load one with."""
    if not listed or "skill_view" not in audience.tools:
        return ""
    page = Page(descriptions, "skill_manage" in audience.tools)
    brief, most = audience.names_only, audience.tokens
    if sum(len(one.label) + min(SHOWN_CHARS, len(one.skill.description)) for one in listed) <= LOOKED_CHARS:
        text = page.text(
            Told(
                [one for one in listed if one.category not in brief],
                [one for one in listed if one.category in brief],
            )
        )
        if len(text) <= LOOKED_CHARS and estimate_text(text) <= most:
            return text
    return _shortened(listed, page, brief, most)


def _shortened(listed: Sequence[Listed], page: Page, brief: frozenset[str], most: int) -> str:
    """Return a text that nearly fills the room: tokens are told from bytes by the ratio of the try before."""
    order = in_order(listed)
    frame = size(page.text(Told((), (), {"": 1})))
    sample = ", ".join(one.label for one in order[:SAMPLE])
    best, room = "", size(sample) / estimate_text(sample) * most
    for _ in range(TRIES):
        text = page.text(fit(order, page, brief, int(room) - frame))
        tokens = estimate_text(text)
        if tokens <= most and len(text) > len(best):
            best = text
        if 0.97 * most <= tokens <= most:
            break
        room *= 0.985 * most / tokens
    return best or page.text(fit(order, page, brief, most))
