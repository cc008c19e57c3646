"""Texts that cannot be replaced, such as a bind-mounted file: written in place, and never torn."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.agent.memory.backing.files import FileBacking
from gateway.agent.memory.backing.queues import Desk
from gateway.errors import StorageError
from tests.services import sandbox
from tests.unit.agent.memory.backing.disk import NOT_REPLACED, Died, Disk, Refuses, no_replacing
from tests.unit.agent.memory.backing.people import MEMORY, left, python, write

CHANGE = """
import asyncio, json, sys
from pathlib import Path
from gateway.agent.memory.backing.files import FileBacking
from gateway.agent.memory.backing.queues import Desk
from gateway.errors import StorageError
from tests.unit.agent.memory.backing.people import MEMORY, left, write

async def main(folder):
    async with Desk() as desk:
        notes = FileBacking(folder, desk)
        said = ""
        for text in sys.argv[2:]:
            try:
                await notes.change(MEMORY, write(text * 1000))
            except StorageError as error:
                said = str(error)
        text = (await notes.read(MEMORY)).text
    print(json.dumps({"text": text[:1], "characters": str(len(text)), "said": said, "left": ",".join(left(folder))}))

asyncio.run(main(Path(sys.argv[1])))
"""

LIMITED = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n{CHANGE}"

OLD, NEW = "the old text", "a new text, which is longer"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "MEMORY.md"
    path.write_text(OLD)
    return path


@pytest.fixture(params=NOT_REPLACED.values(), ids=list(NOT_REPLACED))
def refuses(request: pytest.FixtureRequest) -> Refuses:
    return no_replacing(request.param)


@pytest.fixture
async def desk(refuses: Refuses) -> AsyncIterator[Desk]:
    async with Desk(steps=Disk(refuses)) as desk:
        yield desk


async def test_what_cannot_be_replaced_is_written_in_place(file: Path, desk: Desk) -> None:
    before = file.stat()
    notes = FileBacking(file.parent, desk)
    for text in (NEW, "short", NEW):
        await notes.change(MEMORY, write(text))
        assert file.read_text() == text
    assert (file.stat().st_ino, file.stat().st_mode) == (before.st_ino, before.st_mode)
    assert left(file.parent) == []


async def test_a_crash_at_any_step_of_it_leaves_the_old_text_or_the_new_one(tmp_path: Path, refuses: Refuses) -> None:
    step, died = 0, True
    while died:
        step += 1
        file = tmp_path / f"{step}" / "MEMORY.md"
        file.parent.mkdir()
        file.write_text(OLD)
        disk = Disk(refuses, dies=step)
        async with Desk(steps=disk) as desk:
            await asyncio.gather(FileBacking(file.parent, desk).change(MEMORY, write(NEW)), return_exceptions=True)
        died = disk.dead
        async with Desk() as desk:
            notes = FileBacking(file.parent, desk)
            seen = (await notes.read(MEMORY)).text
            assert seen in {OLD, NEW}
            assert (await notes.change(MEMORY, write(f"{OLD} again"))).told == seen
            assert file.read_text() == f"{OLD} again"
        assert [name for name in left(file.parent) if not name.endswith(".tmp")] == []
    assert step > 20
    assert seen == NEW


async def test_a_crash_while_a_crash_is_being_mended_does_no_harm(file: Path, refuses: Refuses) -> None:
    (file.parent / ".mem_MEMORY.md.copy").write_text(NEW)
    file.write_text("a new twice")
    for step in range(1, 12):
        async with Desk(steps=Disk(refuses, dies=step)) as desk:
            with pytest.raises(Died):
                await FileBacking(file.parent, desk).change(MEMORY, write("never written"))
        async with Desk() as desk:
            assert (await FileBacking(file.parent, desk).read(MEMORY)).text in {NEW, "never written"}
    async with Desk() as desk:
        assert (await FileBacking(file.parent, desk).change(MEMORY, write("after"))).told in {NEW, "never written"}
    assert file.read_text() == "after"


async def test_a_disk_that_fills_up_in_the_middle_gives_the_old_text_back(file: Path, refuses: Refuses) -> None:
    written = 0

    def fills_up(step: str, path: Path) -> int:
        nonlocal written
        written += step == "write" and path.name == "MEMORY.md"
        return 28 if step == "write" and path.name == "MEMORY.md" and written == 2 else refuses(step, path)

    async with Desk(steps=Disk(fills_up)) as desk:
        notes = FileBacking(file.parent, desk)
        with pytest.raises(StorageError, match="is full; free some space and try again"):
            await notes.change(MEMORY, write(NEW))
        assert (await notes.read(MEMORY)).text == OLD
    assert (file.read_text(), left(file.parent)) == (OLD, [])


def of_another_group(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a file a group that new files do not have; whoever is in one group only sees it so."""
    new = file.stat()
    groups = [65534] if os.getuid() == 0 else os.getgroups()
    if others := [group for group in groups if group != new.st_gid]:
        os.chown(file, -1, others[0])
        return
    fstat = os.fstat

    def seen(number: int) -> os.stat_result:
        state = fstat(number)
        if not os.path.samestat(state, new):
            return state
        return os.stat_result((*state[:5], new.st_gid + 1, *state[6:10]), {"st_mtime_ns": state.st_mtime_ns})

    monkeypatch.setattr(os, "fstat", seen)


async def test_a_text_whose_owner_cannot_be_kept_is_written_in_place(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_another_group(file, monkeypatch)
    before = file.stat()
    disk = Disk(lambda step, path: errno.EPERM if step == "chown" else 0)
    async with Desk(steps=disk) as desk:
        await FileBacking(file.parent, desk).change(MEMORY, write(NEW))
    after = file.stat()
    assert [step for step, _ in disk.steps].count("chown") == 1, "the new file is of another group"
    assert file.read_text() == NEW
    assert (after.st_ino, after.st_gid, after.st_mode) == (before.st_ino, before.st_gid, before.st_mode)
    assert left(file.parent) == []


# --- the real thing


def test_a_process_that_may_not_write_more_keeps_the_old_text(tmp_path: Path) -> None:
    found = python(LIMITED, tmp_path, "a" * 4, "b" * 5)
    assert (found["text"], found["characters"], found["left"]) == ("a", "4000", "")
    assert "raise the limit for the size of files" in found["said"]


def test_a_bind_mounted_file_and_a_full_disk(tmp_path: Path) -> None:
    if (bubblewrap := sandbox()) is None:
        return  # only Linux has mounts of one's own; the disks above stand for them
    host, inside = tmp_path / "host.md", tmp_path / "memories"
    inside.mkdir()
    (inside / "MEMORY.md").write_text("")
    host.write_text("old")
    box = (str(bubblewrap), "--dev-bind", "/", "/")
    bound = python(CHANGE, inside, "a", before=(*box, "--bind", str(host), str(inside / "MEMORY.md")))
    assert (bound["characters"], bound["said"], bound["left"]) == ("1000", "", "")
    assert host.read_text() == "a" * 1000
    full = python(CHANGE, inside, "a", "b" * 80, before=(*box, "--size", "65536", "--tmpfs", str(inside)))
    assert (full["text"], full["characters"], full["left"]) == ("a", "1000", "")
    assert "is full; free some space and try again" in full["said"]
