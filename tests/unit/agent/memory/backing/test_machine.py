"""
Notes of two processes under every sequence of what can happen to them.

Hypothesis adds, edits by hand, kills either process between any two steps and starts it again, on a disk that replaces
files and on one that does not. A text is always the one before or the one after; what was acknowledged is there.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gateway.agent.memory.backing.contract import Done
from gateway.agent.memory.backing.files import FileBacking
from gateway.agent.memory.backing.queues import Desk
from gateway.agent.memory.notes import join, parse
from tests.unit.agent.memory.backing.disk import NOT_REPLACED, Died, Disk, Refuses, no_replacing, nothing
from tests.unit.agent.memory.backing.people import MEMORY, add, keep, left

PROCESSES = st.sampled_from([0, 1])
STEPS = st.integers(1, 40)


class Process:
    """A process until it dies: its disk, and the notes as it has them."""

    def __init__(self, folder: Path, refuses: Refuses) -> None:
        self.disk = Disk(refuses)
        self.notes = FileBacking(folder, Desk(steps=self.disk))

    def die_at(self, step: int) -> None:
        self.disk.dies = len(self.disk.steps) + step


class NotesMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.home = tempfile.TemporaryDirectory(prefix="hermes-notes-")
        self.folder = Path(self.home.name)
        self.file = self.folder / MEMORY.file
        self.entries: list[str] = []
        self.copies: set[str] = set()
        self.number = 0

    @initialize(number=st.sampled_from([0, *NOT_REPLACED.values()]))
    def the_disk(self, number: int) -> None:
        self.refuses = no_replacing(number) if number else nothing
        self.file.touch()
        self.processes = [Process(self.folder, self.refuses) for _ in range(2)]

    def teardown(self) -> None:
        if hasattr(self, "processes"):
            self.everything_is_swept_in_the_end()
        self.runner.close()
        self.home.cleanup()

    def entry(self) -> str:
        self.number += 1
        return f"entry {self.number}" + " and more" * (self.number % 7)

    def restart(self, process: int) -> None:
        self.processes[process] = Process(self.folder, self.refuses)

    def on_disk(self) -> list[str]:
        """Return the entries as a process sees them that has just begun."""
        notes = Process(self.folder, self.refuses).notes
        return parse(self.runner.run(notes.read(MEMORY)).text)

    @property
    def mending(self) -> bool:
        return any(name.endswith(".copy") for name in left(self.folder))

    # --- what happens

    @rule(process=PROCESSES)
    def a_process_adds(self, process: int) -> None:
        entry = self.entry()
        self.runner.run(self.processes[process].notes.change(MEMORY, add(entry)))
        self.entries.append(entry)

    @rule(count=st.integers(1, 4))
    def both_add_at_once(self, count: int) -> None:
        mine, theirs = ([self.entry() for _ in range(count)] for _ in range(2))

        async def both() -> None:
            changes = [(0, entry) for entry in mine] + [(1, entry) for entry in theirs]
            await asyncio.gather(*(self.processes[who].notes.change(MEMORY, add(entry)) for who, entry in changes))

        self.runner.run(both())
        found = self.on_disk()
        assert found[: len(self.entries)] == self.entries
        added = found[len(self.entries) :]
        assert [entry for entry in added if entry in mine] == mine
        assert [entry for entry in added if entry in theirs] == theirs
        assert len(added) == 2 * count
        self.entries = found

    @rule(process=PROCESSES, step=STEPS, count=st.integers(1, 4))
    def a_process_dies_while_it_adds(self, process: int, step: int, count: int) -> None:
        entries = [self.entry() for _ in range(count)]
        self.processes[process].die_at(step)
        notes = self.processes[process].notes

        async def together() -> list[Done[None] | BaseException]:
            return await asyncio.gather(
                *(notes.change(MEMORY, add(entry)) for entry in entries), return_exceptions=True
            )

        done = self.runner.run(together())
        acknowledged = [not isinstance(one, BaseException) for one in done].count(True)
        assert all(isinstance(one, Done | Died) for one in done)
        self.restart(process)
        found = self.on_disk()
        assert found in [self.entries + entries[:there] for there in range(acknowledged, count + 1)]
        self.entries = found

    @precondition(lambda self: not self.mending)
    @rule(remove=st.booleans())
    def somebody_edits_by_hand(self, remove: bool) -> None:
        self.entries = self.entries[1:] if remove else [*self.entries, self.entry()]
        self.file.write_text(join(self.entries))

    @rule(process=PROCESSES)
    def a_copy_is_kept(self, process: int) -> None:
        copy = self.runner.run(self.processes[process].notes.change(MEMORY, keep)).copy
        if self.entries:
            assert parse(Path(copy).read_text()) == self.entries
            self.copies.add(Path(copy).name)

    @rule(process=PROCESSES)
    def a_process_starts_again(self, process: int) -> None:
        self.restart(process)

    @rule()
    def everything_is_swept_in_the_end(self) -> None:
        """An hour later the next change of a process that has just begun takes away what the dead ones left."""
        for path in self.folder.glob(".mem_*.tmp"):
            os.utime(path, (time.time() - 3700,) * 2)
        self.restart(0)
        self.a_process_adds(0)
        assert set(left(self.folder)) == self.copies

    # --- what always holds

    @invariant()
    def everybody_reads_the_same(self) -> None:
        for process in getattr(self, "processes", []):
            assert parse(self.runner.run(process.notes.read(MEMORY)).text) == self.entries


TestNotesMachine = NotesMachine.TestCase
TestNotesMachine.settings = settings(max_examples=40, stateful_step_count=15)
