"""A gateway on Postgres that believes to be alone, and another that believes the same."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from gateway.errors import StorageError
from gateway.storage import open_database


def holders(url: str) -> list[int]:
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted").fetchall()
        return [pid for (pid,) in found]


async def test_a_second_holder_is_refused_with_a_sentence_until_the_first_is_gone(
    postgres_url: str, tmp_path: Path
) -> None:
    async with open_database(postgres_url, tmp_path / "one") as one:
        await one.hold()
        async with open_database(postgres_url, tmp_path / "two") as two:
            with pytest.raises(StorageError, match="another gateway without Redis uses postgresql://") as refused:
                await two.hold()
            assert "\n" not in str(refused.value)
    async with open_database(postgres_url, tmp_path / "two") as two:
        await two.hold()


async def test_whoever_does_not_ask_to_be_alone_is_not_refused(postgres_url: str, tmp_path: Path) -> None:
    async with open_database(postgres_url, tmp_path) as one:
        await one.hold()
        async with open_database(postgres_url, tmp_path) as two:
            assert await two.read(lambda connection: 1) == 1


async def test_what_the_server_let_go_is_held_again(postgres_url: str, tmp_path: Path) -> None:
    async with open_database(postgres_url, tmp_path) as one, open_database(postgres_url, tmp_path) as two:
        await one.hold()
        (holder,) = holders(postgres_url)
        await one.hold()
        assert holders(postgres_url) == [holder]
        with psycopg.connect(postgres_url) as connection:
            connection.execute("SELECT pg_terminate_backend(%s, 5000)", [holder])
        await one.hold()
        with pytest.raises(StorageError, match="another gateway without Redis uses postgresql://"):
            await two.hold()


async def test_a_file_needs_no_holder(tmp_path: Path) -> None:
    async with open_database("sqlite:///state.db", tmp_path) as database:
        await database.hold()
