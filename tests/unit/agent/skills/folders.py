"""Skills on a disk, and a clock that stands until it is moved."""

from __future__ import annotations

from pathlib import Path

from gateway.agent.skills.audience import Audience

READERS = Audience(tools=frozenset({"skills_list", "skill_view"}))
AUTHORS = Audience(tools=frozenset({"skills_list", "skill_view", "skill_manage"}))


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def put_skill(root: Path, path: str, description: str = "Does a thing", *, name: str = "", more: str = "") -> Path:
    """Write a skill as a person would; return its folder."""
    folder = root / path
    folder.mkdir(parents=True, exist_ok=True)
    head = f"name: {name or folder.name}\ndescription: {description}\n{more}"
    (folder / "SKILL.md").write_text(f"---\n{head}---\n\n# {folder.name}\n\n1. Look.\n2. Do.\n")
    return folder
