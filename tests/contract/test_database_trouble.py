"""A database that cannot be used says so in one sentence, and loses nothing."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, insert, select, text, update

from gateway.errors import ConfigError, StorageError
from gateway.storage import open_database
from gateway.storage.postgres import Postgres
from gateway.storage.sqlite import SQLite
from gateway.storage.tables import facts
from tests import services


def put(name: str, value: str = "") -> Callable[[Connection], None]:
    def job(connection: Connection) -> None:
        connection.execute(insert(facts).values(name=name, value=value))

    return job


def names(connection: Connection) -> set[str]:
    return set(connection.execute(select(facts.c.name)).scalars())


def is_one_sentence(error: BaseException) -> bool:
    said = str(error)
    return bool(said) and "\n" not in said and "sqlalche" not in said and "Traceback" not in said


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """Be another program that holds the write lock."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other
        other.execute("ROLLBACK")


# --- SQLite


async def test_a_file_that_another_program_writes_is_locked_and_later_free_again(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    async with SQLite(path, busy_seconds=0.05) as database:
        with writing(path):
            results = await asyncio.gather(*(database.write(put(f"{n}")) for n in range(10)), return_exceptions=True)
            assert all(isinstance(result, StorageError) for result in results)
            assert {str(result) for result in results} == {
                f"{path} is locked by another program; close it and try again"
            }
            assert await database.read(names) == set()
        await database.write(put("after"))
        assert await database.read(names) == {"after"}


async def test_a_job_waits_for_another_program_that_writes_for_a_moment(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    async with SQLite(path, busy_seconds=20) as database:
        with writing(path):
            task = asyncio.get_running_loop().create_task(database.write(put("patient")))
            assert await database.read(names) == set()
        await task
        assert await database.read(names) == {"patient"}


async def test_a_file_that_is_locked_at_the_start_is_told(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StorageError, match="locked by another program"):
            async with SQLite(path, busy_seconds=0.05):
                pass


async def test_two_that_start_at_once_on_a_fresh_file_both_succeed(tmp_path: Path) -> None:
    async def start(name: str) -> None:
        async with SQLite(tmp_path / "deep" / "er" / "state.db") as database:
            await database.write(put(name))

    await asyncio.gather(*(start(f"{number}") for number in range(5)))
    async with open_database("sqlite:///deep/er/state.db", tmp_path) as database:
        assert await database.read(names) == {"0", "1", "2", "3", "4"}


async def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_text("This is a shopping list.\n" * 400)
    with pytest.raises(StorageError, match=r"state\.db is not a SQLite database") as raised:
        open_database("sqlite:///state.db", tmp_path)
    assert is_one_sentence(raised.value)
    assert (tmp_path / "state.db").read_text().startswith("This is a shopping list.")


async def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    async with SQLite(path) as database:
        await asyncio.gather(*(database.write(put(f"{number}", "x" * 1000)) for number in range(100)))
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\xff" * 3000 + whole[3100:])
    with pytest.raises(StorageError, match="is damaged; restore a backup") as raised:
        async with open_database("sqlite:///state.db", tmp_path):
            pass
    assert is_one_sentence(raised.value)


async def test_a_page_that_was_damaged_meanwhile_is_told_to_whoever_reads_it_and_to_no_other(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    async with SQLite(path) as database:
        await database.write(put("good"))
        root = await database.read(
            lambda connection: connection.execute(
                text("SELECT rootpage FROM sqlite_master WHERE name = 'people'")
            ).scalar_one()
        )
        size = await database.read(lambda connection: connection.execute(text("PRAGMA page_size")).scalar_one())
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
    async with SQLite(path) as database:
        with pytest.raises(StorageError, match="is damaged"):
            await database.read(lambda connection: connection.execute(text("SELECT * FROM people")).all())
        await database.write(put("still"))
        assert await database.read(names) == {"good", "still"}


async def test_a_place_that_cannot_hold_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be reached") as raised:
        async with open_database("sqlite:///file/state.db", tmp_path):
            pass
    assert is_one_sentence(raised.value)


async def test_a_full_disk_fails_what_does_not_fit_and_nothing_else(tmp_path: Path) -> None:
    async with SQLite(tmp_path / "state.db") as database:
        await database.write(put("before", "x"))
        pages = await database.read(lambda connection: connection.execute(text("PRAGMA page_count")).scalar_one())
        await database.write(lambda connection: connection.execute(text(f"PRAGMA max_page_count = {pages + 4}")).all())
        jobs = [put(f"{number}", "x" * (100_000 if number == 5 else 10)) for number in range(10)]
        results = await asyncio.gather(*(database.write(job) for job in jobs), return_exceptions=True)
        assert [number for number, result in enumerate(results) if result is not None] == [5]
        assert "is full; free some space" in str(results[5])
        assert await database.read(names) == {"before", *(str(number) for number in range(10) if number != 5)}
        await database.write(lambda connection: connection.execute(text("PRAGMA max_page_count = 100000")).all())
        await database.write(put("5", "x" * 100_000))
        assert "5" in await database.read(names)


async def test_a_commit_that_fails_takes_only_the_job_to_blame(tmp_path: Path) -> None:
    def fails_at_commit(connection: Connection) -> None:
        connection.execute(text("PRAGMA defer_foreign_keys = ON"))
        connection.execute(text("INSERT INTO identities (account, person, created) VALUES ('a', 'nobody', 0)"))

    async with SQLite(tmp_path / "state.db") as database:
        jobs = [fails_at_commit if number == 7 else put(f"{number}") for number in range(20)]
        results = await asyncio.gather(*(database.write(job) for job in jobs), return_exceptions=True)
        assert [number for number, result in enumerate(results) if result is not None] == [7]
        with pytest.raises(StorageError, match="FOREIGN KEY"):
            await database.write(fails_at_commit)
        await database.write(put("after"))
        assert await database.read(names) == {"after", *(str(number) for number in range(20) if number != 7)}


# What follows happens to a process of its own: it cannot be undone in ours.
PROLOGUE = """
import asyncio, ctypes, os, resource, signal, sys
from pathlib import Path
from alembic import command, config
from sqlalchemy import insert, select
from gateway.errors import StorageError
from gateway.storage import open_database
from gateway.storage.tables import facts

home = Path(sys.argv[1])

def put(name, value=""):
    return lambda connection: connection.execute(insert(facts).values(name=name, value=value)) and None

def names(connection):
    return sorted(connection.execute(select(facts.c.name)).scalars())

def without_the_rights_of_root():
    if sys.platform == "linux":
        header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        assert ctypes.CDLL(None).capset(header, none) == 0
"""


def in_a_process(script: str, home: Path) -> str:
    """Run a script after the prologue; return what it says."""
    code = PROLOGUE + textwrap.dedent(script)
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    done = subprocess.run(
        [sys.executable, "-c", code, str(home)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


READ_ONLY = """
    without_the_rights_of_root()
    async def main():
        try:
            async with open_database("sqlite:///state.db", home) as database:
                await database.write(put("x"))
        except StorageError as error:
            print(error)
    asyncio.run(main())
"""


def test_a_folder_that_may_not_be_written_is_told(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o555)
    said = in_a_process(READ_ONLY, home)
    assert said == f"{home / 'state.db'} cannot be opened; check that the folder exists and may be written\n"


def test_a_folder_that_may_not_be_entered_is_told(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o000)
    said = in_a_process(READ_ONLY, home)
    assert said == f"{home / 'state.db'} cannot be reached: Permission denied; set gateway.database\n"


def test_a_file_that_may_not_be_written_is_told(tmp_path: Path) -> None:
    async def make() -> None:
        async with open_database("sqlite:///state.db", tmp_path):
            pass

    asyncio.run(make())
    (tmp_path / "state.db").chmod(0o444)
    tmp_path.chmod(0o555)
    said = in_a_process(READ_ONLY, tmp_path)
    tmp_path.chmod(0o755)
    assert said.startswith(f"{tmp_path / 'state.db'} cannot be")
    assert said.count("\n") == 1


def test_a_disk_that_refuses_the_commit_loses_only_what_it_refused(tmp_path: Path) -> None:
    said = in_a_process(
        """
        def full(size):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

        async def main():
            async with open_database("sqlite:///state.db", home) as database:
                await database.write(put("before"))
                full((home / "state.db-wal").stat().st_size + 100)
                jobs = (database.write(put(f"{number}", "x" * 5000)) for number in range(10))
                results = await asyncio.gather(*jobs, return_exceptions=True)
                print({type(result).__name__ for result in results}, len({str(result) for result in results}))
                print(results[0])
                print(await database.read(names))
                full(resource.RLIM_INFINITY)
                await database.write(put("after"))
                print(await database.read(names))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        asyncio.run(main())
        """,
        tmp_path,
    )
    kinds, sentence, then, finally_ = said.splitlines()
    assert kinds == "{'StorageError'} 1"
    assert str(tmp_path / "state.db") in sentence
    assert then == "['before']"
    assert finally_ == "['after', 'before']"


# --- whose file it is


def foreign(path: Path) -> bytes:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT)")
        connection.execute("INSERT INTO sessions VALUES ('20250101_000000_abcdef', 'cli')")
        connection.commit()
    return path.read_bytes()


async def test_another_programs_state_is_left_alone_and_ours_lies_beside_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    theirs = foreign(tmp_path / "state.db")
    with caplog.at_level(logging.WARNING):
        async with open_database("sqlite:///state.db", tmp_path) as database:
            await database.write(put("ours"))
            assert database.url.endswith("/gateway.db")
    assert (tmp_path / "state.db").read_bytes() == theirs
    assert "left alone" in caplog.text
    async with open_database("sqlite:///state.db", tmp_path) as database:
        assert await database.read(names) == {"ours"}


async def test_our_file_is_found_beside_a_state_that_went_away_or_was_emptied(tmp_path: Path) -> None:
    foreign(tmp_path / "state.db")
    async with open_database("sqlite:///state.db", tmp_path) as database:
        await database.write(put("ours"))
    (tmp_path / "state.db").unlink()
    async with open_database("sqlite:///state.db", tmp_path) as database:
        assert await database.read(names) == {"ours"}
    (tmp_path / "state.db").write_bytes(b"")
    async with open_database("sqlite:///state.db", tmp_path) as database:
        assert await database.read(names) == {"ours"}


async def test_two_files_of_ours_are_an_error(tmp_path: Path) -> None:
    for name in ("state.db", "gateway.db"):
        async with SQLite(tmp_path / name) as database:
            await database.write(put(name))
    with pytest.raises(StorageError, match="both hold our tables") as raised:
        open_database("sqlite:///state.db", tmp_path)
    assert is_one_sentence(raised.value)


async def test_another_programs_file_of_any_other_name_is_refused(tmp_path: Path) -> None:
    theirs = foreign(tmp_path / "theirs.db")
    with pytest.raises(StorageError, match="another program's tables"):
        open_database("sqlite:///theirs.db", tmp_path)
    assert (tmp_path / "theirs.db").read_bytes() == theirs


@pytest.mark.parametrize("name", ["a b.db", "100%.db", "what?.db", "#1.db", "данные 東京.db", "a;b&c=d.db"])
async def test_a_file_may_have_any_name(tmp_path: Path, name: str) -> None:
    home = tmp_path / f"home of {name}"
    for _ in range(2):
        async with open_database(f"sqlite:///{name}", home) as database:
            await database.write(lambda connection: connection.execute(text("SELECT 1")).all())
    assert (home / name).exists()


async def test_a_url_names_a_file_in_the_home_or_anywhere(tmp_path: Path) -> None:
    async with open_database("sqlite:///ours.db", tmp_path / "home"):
        pass
    async with open_database(f"sqlite:///{tmp_path}/elsewhere/ours.db", tmp_path / "home"):
        pass
    assert (tmp_path / "home" / "ours.db").exists()
    assert (tmp_path / "elsewhere" / "ours.db").exists()


@pytest.mark.parametrize(
    "url", ["", "sqlite:", "sqlite://state.db", "sqlite:///", "mysql://u:secret@h/n", "u:secret@h", "postgresql:secret"]
)
def test_a_url_we_do_not_know_is_an_error_of_the_settings_that_repeats_no_password(url: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gateway\.database") as raised:
        open_database(url, tmp_path)
    assert "secret" not in str(raised.value)


# --- Postgres


async def test_a_postgres_that_is_not_there_is_told(tmp_path: Path) -> None:
    port = services.free_port()
    with pytest.raises(StorageError) as raised:
        async with open_database(f"postgresql://me:hushhush@127.0.0.1:{port}/hermes", tmp_path):
            pass
    assert is_one_sentence(raised.value)
    assert "refused" in str(raised.value)
    assert "hushhush" not in str(raised.value)
    assert str(port) in str(raised.value)


async def test_a_database_that_is_not_on_the_server_is_told(postgres_url: str, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="does not exist") as raised:
        async with open_database(f"{postgres_url}_not", tmp_path):
            pass
    assert is_one_sentence(raised.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hushhush@127.0.0.1:1/hermes",
        "postgres://me:hush%68ush@127.0.0.1:1/hermes?sslmode=disable",
        "postgresql://127.0.0.1:1/hermes?user=me&password=hushhush",
        "postgresql://me@127.0.0.1:1/hermes?sslpassword=hushhush&password=hush%68ush",
    ],
)
async def test_a_url_never_shows_its_password(url: str) -> None:
    database = Postgres(url)
    assert "hush" not in database.url
    assert "127.0.0.1:1/hermes" in database.url
    with pytest.raises(StorageError) as raised:
        await database.__aenter__()
    assert "hush" not in str(raised.value)


@pytest.mark.parametrize("url", ["postgresql://me:hushhush@host:port/name", "postgresql://[::1/hushhush"])
def test_a_url_that_cannot_be_read_is_an_error_of_the_settings(url: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gateway\.database") as raised:
        open_database(url, tmp_path)
    assert "hush" not in str(raised.value)


async def test_processes_that_start_at_once_on_an_empty_postgres_all_succeed(postgres_url: str, tmp_path: Path) -> None:
    async def start(name: str) -> None:
        async with open_database(postgres_url, tmp_path) as database:
            await database.write(put(name))

    await asyncio.gather(*(start(f"{number}") for number in range(6)))
    async with open_database(postgres_url, tmp_path) as database:
        assert await database.read(names) == {str(number) for number in range(6)}


async def test_of_two_jobs_that_wait_for_each_other_both_succeed(postgres_url: str, tmp_path: Path) -> None:
    first, second, runs = threading.Event(), threading.Event(), list[str]()

    def job(mine: str, theirs: str, held: threading.Event, wanted: threading.Event) -> Callable[[Connection], None]:
        def run(connection: Connection) -> None:
            runs.append(mine)
            connection.execute(update(facts).where(facts.c.name == mine).values(value=mine))
            held.set()
            wanted.wait(20)
            connection.execute(update(facts).where(facts.c.name == theirs).values(value=mine))

        return run

    async with open_database(postgres_url, tmp_path) as database:
        await asyncio.gather(database.write(put("a")), database.write(put("b")))
        await asyncio.gather(database.write(job("a", "b", first, second)), database.write(job("b", "a", second, first)))
        values = await database.read(lambda connection: connection.execute(select(facts.c.value)).scalars().all())
    assert len(runs) > 2  # the one that gave way ran again, and may have met the other a second time
    assert len(set(values)) == 1


async def test_connections_that_the_server_ended_are_replaced(postgres_url: str, tmp_path: Path) -> None:
    async with open_database(postgres_url, tmp_path) as database:
        await asyncio.gather(*(database.write(put(f"{number}")) for number in range(20)))
        end_all_others(postgres_url)
        await asyncio.gather(*(database.write(put(f"{number}")) for number in range(20, 40)))
        assert len(await database.read(names)) == 40


async def test_a_connection_that_ends_during_a_job_is_told_and_the_next_job_runs(
    postgres_url: str, tmp_path: Path
) -> None:
    def job(connection: Connection) -> Any:
        connection.execute(insert(facts).values(name="half", value=""))
        end_all_others(postgres_url)
        return connection.execute(select(facts.c.name)).all()

    async with open_database(postgres_url, tmp_path) as database:
        with pytest.raises(StorageError, match="cannot be used") as raised:
            await database.write(job)
        assert is_one_sentence(raised.value)
        await database.write(put("after"))
        assert await database.read(names) == {"after"}


def end_all_others(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
