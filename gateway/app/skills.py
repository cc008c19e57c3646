"""The skills of one profile put together: for its turns and reviews, for people's commands and for the command line."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gateway.agent.skills.approvals import SkillApprovals
from gateway.agent.skills.audience import Audience
from gateway.agent.skills.calling import Caller
from gateway.agent.skills.library import Library
from gateway.agent.skills.view import Setup
from gateway.agent.skills.workshop import Workshop
from gateway.agent.tools.named import name_of, skill_folders
from gateway.agent.tools.sandbox import PATH
from gateway.agent.tools.skills import SkillRoom
from gateway.config import Config
from gateway.storage.database import Database
from gateway.types import Turn


@dataclass(frozen=True, slots=True)
class Skills:
    """What works on skills: `room` is the tools', `caller` finds what messages call, `approvals` is for owners."""

    room: SkillRoom
    caller: Caller
    approvals: SkillApprovals


def skills_of(library: Library, database: Database, audience: Callable[[Turn], Audience], profile: str) -> Skills:
    """Return the rooms of a profile's skills, "" for the gateway's own."""
    folders = skill_folders(library.roots)
    setup = Setup(path=PATH, place=lambda skill: name_of(skill.folder, folders))
    workshop = Workshop(library)
    room = SkillRoom(library, workshop, database, setup, audience, profile)
    return Skills(room, Caller(library, setup), SkillApprovals(database, workshop, profile))


def library_of(config: Config) -> Library:
    """Return the skills of a home, as its settings say."""
    settings = config.settings.skills
    external = [Path(os.path.expanduser(folder)) for folder in settings.external_dirs]
    return Library(config.home.path, external=external, disabled=settings.disabled)
