"""Notes of processes that are killed while they write: every entry they were told is kept is there."""

from __future__ import annotations

import signal
import subprocess
import sys
from itertools import count
from pathlib import Path
from random import Random

from gateway.agent.memory.backing.contract import Change, Stored
from gateway.agent.memory.backing.files import FileBacking
from gateway.agent.memory.backing.queues import Desk
from gateway.agent.memory.notes import Target, parse
from tests.crash.conftest import KILLS, SEED

WRITERS = 3


def start(folder: Path, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.crash.notes_writer", folder, name],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
    )


def empty(stored: Stored) -> Change[list[str]]:
    """Take all entries away, so that the text stays as short as notes are."""
    return Change("", parse(stored.text))


async def test_what_a_killed_process_said_is_kept_is_there(tmp_path: Path) -> None:
    print(f"seed {SEED}, {KILLS // 2} kills")
    random, names = Random(SEED), (f"writer {number}" for number in count())
    running = [start(tmp_path, next(names)) for _ in range(WRITERS)]
    kept: list[str] = []
    found: list[str] = []
    async with Desk(seconds=60) as desk:
        notes = FileBacking(tmp_path, desk)
        try:
            for _ in range(KILLS // 2):
                running.append(start(tmp_path, next(names)))
                victim = running.pop(0)
                assert victim.stdout is not None
                kept += [victim.stdout.readline().strip() for _ in range(random.randint(1, 60))]
                victim.kill()
                kept += victim.communicate()[0].split("\n")[:-1]  # what it said before it died
                assert victim.returncode == -signal.SIGKILL
                found += (await notes.change(Target.MEMORY, empty)).told
                assert set(kept) <= set(found)
        finally:
            for process in running:
                process.kill()
                process.communicate()
        found += (await notes.change(Target.MEMORY, empty)).told
    assert len(set(found)) == len(found), "each is there once"
    assert len(kept) >= KILLS // 2
