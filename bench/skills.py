"""The index of skills that a conversation begins with: from nothing, from the snapshot, and once it is known."""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from gateway.agent.skills.audience import Audience
from gateway.agent.skills.library import Library
from gateway.agent.skills.snapshot import NAME
from gateway.llm.tokens.text import estimate_text

Figures = dict[str, float | int | str]

COUNT, CATEGORIES, ROUNDS = 1_000, 20, 15
VERBS = ("deploy", "review", "migrate", "monitor", "publish", "convert", "archive", "measure", "translate", "invoice")
THINGS = ("web", "database", "report", "cluster", "mailbox", "spreadsheet", "website", "backup", "image", "contract")
AUTHORS = Audience(tools=frozenset({"skills_list", "skill_view", "skill_manage"}))
GOALS = {"cold_ms": 110, "snapshot_ms": 17, "warm_ms": 0.05, "tokens": 4_000}
"""The first two are the reference's on such a folder, of which it makes 20,000 tokens; the others are our own."""


async def skills() -> Figures:
    """1,000 skills in 20 categories; `look_ms` is what comparing the folders takes, once a second where asked."""
    with tempfile.TemporaryDirectory(prefix="hermes-bench-") as name:
        home = Path(name)
        for number in range(COUNT):
            write_skill(home / "skills", number)

        def cold() -> None:
            Library(home).index(AUTHORS)

        colds = []
        for _ in range(ROUNDS):
            (home / NAME).unlink(missing_ok=True)
            colds.append(_ms(cold))
        snapshots = [_ms(cold) for _ in range(ROUNDS)]
        clock = [0.0]
        library = Library(home, clock=lambda: clock[0])
        index = library.index(AUTHORS)
        warm = [_ms(lambda: library.index(AUTHORS)) for _ in range(100)]
        looks = []
        for _ in range(ROUNDS):
            clock[0] += 2
            looks.append(_ms(lambda: library.index(AUTHORS)))
        changed = _sees_changes(home, library, clock)
    taken = {
        "cold_ms": round(min(colds), 1),
        "snapshot_ms": round(min(snapshots), 1),
        "warm_ms": round(min(warm), 4),
        "tokens": estimate_text(index),
    }
    return {
        **taken,
        "look_ms": round(min(looks), 1),
        "described": index.count("\n    - "),
        "named": sum(line.count(",") + 1 for line in index.splitlines() if "[names only]" in line),
        "change_seen": str(changed),
        **{f"goal_{name}": goal for name, goal in GOALS.items()},
        "ratio": round(max(taken[name] / goal for name, goal in GOALS.items()), 2),
    }


def write_skill(root: Path, number: int) -> None:
    """Write one of a usual size: a head of ten lines, a body of 2 KB."""
    verb, thing = VERBS[number % 10], THINGS[number // 10 % 10]
    folder = root / f"category-{number % CATEGORIES:02}" / f"{verb}-{thing}-{number}"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        f"---\nname: {folder.name}\n"
        f'description: "Use when somebody wants to {verb} a {thing}: the steps and conventions of team {number}"\n'
        f"version: 1.0.0\nauthor: bench\nlicense: MIT\nmetadata:\n  hermes:\n    tags: [{verb}, {thing}]\n"
        f"    related_skills: [{THINGS[number % 7]}-notes]\n---\n\n# {verb} a {thing}\n\n"
        + "1. Look at what is there before anything is changed.\n"
        * 36
    )


def _sees_changes(home: Path, library: Library, clock: list[float]) -> bool:
    """Say whether a skill used most by far shows its new description in the next session."""
    name = f"{VERBS[0]}-{THINGS[0]}-0"
    for _ in range(3):
        library.usage.bump(name, "use")
    file = home / "skills" / "category-00" / name / "SKILL.md"
    file.write_text(file.read_text().replace("Use when somebody wants", "Now told otherwise"))
    clock[0] += 2
    return f"- {name}: Now told otherwise" in library.index(AUTHORS)


def _ms(job: Callable[[], object]) -> float:
    gc.collect()
    began = time.perf_counter()
    job()
    return (time.perf_counter() - began) * 1000
