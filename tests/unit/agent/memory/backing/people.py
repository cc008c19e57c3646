"""What people and programs do to notes in these tests."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway.agent.memory.backing.contract import Change, Edit, Stored
from gateway.agent.memory.notes import Target, join, parse

MEMORY, USER = Target.MEMORY, Target.USER

HOLD = """
import fcntl, sys
files = [open(path, "a+") for path in sys.argv[1:]]
for file in files:
    fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
input()
"""


def write(text: str) -> Edit[str]:
    """Replace the whole text, and be told what it was."""
    return lambda stored: Change(text, stored.text)


def add(entry: str) -> Edit[None]:
    """Add an entry."""
    return lambda stored: Change(join([*parse(stored.text), entry]), None)


def keep(stored: Stored) -> Change[str]:
    """Refuse, as an edit does that would lose what somebody wrote by hand."""
    return Change(None, "refused", keep=True)


def left(folder: Path) -> list[str]:
    """Return what lies in a folder besides the texts and their locks."""
    usual = {name for target in Target for name in (target.file, f"{target.file}.lock")}
    return sorted(path.name for path in folder.iterdir() if path.name not in usual)


@contextmanager
def holding(*locks: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Hold locks in another process, as the reference system does."""
    holder = subprocess.Popen([sys.executable, "-c", HOLD, *locks], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    with holder:
        assert holder.stdout.readline() == b"held\n"
        try:
            yield holder
        finally:
            holder.kill()


def python(script: str, *arguments: object, before: tuple[str, ...] = ()) -> dict[str, str]:
    """Run a script of ours in a process of its own, and return the JSON it prints."""
    root = Path(__file__).parents[5]
    command = [*before, sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, cwd=root, capture_output=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, str] = json.loads(done.stdout)
    return found
