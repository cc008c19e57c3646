"""Notes as files on a real disk: whose they are, what stays of somebody's editor, and what cannot be read."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from gateway.agent.memory.backing.contract import Change, Stored
from gateway.agent.memory.backing.files import FileBacking
from gateway.agent.memory.backing.queues import Desk
from gateway.agent.memory.notes import parse
from gateway.errors import StorageError
from tests.unit.agent.memory.backing.disk import Disk
from tests.unit.agent.memory.backing.people import MEMORY, USER, add, keep, left, write


@pytest.fixture
async def notes(tmp_path: Path) -> AsyncIterator[FileBacking]:
    async with Desk() as desk:
        yield FileBacking(tmp_path / "memories", desk)


@pytest.fixture
def file(notes: FileBacking) -> Path:
    notes.folder.mkdir()
    return notes.folder / "MEMORY.md"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# --- where and whose


async def test_reading_makes_nothing(notes: FileBacking) -> None:
    assert await notes.read(MEMORY) == Stored()
    assert await notes.erase() == 0
    assert not notes.folder.exists()


async def test_what_is_made_is_its_owners_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        async with Desk() as desk:
            await FileBacking(tmp_path / "a" / "b", desk).change(MEMORY, write("text"))
    finally:
        os.umask(before)
    made = [tmp_path / "a", tmp_path / "a/b", tmp_path / "a/b/MEMORY.md", tmp_path / "a/b/MEMORY.md.lock"]
    assert [mode(path) for path in made] == [0o700, 0o700, 0o600, 0o600]
    assert made[2].read_bytes() == b"text"


async def test_mode_and_owner_of_a_file_stay(notes: FileBacking, file: Path) -> None:
    file.write_text("old")
    file.chmod(0o640)
    group = 65534 if os.getuid() == 0 else os.getgroups()[0]
    os.chown(file, os.getuid(), group)
    await notes.change(MEMORY, write("new"))
    assert (mode(file), file.stat().st_gid, file.read_text()) == (0o640, group, "new")


async def test_a_link_stays_and_what_it_leads_to_is_written(notes: FileBacking, file: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "hermes.md"
    real.parent.mkdir()
    real.write_text("old")
    file.symlink_to("../dotfiles/hermes.md")
    assert (await notes.change(MEMORY, write("new"))).told == "old"
    assert file.is_symlink()
    assert real.read_text() == "new"
    assert (left(notes.folder), left(real.parent)) == ([], ["hermes.md"])
    assert (notes.folder / "MEMORY.md.lock").exists()


async def test_a_link_may_lead_to_what_is_not_there_yet(notes: FileBacking, file: Path, tmp_path: Path) -> None:
    file.symlink_to(tmp_path / "later.md")
    assert await notes.read(MEMORY) == Stored()
    await notes.change(MEMORY, write("new"))
    assert (tmp_path / "later.md").read_text() == "new"
    (notes.folder / "USER.md").symlink_to(tmp_path / "unplugged" / "USER.md")
    with pytest.raises(StorageError, match="the folder that .* leads to is not there; make it, or remove the link"):
        await notes.change(USER, write("new"))


async def test_the_folder_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "memories").symlink_to("real")
    async with Desk() as desk:
        await FileBacking(tmp_path / "memories", desk).change(MEMORY, write("new"))
    assert (tmp_path / "real" / "MEMORY.md").read_text() == "new"


async def test_notes_on_a_disk_that_is_away_are_not_taken_for_none(tmp_path: Path) -> None:
    (tmp_path / "memories").symlink_to(tmp_path / "unplugged" / "memories")
    async with Desk() as desk:
        for folder in (tmp_path / "memories", tmp_path / "memories" / "users" / "7"):
            away = FileBacking(folder, desk)
            for work in (away.read(MEMORY), away.change(MEMORY, add("tea")), away.erase()):
                with pytest.raises(StorageError):
                    await work


async def test_an_erasure_takes_what_a_link_leads_to_and_leaves_the_locks(
    notes: FileBacking, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "real.md").write_text("secret")
    file.symlink_to(tmp_path / "real.md")
    await notes.change(USER, write("more"))
    await notes.change(MEMORY, keep)
    (notes.folder / ".mem_MEMORY.md.0123.tmp").write_text("secret, cut off")
    assert await notes.erase() == 10
    assert sorted(path.name for path in notes.folder.iterdir()) == ["MEMORY.md.lock", "USER.md.lock"]
    assert not (tmp_path / "real.md").exists()


async def test_a_mounted_file_that_is_erased_stays_and_is_empty(tmp_path: Path) -> None:
    async with Desk(steps=Disk(lambda step, path: 16 if step == "unlink" and path.name == "MEMORY.md" else 0)) as desk:
        notes = FileBacking(tmp_path, desk)
        await notes.change(MEMORY, write("secret"))
        assert await notes.erase() == 6
    assert (tmp_path / "MEMORY.md").read_bytes() == b""


# --- what somebody wrote by hand


async def test_an_edit_by_hand_is_seen_by_the_next_change(notes: FileBacking, file: Path) -> None:
    await notes.change(MEMORY, write("ours"))
    file.write_text("theirs")
    assert (await notes.change(MEMORY, add("ours again"))).told is None
    assert file.read_text() == "theirs\n§\nours again"


async def test_what_is_added_by_hand_while_we_write_is_not_lost(tmp_path: Path) -> None:
    by_hand = ["by hand", "by hand again"]

    def somebody_types(step: str, path: Path) -> int:
        if step == "fsync" and path.name.endswith(".tmp") and by_hand:
            with (tmp_path / "MEMORY.md").open("a") as editor:
                editor.write(f"\n§\n{by_hand.pop(0)}")
        return 0

    async with Desk(steps=Disk(somebody_types)) as desk:
        notes = FileBacking(tmp_path, desk)
        await asyncio.gather(*(notes.change(MEMORY, add(entry)) for entry in ("one", "two")))
    entries = parse((tmp_path / "MEMORY.md").read_text())
    assert sorted(entries) == ["by hand", "by hand again", "one", "two"]
    assert left(tmp_path) == []


async def test_an_editor_that_never_rests_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"

    def writes(step: str, path: Path) -> int:
        if step == "fsync" and path.name.endswith(".tmp"):
            file.write_text(f"{file.read_text()}.")
        return 0

    file.write_text("theirs")
    async with Desk(steps=Disk(writes)) as desk:
        with pytest.raises(StorageError, match="is being written all the time by another program; end it and try"):
            await FileBacking(tmp_path, desk).change(MEMORY, write("ours"))
    assert file.read_text().startswith("theirs.")
    assert left(tmp_path) == []


async def test_the_form_of_an_editor_is_kept(notes: FileBacking, file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbfone\r\n\xc2\xa7\r\ntwo\r\n")
    assert await notes.read(MEMORY) == Stored("one\n§\ntwo\n")
    await notes.change(MEMORY, add("three"))
    assert file.read_bytes() == b"\xef\xbb\xbfone\r\n\xc2\xa7\r\ntwo\r\n\xc2\xa7\r\nthree"


async def test_what_an_edit_does_not_change_is_not_written(notes: FileBacking, file: Path) -> None:
    file.write_bytes(b"mixed\r\nlines\nof an editor")
    before = file.stat()
    await notes.change(MEMORY, lambda stored: Change(stored.text, None))
    assert (file.read_bytes(), file.stat().st_ino) == (b"mixed\r\nlines\nof an editor", before.st_ino)


async def test_what_is_not_utf8_is_shown_and_never_written_over(notes: FileBacking, file: Path) -> None:
    raw = b"Likes na\xefve art\n"
    file.write_bytes(raw)
    assert await notes.read(MEMORY) == Stored("Likes na\ufffdve art\n", "byte 0xEF at 8 is not UTF-8")
    with pytest.raises(StorageError, match="byte 0xEF at 8 is not UTF-8; convert the file to UTF-8 and try again"):
        await notes.change(MEMORY, add("more"))
    done = await notes.change(MEMORY, keep)
    assert done.told == "refused"
    assert (file.read_bytes(), Path(done.copy).read_bytes()) == (raw, raw)


async def test_a_copy_is_raw_with_the_same_mode_and_replaces_nothing(notes: FileBacking, file: Path) -> None:
    file.write_bytes(b"one\r\ntwo\n")
    file.chmod(0o644)
    taken = [notes.folder / f"MEMORY.md.bak.{int(time.time()) + number}" for number in range(60)]
    for path in taken:
        path.symlink_to("nowhere")
    copy = Path((await notes.change(MEMORY, keep)).copy)
    assert copy not in taken
    assert (copy.read_bytes(), mode(copy)) == (b"one\r\ntwo\n", 0o644)
    assert all(path.is_symlink() for path in taken)


async def test_a_copy_that_fails_is_said_in_words_and_nothing_is_lost(tmp_path: Path) -> None:
    disk = Disk(lambda step, path: 28 if ".bak." in path.name else 0)
    async with Desk(steps=disk) as desk:
        notes = FileBacking(tmp_path, desk)
        await notes.change(MEMORY, write("old"))
        done = await notes.change(MEMORY, keep)
        assert done.told == "refused"
        assert done.copy.startswith("none could be made (the disk that holds ")
        with pytest.raises(StorageError, match="free some space"):
            await notes.change(MEMORY, lambda _: Change("new", None, keep=True))
    assert (tmp_path / "MEMORY.md").read_text() == "old"
    assert left(tmp_path) == []


# --- what is no text


def folder(path: Path) -> None:
    path.mkdir()


def bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        home = os.getcwd()
        os.chdir(path.parent)  # the name of a socket may have 108 bytes
        try:
            listener.bind(path.name)
        finally:
            os.chdir(home)


def large(path: Path) -> None:
    path.write_bytes(b"x" * (4 * 1024 * 1024 + 1))


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 2**36)


def stamp(path: Path) -> tuple[int, ...]:
    state = os.lstat(path)
    return state.st_ino, state.st_mode, state.st_size, state.st_mtime_ns


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (folder, "is a folder, not a file; move it away"),
        (os.mkfifo, "is a FIFO, not a file; move it away"),
        (bound, "is a socket, not a file; move it away"),
        (lambda path: path.symlink_to("/dev/zero"), "is a device, not a file; move it away"),
        (huge, "is larger than 4 MiB, which notes never are; shorten it"),
        (large, "is larger than 4 MiB, which notes never are; shorten it"),
        (lambda path: path.symlink_to(path.name), "leads round in a circle; remove it"),
        (lambda path: path.symlink_to("USER.md/below"), "lies below something that is not a folder; move that away"),
    ],
)
async def test_what_is_no_text_is_a_sentence_and_never_an_empty_text(
    notes: FileBacking, file: Path, make: Callable[[Path], object], said: str
) -> None:
    (notes.folder / "USER.md").write_text("user")
    make(file)
    before = stamp(file)
    with pytest.raises(StorageError, match=said):
        await notes.read(MEMORY)
    with pytest.raises(StorageError, match=said):
        await notes.change(MEMORY, write("new"))
    assert stamp(file) == before
    assert left(notes.folder) == []


async def test_a_folder_that_is_a_file_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "memories").write_text("")
    async with Desk() as desk:
        notes = FileBacking(tmp_path / "memories", desk)
        for work in (notes.read(MEMORY), notes.change(MEMORY, write("new"))):
            with pytest.raises(StorageError, match="lies below something that is not a folder"):
                await work


# --- together, and durably


async def test_changes_that_wait_together_share_one_lock_and_one_writing(tmp_path: Path) -> None:
    disk = Disk()
    async with Desk(steps=disk) as desk:
        notes = FileBacking(tmp_path, desk)
        await asyncio.gather(*(notes.change(MEMORY, add(f"entry {number}")) for number in range(50)))
        assert (await notes.read(MEMORY)).text.count("entry") == 50
    # The first one may have begun before the others came.
    assert disk.steps.count(("replace", "MEMORY.md")) <= 2
    assert disk.steps.count(("flock", "MEMORY.md.lock")) <= 4


async def test_where_a_shared_writing_fails_each_change_gets_its_own(tmp_path: Path) -> None:
    full = 0

    def refuses(step: str, path: Path) -> int:
        return 28 if step == "write" and full and (tmp_path / path.name).stat().st_size > 30 else 0

    async with Desk(steps=Disk(refuses)) as desk:
        notes = FileBacking(tmp_path, desk)
        await notes.change(MEMORY, write("1234567890"))
        full = 1
        done = await asyncio.gather(
            *(notes.change(MEMORY, add(entry)) for entry in ("a", "long " * 40, "b")), return_exceptions=True
        )
    assert [isinstance(one, StorageError) for one in done] == [False, True, False]
    assert (tmp_path / "MEMORY.md").read_text() == "1234567890\n§\na\n§\nb"
    assert left(tmp_path) == []


async def test_a_change_returns_when_text_and_name_are_on_the_disk(tmp_path: Path) -> None:
    disk = Disk()
    async with Desk(steps=disk) as desk:
        await FileBacking(tmp_path / "memories", desk).change(MEMORY, write("text"))
    names = [f"{step} {name if name in {'MEMORY.md', 'memories'} else 'temporary'}" for step, name in disk.steps]
    told = [name for name in names if name.split()[0] in {"mkdir", "write", "fsync", "replace"}]
    assert told == [
        "mkdir memories",
        "fsync temporary",  # the folder that holds the folder
        "write temporary",
        "write temporary",
        "write temporary",
        "fsync temporary",
        "replace MEMORY.md",
        "fsync memories",
    ]


async def test_leftovers_are_swept_when_they_are_nobodys_any_more(notes: FileBacking, file: Path) -> None:
    old, young, other = (notes.folder / name for name in (".mem_old.tmp", ".mem_young.tmp", "mine.tmp"))
    for path in (old, young, other):
        path.write_text("half of it")
    for path in (old, other):
        os.utime(path, (time.time() - 3700,) * 2)
    await notes.change(MEMORY, write("text"))
    assert left(notes.folder) == [".mem_young.tmp", "mine.tmp"]


@pytest.mark.parametrize("number", [28, 122, 27, 30, 13, 5])
@pytest.mark.parametrize("refused", ["open", "write", "fsync", "replace"])
async def test_whatever_step_the_disk_refuses_the_old_text_stays_and_nothing_is_left(
    tmp_path: Path, refused: str, number: int
) -> None:
    disk = Disk()
    async with Desk(steps=disk) as desk:
        notes = FileBacking(tmp_path, desk)
        await notes.change(MEMORY, write("old"))
        disk.refuses = lambda step, path: number if step == refused and not path.name.endswith(".lock") else 0
        with pytest.raises(StorageError) as raised:
            await notes.change(MEMORY, write("new"))
        assert "; " in str(raised.value), "a sentence that says what to do"
        assert (await notes.read(MEMORY)).text == "old"
    assert left(tmp_path) == []


async def test_a_text_that_is_replaced_meanwhile_is_read_whole(notes: FileBacking) -> None:
    texts = ["a" * 100_000, "b" * 90_000]
    await notes.change(MEMORY, write(texts[0]))
    reading = True

    async def read() -> None:
        while reading:
            assert (await notes.read(MEMORY)).text in texts

    async with asyncio.TaskGroup() as group:
        group.create_task(read())
        for number in range(30):
            await notes.change(MEMORY, write(texts[number % 2]))
        reading = False
