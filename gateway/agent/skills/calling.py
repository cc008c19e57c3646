"""
Skills called by their names in chats, one home's. Blocking.

In: the text of a message. Out: whether it calls a skill, and what the model reads in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.agent.skills.audience import Audience
from gateway.agent.skills.invocation import called, invocation
from gateway.agent.skills.library import Library
from gateway.agent.skills.skill import NAME_CHARS, Skill
from gateway.agent.skills.view import Setup
from gateway.errors import ToolError

CATEGORY_CHARS = 200
"""A longer path in front of a name is no category of skills."""
Reserved = Callable[[str], bool]
"""Says that a name is a command's, which no skill takes away from it."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a call came to: the text for the model, or one sentence for the person where there is none."""

    text: str = ""
    problem: str = ""


class Caller:
    """Finds what messages call. A name may be written in another case, and with other dashes."""

    def __init__(self, library: Library, setup: Setup) -> None:
        self._library, self._setup = library, setup

    def knows(self, name: str, platform: str) -> bool:
        """Say whether there is a skill of this name, or even several."""
        try:
            return self._find(name, platform) is not None
        except ToolError:
            return True

    def load(self, message: str, platform: str, session_id: str, reserved: Reserved) -> Loaded | None:
        """Load and count the skills that a message begins with; None where it calls none."""
        try:
            found = called(message, lambda name: None if reserved(name) else self._find(name, platform))
            if found is None:
                return None
            text = invocation(found, self._setup, session_id)
        except ToolError as error:
            return Loaded(problem=f"{str(error)[:1].upper()}{str(error)[1:]}.")
        for skill in found.skills:
            self._library.usage.bump(skill.name, "use")
        return Loaded(text)

    def _find(self, name: str, platform: str) -> Skill | None:
        category, _, last = name.rpartition("/")
        if len(last) > NAME_CHARS or len(category) > CATEGORY_CHARS:
            return None
        return self._library.find(name, Audience(platform=platform))
