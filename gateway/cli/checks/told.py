"""Checks of what the agent is told of itself and of its skills: that what is there can be read."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.cli.checks import Finding

if TYPE_CHECKING:
    from gateway.config import Config
    from gateway.home import Home


async def check_soul(home: Home) -> AsyncIterator[Finding]:
    """Check that SOUL.md, where there is one, is a file that can be read."""
    if problem := _unreadable(home.soul_file):
        why = "the agent is told that it is Hermes, in our words"
        mend = f"make {home.soul_file} a text file that this user may read"
        yield Finding("identity", f"{home.soul_file} {problem}", why, mend)


def _unreadable(file: Path) -> str:
    if not os.path.lexists(file):
        return ""
    if not file.exists():
        return "leads nowhere"
    if not file.is_file():
        return "is not a file"
    return "" if os.access(file, os.R_OK) else "cannot be read by this user"


async def check_skills(config: Config) -> AsyncIterator[Finding]:
    """Check that folders of skills that are named are there, and that everything in them can be read."""
    for finding in await asyncio.to_thread(lambda: list(_of_folders(config))):
        yield finding


def _of_folders(config: Config) -> Iterator[Finding]:
    from gateway.agent.skills.walk import walk
    from gateway.app.skills import library_of

    why = "the agent does not know these skills"
    for folder in config.settings.skills.external_dirs:
        if not os.path.isdir(os.path.expanduser(folder)):
            mend = "make the folder, or take it out of skills.external_dirs"
            yield Finding("skills", f"there is no folder {folder}", why, mend)
    for root in library_of(config).roots:
        for problem in walk(root).problems:
            yield Finding("skills", problem, why, "mend what stands there, or move it out of the folder of skills")
