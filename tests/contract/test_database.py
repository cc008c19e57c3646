"""The two doors of a database, the same over SQLite and Postgres."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, insert, select, text, update

from gateway.errors import StorageError
from gateway.storage import open_database
from gateway.storage.database import Database
from gateway.storage.tables import facts, people
from gateway.storage.upsert import upsert

SCRIPTS = "\u0639\u0631\u0628\u0649 \u202e \u05e2\u05d1\u05e8\u05d9\u05ea 東京 Ünïcödé 👩\u200d👩\u200d👧"


def put(name: str, value: str = "") -> Callable[[Connection], None]:
    return lambda connection: put_now(connection, name, value)


def put_now(connection: Connection, name: str, value: str = "") -> None:
    connection.execute(insert(facts).values(name=name, value=value))


def change(name: str, value: str) -> Callable[[Connection], object]:
    return lambda connection: connection.execute(update(facts).where(facts.c.name == name).values(value=value))


def names(connection: Connection) -> set[str]:
    return set(connection.execute(select(facts.c.name)).scalars())


def value_of(name: str) -> Callable[[Connection], str | None]:
    return lambda connection: connection.execute(select(facts.c.value).where(facts.c.name == name)).scalar()


async def test_a_read_sees_every_write_that_has_returned(database: Database) -> None:
    for number in range(20):
        await database.write(put(f"{number}"))
        assert str(number) in await database.read(names)


async def test_a_write_gives_back_what_its_job_returns(database: Database) -> None:
    assert await database.write(lambda connection: connection.execute(select(func.count(facts.c.name))).scalar()) == 0


async def test_a_job_that_raises_leaves_nothing_behind_and_its_error_is_the_callers(database: Database) -> None:
    error = LookupError("no such thing")

    def job(connection: Connection) -> None:
        put_now(connection, "half")
        raise error

    with pytest.raises(LookupError) as raised:
        await database.write(job)
    assert raised.value is error
    assert await database.read(names) == set()


async def test_jobs_that_share_a_commit_fail_alone(database: Database) -> None:
    def job(number: int) -> Callable[[Connection], int]:
        def run(connection: Connection) -> int:
            put_now(connection, f"{number}")
            if number % 5 == 0:
                raise LookupError(number)
            if number % 7 == 0:
                put_now(connection, f"{number}")  # the name is there already
            return number

        return run

    results = await asyncio.gather(*(database.write(job(number)) for number in range(200)), return_exceptions=True)
    failed = {number for number in range(200) if number % 5 == 0 or number % 7 == 0}
    assert await database.read(names) == {str(number) for number in range(200)} - {str(number) for number in failed}
    for number, result in enumerate(results):
        if number % 5 == 0:
            assert isinstance(result, LookupError)
        elif number % 7 == 0:
            assert isinstance(result, StorageError)
        else:
            assert result == number


async def test_sqlite_takes_writes_in_the_order_in_which_they_were_handed_over(tmp_path: Path) -> None:
    async with open_database("sqlite:///state.db", tmp_path) as database:
        await database.write(put("last"))
        await asyncio.gather(*(database.write(change("last", str(number))) for number in range(100)))
        assert await database.read(value_of("last")) == "99"


async def test_a_job_whose_caller_is_cancelled_still_runs_whole_and_harms_nobody(database: Database) -> None:
    chance, handed_over = random.Random(7), set[int]()

    def both(number: int) -> Callable[[Connection], None]:
        def run(connection: Connection) -> None:
            put_now(connection, f"{number} first")
            put_now(connection, f"{number} second")

        return run

    async def caller(number: int) -> None:
        handed_over.add(number)
        await database.write(both(number))

    for number in range(150):
        async with asyncio.TaskGroup() as group:
            task = group.create_task(caller(number))
            for _ in range(chance.randrange(12)):
                await asyncio.sleep(0)
            if chance.random() < 0.3:
                await database.read(names)  # long enough for the write to begin, and perhaps to end
            task.cancel()
    await database.write(put("after"))
    async with asyncio.timeout(20):
        expected = {"after"} | {f"{number} {half}" for number in handed_over for half in ("first", "second")}
        while await database.read(names) != expected:
            await asyncio.sleep(0.01)
    assert handed_over


async def test_an_error_nobody_is_left_to_hear_is_not_an_error_of_the_next(database: Database) -> None:
    began, go = threading.Event(), threading.Event()

    def job(connection: Connection) -> None:
        began.set()
        go.wait(20)
        raise LookupError

    task = asyncio.get_running_loop().create_task(database.write(job))
    await asyncio.to_thread(began.wait, 20)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    go.set()
    await database.write(put("next"))
    assert await database.read(names) == {"next"}


async def test_a_job_that_only_reads_may_not_write(database: Database) -> None:
    with pytest.raises(StorageError):
        await database.read(put("sneaked"))
    assert await database.read(names) == set()


@pytest.mark.parametrize("error", [StopIteration("empty"), SystemExit(3), asyncio.CancelledError()], ids=repr)
@pytest.mark.parametrize("door", ["read", "write"])
async def test_a_job_may_end_with_any_error_and_the_next_one_runs(
    database: Database, door: str, error: BaseException
) -> None:
    def job(connection: Connection) -> None:
        raise error

    async with asyncio.timeout(20):
        with pytest.raises((RuntimeError, SystemExit, asyncio.CancelledError)):
            await getattr(database, door)(job)
        await database.write(put("after"))
        assert await database.read(names) == {"after"}


async def test_an_error_among_jobs_that_share_a_commit_never_leaves_a_neighbour_waiting(database: Database) -> None:
    def stops(connection: Connection) -> None:
        next(iter(()))

    async with asyncio.timeout(20):
        jobs = [stops if number % 3 == 0 else put(f"{number}") for number in range(30)]
        results = await asyncio.gather(*(database.write(job) for job in jobs), return_exceptions=True)
    assert [isinstance(result, Exception) for result in results] == [number % 3 == 0 for number in range(30)]


async def test_what_was_handed_over_before_the_end_is_stored(database_url: str, tmp_path: Path) -> None:
    async with open_database(database_url, tmp_path) as database, asyncio.TaskGroup() as group:
        tasks = [group.create_task(database.write(put(f"{number}"))) for number in range(100)]
        await asyncio.sleep(0)
    assert all(task.done() for task in tasks)
    async with open_database(database_url, tmp_path) as database:
        assert await database.read(names) == {str(number) for number in range(100)}


@pytest.mark.parametrize("door", ["read", "write"])
async def test_a_closed_database_says_so(database_url: str, tmp_path: Path, door: str) -> None:
    database = open_database(database_url, tmp_path)
    async with asyncio.timeout(20):
        with pytest.raises(StorageError, match="not open"):
            await getattr(database, door)(names)
        async with database:
            assert await getattr(database, door)(names) == set()
        with pytest.raises(StorageError, match="not open"):
            await getattr(database, door)(names)


async def test_a_database_can_be_opened_again(database_url: str, tmp_path: Path) -> None:
    database = open_database(database_url, tmp_path)
    async with database:
        await database.write(put("first"))
    async with database:
        await database.write(put("second"))
        assert await database.read(names) == {"first", "second"}


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ("a\0b", "ab"),
        ("\0", ""),
        ("half \ud83d of one", "half \ufffd of one"),
        ("two halves \ud83d\ude00", "two halves 😀"),
        (SCRIPTS, SCRIPTS),
        ("x" * 300_000, "x" * 300_000),
        ("", ""),
    ],
    ids=["NUL inside", "only NUL", "lone surrogate", "surrogate pair", "scripts", "huge", "empty"],
)
async def test_any_text_can_be_stored_and_is_clean(database: Database, said: str, stored: str) -> None:
    await database.write(put("text", said))
    assert await database.read(value_of("text")) == stored


async def test_a_text_is_clean_wherever_it_stands_in_a_statement(database: Database) -> None:
    dirty, now_clean = "k\0ey\ud800", "key\ufffd"
    await database.write(put(dirty, "1"))
    await database.write(
        lambda connection: connection.execute(
            upsert(connection, facts)
            .values(name=dirty, value="2")
            .on_conflict_do_update(index_elements=["name"], set_={"value": dirty})
        )
    )
    assert await database.read(value_of(dirty)) == now_clean
    found = await database.read(
        lambda connection: connection.execute(
            select(facts.c.name).where(facts.c.name.in_([dirty]), facts.c.value == dirty)
        ).scalar()
    )
    assert found == now_clean


async def test_many_rows_at_once_are_clean_too(database: Database) -> None:
    rows = [{"name": f"{number}\0", "value": "\udfff"} for number in range(3)]
    await database.write(lambda connection: connection.execute(insert(facts), rows))
    assert await database.read(names) == {"0", "1", "2"}


async def test_a_wrong_statement_is_one_sentence(database: Database) -> None:
    with pytest.raises(StorageError) as raised:
        await database.write(lambda connection: connection.execute(text("SELECT 1 FROM nowhere")))
    assert "nowhere" in str(raised.value)
    assert "\n" not in str(raised.value)
    await database.write(put("after"))


async def test_a_row_that_points_nowhere_is_refused(database: Database) -> None:
    def job(connection: Connection) -> None:
        connection.execute(text("INSERT INTO identities (account, person, created) VALUES ('a', 'nobody', 0)"))

    with pytest.raises(StorageError, match=r"(?i)foreign key"):
        await database.write(job)


async def test_flags_and_numbers_come_back_as_they_went(database: Database) -> None:
    row = {"id": "p", "name": "n", "role": "owner", "created": 1_000_000_000.123456}
    await database.write(lambda connection: connection.execute(insert(people).values(**row)))
    found = await database.read(lambda connection: connection.execute(select(people)).mappings().one())
    assert dict(found) == row


async def test_whoever_waits_for_changes_hears_now_and_then(database: Database) -> None:
    async with aclosing(database.changes(0.01)) as changes:
        await anext(changes)
        await anext(changes)


async def test_what_another_process_writes_to_a_file_is_heard_long_before(tmp_path: Path) -> None:
    async with (
        open_database("sqlite:///state.db", tmp_path) as mine,
        open_database("sqlite:///state.db", tmp_path) as others,
        asyncio.TaskGroup() as group,
        aclosing(mine.changes(1e9)) as changes,
    ):
        heard = group.create_task(_next(changes))
        await asyncio.sleep(0)  # it has begun to watch
        await others.write(put("news"))
        async with asyncio.timeout(30):
            await heard
        assert "news" in await mine.read(names)


async def _next(changes: AsyncGenerator[None, None]) -> None:
    await anext(changes)
