"""The lock that other programs take too: who holds it is named, and nobody is stuck behind it."""

from __future__ import annotations

import asyncio
import sys
import threading
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from gateway.agent.memory.backing.files import FileBacking
from gateway.agent.memory.backing.lock import holder
from gateway.agent.memory.backing.queues import Desk
from gateway.agent.memory.notes import parse
from gateway.errors import StorageError
from tests.unit.agent.memory.backing.people import MEMORY, USER, add, holding, left, python, write

REFERENCE = """
import fcntl, json, os, sys, tempfile
path = sys.argv[1]
for number in range(60):
    with open(path + ".lock", "a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            entries = open(path).read().split("\\n§\\n")
        except FileNotFoundError:
            entries = []
        file, name = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".mem_", suffix=".tmp")
        with open(file, "w") as file:
            file.write("\\n§\\n".join([*entries, f"theirs {number}"]))
        os.replace(name, path)
print("{}")
"""

WAITS = """
import asyncio, json, sys
from pathlib import Path
from gateway.agent.memory.backing.files import FileBacking
from gateway.agent.memory.backing.queues import Desk
from gateway.errors import StorageError
from tests.unit.agent.memory.backing.people import MEMORY, add

async def main():
    async with Desk(seconds=0.1) as desk:
        try:
            await FileBacking(Path(sys.argv[1]), desk).change(MEMORY, add("mine"))
        except StorageError as error:
            print(json.dumps({"said": str(error)}))

asyncio.run(main())
"""


def at_notes() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "notes"}


async def test_the_error_names_the_process_that_holds_the_lock(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("old")
    async with Desk(seconds=0.1) as desk:
        notes = FileBacking(tmp_path, desk)
        with holding(tmp_path / "MEMORY.md.lock") as other:
            with pytest.raises(
                StorageError, match="was held for 0.1 s by .*; let it finish or end it, then try"
            ) as raised:
                await notes.change(MEMORY, add("mine"))
            assert (await notes.read(MEMORY)).text == "old", "reading takes no lock"
        if sys.platform == "linux":
            assert f"by process {other.pid} ({sys.executable} -c import fcntl, sys" in str(raised.value)
            assert len(str(raised.value)) < 400


def test_where_the_system_does_not_tell_nobody_is_named(tmp_path: Path) -> None:
    assert holder(tmp_path / "MEMORY.md.lock") == ""
    (tmp_path / "MEMORY.md.lock").write_text("")
    assert holder(tmp_path / "MEMORY.md.lock") == ""


async def test_a_lock_that_comes_too_late_changes_nothing(tmp_path: Path) -> None:
    async with Desk(seconds=0.1) as desk:
        notes = FileBacking(tmp_path, desk)
        with holding(tmp_path / "MEMORY.md.lock"), pytest.raises(StorageError, match=r"was held for 0\.1 s by"):
            await notes.change(MEMORY, add("given up"))
        while not (await notes.read(MEMORY)).text:
            with suppress(StorageError):  # on a busy machine a tenth of a second may be too short
                await notes.change(MEMORY, add("later"))
    assert (tmp_path / "MEMORY.md").read_text() == "later"
    assert left(tmp_path) == []


async def test_whoever_comes_while_a_thread_waits_for_the_lock_joins_it(tmp_path: Path) -> None:
    async with Desk() as patient:
        notes = [FileBacking(tmp_path, patient) for _ in range(10)]
        before = at_notes()
        async with asyncio.TaskGroup() as group:
            with holding(tmp_path / "MEMORY.md.lock"):
                for number in range(30):
                    group.create_task(notes[number % 10].change(MEMORY, add(f"entry {number}")))
                await notes[0].change(USER, write("is not held up"))
                assert 1 <= len(at_notes() - before) <= 2, "one that waits, one that wrote USER.md"
        assert len(parse((await notes[0].read(MEMORY)).text)) == 30


async def test_stuck_threads_do_not_pile_up(tmp_path: Path) -> None:
    async with Desk(seconds=0.05) as desk:
        before = at_notes()
        with holding(tmp_path / "MEMORY.md.lock"):
            for _ in range(5):  # each time with a store of its own, as sessions come and go
                with pytest.raises(StorageError, match=r"was held for 0\.05 s by"):
                    await FileBacking(tmp_path, desk).change(MEMORY, add("mine"))
            assert 1 <= len(at_notes() - before) <= 2, "one that waits, one that told"


def test_a_process_ends_though_it_never_got_the_lock(tmp_path: Path) -> None:
    with holding(tmp_path / "MEMORY.md.lock"):
        assert "was held for 0.1 s by" in python(WAITS, tmp_path)["said"]


async def test_a_caller_that_goes_leaves_its_change_behind(tmp_path: Path) -> None:
    async with Desk() as desk:
        notes = FileBacking(tmp_path, desk)
        with holding(tmp_path / "MEMORY.md.lock"):
            async with asyncio.TaskGroup() as group:
                task = group.create_task(notes.change(MEMORY, add("kept all the same")))
                await asyncio.sleep(0)
                task.cancel()
        await notes.change(MEMORY, add("after"))
        assert parse((await notes.read(MEMORY)).text) == ["kept all the same", "after"]


async def test_the_end_waits_for_what_is_being_written(tmp_path: Path) -> None:
    async with Desk() as desk, asyncio.TaskGroup() as group:
        task = group.create_task(FileBacking(tmp_path, desk).change(MEMORY, write("handed over")))
        await asyncio.sleep(0)
        task.cancel()
    assert (tmp_path / "MEMORY.md").read_text() == "handed over"


async def test_stuck_stores_keep_the_others_from_nothing(tmp_path: Path) -> None:
    folders = [tmp_path / f"store {number}" for number in range(20)]
    for folder in folders:
        folder.mkdir()
    async with Desk() as desk, asyncio.TaskGroup() as group:
        with holding(*(folder / "MEMORY.md.lock" for folder in folders)):
            for folder in folders:
                group.create_task(FileBacking(folder, desk).change(MEMORY, write("waited")))
            await asyncio.sleep(0)
            await FileBacking(tmp_path / "free", desk).change(MEMORY, write("did not wait"))
    assert [(folder / "MEMORY.md").read_text() for folder in folders] == ["waited"] * 20


async def test_whoever_waited_for_a_lock_file_that_was_taken_away_waits_for_the_new_one(tmp_path: Path) -> None:
    lock = tmp_path / "MEMORY.md.lock"

    async def refused(notes: FileBacking) -> str:
        with pytest.raises(StorageError) as raised:
            await notes.change(MEMORY, add("first"))
        return str(raised.value)

    async with Desk(seconds=0.5) as desk:
        notes = FileBacking(tmp_path, desk)
        with ExitStack() as stack:
            async with asyncio.TaskGroup() as group:
                with holding(lock):
                    first = group.create_task(refused(notes))
                    await notes.change(USER, write("by now the first one waits"))
                    lock.unlink()
                    stack.enter_context(holding(lock))
            assert "was held for 0.5 s" in first.result()
            assert not (tmp_path / "MEMORY.md").exists()


async def test_the_reference_system_on_the_same_home_loses_nothing_and_neither_do_we(tmp_path: Path) -> None:
    async with Desk() as desk:
        notes = FileBacking(tmp_path, desk)
        theirs = asyncio.get_running_loop().run_in_executor(None, python, REFERENCE, tmp_path / "MEMORY.md")
        for number in range(60):
            await notes.change(MEMORY, add(f"ours {number}"))
        await theirs
        entries = parse((await notes.read(MEMORY)).text)
    assert sorted(entries) == sorted(f"{whose} {number}" for whose in ("ours", "theirs") for number in range(60))
