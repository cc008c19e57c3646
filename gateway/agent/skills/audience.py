"""For whom a skill is: the conditions of its front matter, held against what a conversation has. Pure."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from gateway.agent.skills.skill import Conditions

SYSTEMS = {
    "linux": "linux",
    "macos": "macos",
    "darwin": "macos",
    "osx": "macos",
    "mac": "macos",
    "windows": "windows",
    "win32": "windows",
}
"""How operating systems are spelled; other agents list their own products as platforms, which say nothing of these."""
ENVIRONMENTS = frozenset({"kanban", "docker", "s6"})
SYSTEM = SYSTEMS.get(sys.platform, sys.platform)

MOST_TOKENS = 4_000
"""What an index may take of a model's window at most."""
WINDOW_SHARE = 16
"""In a small window it gets this part: what is left has to hold a conversation."""


@dataclass(frozen=True, slots=True)
class Audience:
    """
    Whom an index is for. `platform` is the chat's, `system` the machine's; `names_only` are categories told in brief.

    `tools` are all that the conversation has, those of skills among them. `tokens` is how many the index may take.
    """

    platform: str = ""
    tools: frozenset[str] = frozenset()
    toolsets: frozenset[str] = frozenset()
    system: str = SYSTEM
    environments: frozenset[str] = frozenset()
    names_only: frozenset[str] = frozenset()
    tokens: int = MOST_TOKENS

    def fits(self, conditions: Conditions) -> bool:
        """Say whether a skill is of use here."""
        systems = {SYSTEMS[one] for one in conditions.platforms if one in SYSTEMS}
        if systems and self.system not in systems:
            return False
        places = ENVIRONMENTS.intersection(conditions.environments)
        if places and places.isdisjoint(self.environments):
            return False
        return (
            self.tools.issuperset(conditions.requires_tools)
            and self.toolsets.issuperset(conditions.requires_toolsets)
            and self.tools.isdisjoint(conditions.fallback_for_tools)
            and self.toolsets.isdisjoint(conditions.fallback_for_toolsets)
        )
