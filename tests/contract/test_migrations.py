"""The schema that the revisions make is the one that the tables say, on both databases."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, Inspector, inspect, select, text

from gateway.errors import StorageError
from gateway.storage import open_database
from gateway.storage.database import Database
from gateway.storage.migrate import FOLDER, current
from gateway.storage.tables import facts, metadata


def is_ours(name: str | None, kind: str, parents: object) -> bool:
    """Leave out the index of the search, which each database spells its own way: no table of SQLAlchemy says it."""
    return kind != "table" or not str(name).startswith("message_words")


def differences(connection: Connection) -> list[object]:
    # What the same revisions make on SQLite has the same defaults, whose empty texts Alembic cannot read back there.
    postgres = connection.dialect.name == "postgresql"
    options = {"compare_type": True, "compare_server_default": postgres, "include_name": is_ours}
    return list(compare_metadata(MigrationContext.configure(connection, opts=options), metadata))


def partial_indexes(connection: Connection) -> dict[str, set[str]]:
    """Return the condition of every index that has one: Alembic does not compare those."""
    inspector: Inspector = inspect(connection)
    dialect = connection.dialect.name
    found: dict[str, set[str]] = {}
    for table in metadata.tables:
        for index in inspector.get_indexes(table):
            condition = index.get("dialect_options", {}).get(f"{dialect}_where")
            if condition is not None:
                words = str(condition).replace("'", " ").replace("(", " ").split()
                found[str(index["name"])] = set(words) & {"waiting", "claimed", "dead", "sending", "refused"}
    return found


async def test_the_revisions_make_what_the_tables_say(database: Database) -> None:
    assert await database.read(differences) == []


async def test_the_indexes_of_what_is_open_leave_out_the_rest(database: Database) -> None:
    assert await database.read(partial_indexes) == {
        "inbox_open": {"waiting", "claimed"},
        "inbox_dead": {"dead"},
        "outbox_open": {"waiting", "sending"},
        "outbox_refused": {"refused"},
    }


async def test_a_second_start_changes_nothing(database_url: str, tmp_path: Path) -> None:
    async with open_database(database_url, tmp_path) as database:
        await database.write(lambda connection: connection.execute(facts.insert().values(name="kept", value="v")))
        before = await database.read(current)
    async with open_database(database_url, tmp_path) as database:
        assert await database.read(current) == before != ""
        assert await database.read(lambda connection: connection.execute(select(facts.c.value)).scalar()) == "v"


def test_revisions_are_named_as_their_files_so_that_the_newest_is_known_without_reading_them() -> None:
    for path in (FOLDER / "versions").glob("[0-9]*.py"):
        assert f'revision = "{path.stem}"' in path.read_text("utf-8")


def newer(url: str) -> None:
    statement = "UPDATE alembic_version SET version_num = '9999_from_the_future'"
    if url.startswith("postgresql"):
        with psycopg.connect(url) as server:
            server.execute(statement)
    else:
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
            file.execute(statement)
            file.commit()


async def test_a_newer_schema_is_refused_and_left_as_it_is(database_url: str, tmp_path: Path) -> None:
    async with open_database(database_url, tmp_path):
        pass
    await asyncio.to_thread(newer, database_url)
    for _ in range(2):
        with pytest.raises(StorageError, match=r"9999_from_the_future, newer than .*update hermes-gateway"):
            async with open_database(database_url, tmp_path):
                pass


async def test_a_start_that_fails_half_way_leaves_no_half_schema(database_url: str, tmp_path: Path) -> None:
    blocker = "CREATE TABLE turns (id TEXT)"
    if database_url.startswith("postgresql"):
        with psycopg.connect(database_url) as server:
            server.execute(blocker)
    else:
        async with open_database(database_url, tmp_path):
            pass
        with closing(sqlite3.connect(database_url.removeprefix("sqlite:///"))) as file:
            for name in (*metadata.tables, "message_words"):
                file.execute(f"DROP TABLE {name}")
            file.execute("DELETE FROM alembic_version")
            file.execute(blocker)
            file.execute("CREATE TABLE lanes (key TEXT)")
            file.commit()
    with pytest.raises(StorageError, match="already exists"):
        async with open_database(database_url, tmp_path):
            pass
    assert await asyncio.to_thread(tables_of, database_url) <= {"turns", "lanes", "alembic_version", "sqlite_sequence"}


def tables_of(url: str) -> set[str]:
    if url.startswith("postgresql"):
        with psycopg.connect(url) as server:
            return {row[0] for row in server.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
        return {row[0] for row in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


async def test_ids_are_never_used_again(database: Database) -> None:
    def insert_and_delete(connection: Connection) -> int:
        connection.execute(
            text(
                "INSERT INTO sessions (id, lane, created) SELECT 's', 'l', 0 WHERE NOT EXISTS (SELECT 1 FROM sessions)"
            )
        )
        id = connection.execute(
            text("INSERT INTO messages (session_id, role, created) VALUES ('s', 'user', 0) RETURNING id")
        ).scalar_one()
        connection.execute(text("DELETE FROM messages"))
        return int(id)

    ids = [await database.write(insert_and_delete) for _ in range(5)]
    assert ids == sorted(set(ids))
