"""Notes under the contract of their backing: the same for files and for rows of both databases."""

from __future__ import annotations

import asyncio
import shutil
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from gateway.agent.memory.backing.contract import Backing, Change, Edit, Stored
from gateway.agent.memory.backing.files import FileBacking
from gateway.agent.memory.backing.form import settled
from gateway.agent.memory.backing.queues import Desk
from gateway.agent.memory.backing.table import TableBacking
from gateway.agent.memory.notes import Target, join, parse
from gateway.errors import StorageError
from gateway.storage import open_database
from gateway.storage.database import Database
from gateway.storage.tables import notes
from tests.contract.conftest import copied

MEMORY, USER = Target.MEMORY, Target.USER


def write(text: str) -> Edit[str]:
    return lambda stored: Change(text, f"was {stored.text}")


def add(entry: str) -> Edit[None]:
    return lambda stored: Change(join([*parse(stored.text), entry]), None)


def keep(stored: Stored) -> Change[str]:
    return Change(None, "refused", keep=True)


class House(ABC):
    """Where notes are kept, with two processes in it."""

    @abstractmethod
    def backing(self, process: int, owner: str = "ann") -> Backing:
        """Return an owner's notes as one of the processes has them."""

    @abstractmethod
    async def copies(self, owner: str = "ann") -> dict[str, str]:
        """Return the copies that were kept, by the name a caller was told."""


class Folders(House):
    def __init__(self, path: Path, desks: list[Desk]) -> None:
        self.path, self.desks = path, desks

    def backing(self, process: int, owner: str = "ann") -> Backing:
        return FileBacking(self.path / owner, self.desks[process])

    async def copies(self, owner: str = "ann") -> dict[str, str]:
        return {str(path): path.read_text() for path in (self.path / owner).glob("*.bak.*")}


class Rows(House):
    def __init__(self, databases: list[Database]) -> None:
        self.databases = databases

    def backing(self, process: int, owner: str = "ann") -> Backing:
        return TableBacking(self.databases[process], owner)

    async def copies(self, owner: str = "ann") -> dict[str, str]:
        query = select(notes.c.target, notes.c.text).where(notes.c.owner == owner, notes.c.target.contains(".bak."))
        rows = await self.databases[0].read(lambda connection: connection.execute(query).all())
        return {row.target: row.text for row in rows}


@pytest.fixture(params=["files", "sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database with its tables, or "" where notes are files."""
    if request.param == "files":
        yield ""
    elif request.param == "sqlite":
        yield f"sqlite:///{shutil.copy(request.getfixturevalue('sqlite_with_schema'), tmp_path / 'state.db')}"
    else:
        with copied(request.getfixturevalue("postgres_with_schema")) as url:
            yield url


@pytest.fixture
async def house(place: str, tmp_path: Path) -> AsyncIterator[House]:
    async with AsyncExitStack() as stack:
        if place:
            yield Rows([await stack.enter_async_context(open_database(place, tmp_path)) for _ in range(2)])
        else:
            yield Folders(tmp_path, [await stack.enter_async_context(Desk()) for _ in range(2)])


class TestNotesBacking:
    async def test_there_is_nothing_at_first(self, house: House) -> None:
        assert await house.backing(0).read(MEMORY) == Stored()

    async def test_another_process_reads_what_a_change_wrote(self, house: House) -> None:
        done = await house.backing(0).change(MEMORY, write("likes tea"))
        assert (done.told, done.copy) == ("was ", "")
        assert await house.backing(1).read(MEMORY) == Stored("likes tea")
        assert (await house.backing(1).change(MEMORY, write("likes coffee"))).told == "was likes tea"

    async def test_an_edit_may_write_nothing(self, house: House) -> None:
        await house.backing(0).change(MEMORY, write("likes tea"))
        done = await house.backing(0).change(MEMORY, lambda stored: Change(None, stored.text.upper()))
        assert done.told == "LIKES TEA"
        assert (await house.backing(0).read(MEMORY)).text == "likes tea"

    async def test_targets_and_owners_do_not_mix(self, house: House) -> None:
        await house.backing(0, "ann").change(MEMORY, write("of the world"))
        await house.backing(0, "ann").change(USER, write("of Ann"))
        await house.backing(0, "bob").change(USER, write("of Bob"))
        found = [(await house.backing(1, name).read(target)).text for name in ("ann", "bob") for target in Target]
        assert found == ["of the world", "of Ann", "", "of Bob"]

    async def test_changes_of_two_processes_at_once_are_all_there(self, house: House) -> None:
        both = house.backing(0), house.backing(1)
        await asyncio.gather(*(both[number % 2].change(MEMORY, add(f"entry {number}")) for number in range(60)))
        entries = parse((await both[0].read(MEMORY)).text)
        assert sorted(entries) == sorted(f"entry {number}" for number in range(60))

    async def test_an_edit_that_fails_fails_alone(self, house: House) -> None:
        def fail(stored: Stored) -> Change[None]:
            raise ValueError(stored.text)

        backing = house.backing(0)
        first, failed, last = await asyncio.gather(
            backing.change(MEMORY, add("a")),
            backing.change(MEMORY, fail),
            backing.change(MEMORY, add("b")),
            return_exceptions=True,
        )
        assert isinstance(failed, ValueError)
        assert not isinstance(first, BaseException)
        assert not isinstance(last, BaseException)
        assert sorted(parse((await backing.read(MEMORY)).text)) == ["a", "b"]

    async def test_a_change_that_was_handed_over_runs_even_if_its_caller_is_cancelled(self, house: House) -> None:
        backing = house.backing(0)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(backing.change(MEMORY, add("kept all the same")))
            await asyncio.sleep(0)
            task.cancel()
        await backing.change(MEMORY, add("after"))
        assert set(parse((await backing.read(MEMORY)).text)) == {"kept all the same", "after"}

    async def test_a_copy_is_kept_once(self, house: House) -> None:
        backing = house.backing(0)
        await backing.change(MEMORY, write("by hand"))
        first, again = await backing.change(MEMORY, keep), await house.backing(1).change(MEMORY, keep)
        assert first.told == "refused"
        assert first.copy == again.copy
        await backing.change(MEMORY, write("by another hand"))
        second = await backing.change(MEMORY, lambda _: Change("overwritten", None, keep=True))
        assert await house.copies() == {first.copy: "by hand", second.copy: "by another hand"}
        assert (await backing.read(MEMORY)).text == "overwritten"

    async def test_a_copy_holds_what_the_edit_saw(self, house: House) -> None:
        backing = house.backing(0)
        await backing.change(MEMORY, write("before"))
        seen = await asyncio.gather(
            backing.change(MEMORY, write("meanwhile")),
            backing.change(MEMORY, lambda stored: Change(None, stored.text, keep=True)),
        )
        assert await house.copies() == {seen[1].copy: seen[1].told}

    async def test_of_nothing_there_is_no_copy(self, house: House) -> None:
        assert (await house.backing(0).change(MEMORY, keep)).copy == ""
        assert await house.copies() == {}

    async def test_after_an_erasure_there_is_nothing(self, house: House) -> None:
        backing = house.backing(0)
        await backing.change(MEMORY, write("four"))
        await backing.change(MEMORY, keep)
        await backing.change(USER, write("東京"))
        await house.backing(0, "bob").change(USER, write("of Bob"))
        assert await backing.erase() == 6
        assert [await house.backing(1).read(target) for target in Target] == [Stored(), Stored()]
        assert await house.copies() == {}
        assert await backing.erase() == 0
        await backing.change(MEMORY, write("again"))
        assert (await house.backing(1).read(MEMORY)).text == "again"
        assert (await house.backing(1, "bob").read(USER)).text == "of Bob"

    async def test_nothing_is_erased_where_nothing_was(self, house: House) -> None:
        assert await house.backing(0).erase() == 0

    async def test_a_text_that_is_too_large_is_refused(self, house: House) -> None:
        backing = house.backing(0)
        await backing.change(MEMORY, write("small"))
        with pytest.raises(StorageError, match="larger than 4 MiB"):
            await backing.change(MEMORY, write("長" * 1_400_000))
        assert (await backing.read(MEMORY)).text == "small"

    async def test_what_no_store_takes_does_not_get_in(self, house: House) -> None:
        await house.backing(0).change(MEMORY, write("\ufeffa\0b\ud800\r\nc\rd"))
        assert await house.backing(1).read(MEMORY) == Stored("ab\ufffd\nc\nd")

    @settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
    @given(text=st.text() | st.text("\ufeff\r\n\0§ \ud800a"))
    async def test_a_text_comes_back_to_the_letter(self, house: House, text: str) -> None:
        await house.backing(0).change(MEMORY, write(text))
        assert await house.backing(1).read(MEMORY) == Stored(settled(text))


# --- the files that were there before the table


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[FileBacking]:
    async with Desk() as desk:
        yield FileBacking(tmp_path / "memories", desk)


async def test_the_files_are_taken_over_by_the_first_change(database: Database, files: FileBacking) -> None:
    await files.change(MEMORY, write("of the home"))
    table = TableBacking(database, "ann", files)
    assert (await table.read(MEMORY)).text == "of the home"
    assert (await table.change(MEMORY, add("more"))).told is None
    await files.change(MEMORY, write("edited by hand, too late"))
    assert (await table.read(MEMORY)).text == "of the home\n§\nmore"
    assert (await table.read(USER)).text == ""
    assert (await TableBacking(database, "bob").read(MEMORY)).text == ""


async def test_two_processes_take_them_over_once(database: Database, files: FileBacking) -> None:
    await files.change(MEMORY, write("of the home"))
    both = [TableBacking(database, "ann", files) for _ in range(2)]
    await asyncio.gather(*(both[number % 2].change(MEMORY, add(f"entry {number}")) for number in range(10)))
    entries = parse((await both[0].read(MEMORY)).text)
    assert sorted(entries) == sorted(["of the home", *(f"entry {number}" for number in range(10))])


async def test_a_damaged_file_is_shown_and_not_taken_over(database: Database, files: FileBacking) -> None:
    files.folder.mkdir()
    (files.folder / "MEMORY.md").write_bytes(b"na\xefve")
    table = TableBacking(database, "ann", files)
    assert (await table.read(MEMORY)).damage == "byte 0xEF at 2 is not UTF-8"
    with pytest.raises(StorageError, match="convert the file to UTF-8"):
        await table.change(MEMORY, add("more"))
    (files.folder / "MEMORY.md").write_text("naïve")
    await table.change(MEMORY, add("more"))
    assert (await table.read(MEMORY)).text == "naïve\n§\nmore"


async def test_what_is_erased_is_not_taken_over_again(database: Database, files: FileBacking, tmp_path: Path) -> None:
    await files.change(MEMORY, write("secret"))
    await files.change(USER, write("also"))
    table = TableBacking(database, "ann", files)
    await table.change(MEMORY, add("more"))
    assert await table.erase() == len("secret\n§\nmore") + len("also")
    assert not list(files.folder.glob("*.md"))
    async with Desk() as desk:
        there = FileBacking(tmp_path / "another machine", desk)
        await there.change(MEMORY, write("secret"))
        table = TableBacking(database, "ann", there)
        await table.change(MEMORY, add("new"))
    assert (await table.read(MEMORY)).text == "new"
