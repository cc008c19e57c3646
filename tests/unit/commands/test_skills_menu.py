"""The skills in a platform's own menu: the most used, behind the commands, by names that it can take."""

from __future__ import annotations

from pathlib import Path

from gateway.agent.skills.library import Library
from gateway.commands.registry import Command, Commands
from gateway.commands.skills import menu_entries
from gateway.contracts.adapter import MenuEntry
from tests.unit.agent.skills.folders import put_skill


def names(entries: list[MenuEntry]) -> list[str]:
    return [entry.name for entry in entries]


def test_the_pinned_and_the_most_used_come_first_and_names_are_written_as_platforms_take_them(tmp_path: Path) -> None:
    for path in ("a", "ops/Deploy-Web", "部署", "my.skill", "x" * 33, "pinned", "deploy_web"):
        put_skill(tmp_path / "skills", path, "says " + "much " * 40)
    library = Library(tmp_path)
    library.usage.bump("Deploy-Web", "use")
    library.usage.pin("pinned")
    entries = menu_entries(library)
    assert names(entries) == ["pinned", "deploy_web", "a"]
    assert all(len(entry.help) <= 100 for entry in entries)
    assert all(library.find(name) for name in ("pinned", "a"))


def test_there_are_no_more_than_a_menu_can_hold_and_no_skill_hides_a_command() -> None:
    commands = Commands([Command("new", "begin anew", aliases=("reset",)), Command("stop", "stop")])
    more = [MenuEntry(name, "") for name in ("reset", "stop", *(f"s{number}" for number in range(100)))]
    listed = names(commands.menu(more))
    assert listed[:3] == ["new", "stop", "s0"]
    assert len(listed) == len(set(listed)) == 60
