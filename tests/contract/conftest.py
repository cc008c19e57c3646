"""
What a contract's tests stand on: an entered database of each kind, and hints of each kind.

The schema is made once per kind, by the revisions themselves, and copied for every test.
"""

from __future__ import annotations

import asyncio
import shutil
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from gateway.bus import open_hints
from gateway.contracts.bus import Hints
from gateway.storage import open_database
from gateway.storage.database import Database
from tests import services


def make_schema(url: str) -> None:
    async def enter() -> None:
        async with open_database(url, Path("/")):
            pass

    asyncio.run(enter())


@pytest.fixture(scope="session")
def postgres_with_schema(postgres_server: str) -> Iterator[str]:
    with services.fresh_database(postgres_server) as url:
        make_schema(url)
        yield url


@pytest.fixture(scope="session")
def sqlite_with_schema(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("schema") / "state.db"
    make_schema(f"sqlite:///{path}")
    return path


@contextmanager
def copied(template: str) -> Iterator[str]:
    server, _, original = template.rpartition("/")
    name = f"hermes_test_{uuid.uuid4().hex}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        make = "CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY"
        connection.execute(sql.SQL(make).format(sql.Identifier(name), sql.Identifier(original)))
        try:
            yield f"{server}/{name}"
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(params=["sqlite", "postgres"])
def schema_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database of each kind, with its schema and without a row."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("sqlite_with_schema"), tmp_path / "state.db")
        yield f"sqlite:///{tmp_path / 'state.db'}"
        return
    with copied(request.getfixturevalue("postgres_with_schema")) as url:
        yield url


@pytest.fixture
async def database(schema_url: str, tmp_path: Path) -> AsyncIterator[Database]:
    async with open_database(schema_url, tmp_path) as database:
        yield database


@pytest.fixture(params=["memory", "redis"])
async def hints(request: pytest.FixtureRequest) -> AsyncIterator[Hints]:
    url, prefix = "embedded:", ""
    if request.param == "redis":
        url, prefix = request.getfixturevalue("redis_url"), request.getfixturevalue("redis_prefix")
    async with open_hints(url, prefix) as hints:
        yield hints
