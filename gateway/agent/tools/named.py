"""Folders besides the workspace that the agent may read, by the names that it knows them by. Pure.

The tools take these names, and the sandbox has the folders there, read only: nobody is told where they lie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

SKILLS = "/skills"
"""What the home's own folder of skills is called; external ones have a number behind it."""


def skill_folders(roots: Sequence[Path]) -> dict[str, Path]:
    """Name the folders of skills, the home's own first."""
    return {f"{SKILLS}-{number}" if number else SKILLS: root for number, root in enumerate(roots)}


def name_of(folder: Path, named: Mapping[str, Path]) -> str:
    """Return what a folder is called that is, or lies in, one of those with a name; "" where none has it."""
    for name, root in named.items():
        if folder.is_relative_to(root):
            return str(Path(name, folder.relative_to(root)))
    return ""


def folder_of(path: Path, named: Mapping[str, Path]) -> tuple[Path, str] | None:
    """Return the folder that an absolute path names, and the path in it; None where it names none of them."""
    for name, root in named.items():
        if path.is_relative_to(name):
            return root, str(path.relative_to(name))
    return None
