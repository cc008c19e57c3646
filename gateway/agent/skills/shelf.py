"""Skills put away and brought back: nothing is ever deleted. In: names. Out: the folder moved. Blocking."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from gateway.agent.skills.skill import Skill, Source
from gateway.agent.skills.usage import Usage
from gateway.agent.tools.beneath import beneath
from gateway.errors import ToolError

ARCHIVE = ".archive"
_TIME = re.compile(r"-\d{20}$")


class Shelf:
    """
    The archive of one folder of skills, ``.archive/<folder's name>``.

    After a change the library must look anew (`Library.changed`).
    """

    def __init__(self, folder: Path, usage: Usage) -> None:
        self._folder, self._usage = folder, usage

    def archive(self, skill: Skill) -> str:
        """Put a local skill away; return the name under which the archive has it. Pinned ones stay: `ToolError`."""
        if skill.source is not Source.LOCAL or not skill.path:
            raise ToolError(f"{skill.name} lies in a folder that is only read")
        if self._usage.record(skill.name).pinned:
            raise ToolError(f"{skill.name} is pinned; unpin it first")
        name = self._free(skill.path.rpartition("/")[2])
        self._move(skill.path, f"{ARCHIVE}/{name}")
        self._usage.archived(skill.name, skill.path, name)
        self._sweep(skill.path)
        return name

    def restore(self, name: str) -> str:
        """
        Bring back what the archive has under this name, or the newest of what was archived under it.

        Return the path it has now. Raise `ToolError` where there is none, or where something else has its place.
        """
        shelved = self._find(name)
        known = [(skill, one) for skill, one in self._usage.records().items() if one.archived_as == shelved]
        path = known[0][1].archived_from if known else _plain(shelved)
        if os.path.lexists(self._folder / path):
            raise ToolError(f"{path} is there already; archive or rename it first")
        self._move(f"{ARCHIVE}/{shelved}", path)
        for skill, _ in known:
            self._usage.restored(skill)
        return path

    def archived(self) -> list[str]:
        """Return the names that the archive has, sorted."""
        try:
            with beneath(self._folder, f"{ARCHIVE}/.x") as (folder, _), os.scandir(folder) as entries:
                return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
        except (OSError, ToolError):
            return []

    def pin(self, skill: Skill) -> None:
        """Keep a skill from being archived by anybody but who unpins it."""
        self._usage.pin(skill.name)

    def unpin(self, skill: Skill) -> None:
        self._usage.unpin(skill.name)

    def _find(self, name: str) -> str:
        there = self.archived()
        if name in there:
            return name
        older = [one for one in there if _plain(one) == name]
        if not older:
            raise ToolError(f"the archive has nothing called {name}")
        return older[-1]

    def _free(self, name: str) -> str:
        if not os.path.lexists(self._folder / ARCHIVE / name):
            return name
        return f"{name}-{datetime.now(UTC):%Y%m%d%H%M%S%f}"

    def _move(self, source: str, target: str) -> None:
        try:
            with (
                beneath(self._folder, source) as (from_folder, from_name),
                beneath(self._folder, target, make_folders=True) as (to_folder, to_name),
            ):
                os.rename(from_name, to_name, src_dir_fd=from_folder, dst_dir_fd=to_folder)
                os.fsync(to_folder)
                os.fsync(from_folder)
        except OSError as error:
            raise ToolError(f"{source} cannot be moved to {target}: {error.strerror}") from error

    def _sweep(self, path: str) -> None:
        """Take away the category's folder where it is empty now."""
        above = path.rpartition("/")[0]
        if above:
            with suppress(OSError, ToolError), beneath(self._folder, above) as (folder, name):
                os.rmdir(name, dir_fd=folder)


def _plain(name: str) -> str:
    """Return a name of the archive without the time that sets it apart."""
    return _TIME.sub("", name)
