"""Fixtures of every test: a real Postgres and a real Redis, and no way out of this machine.

A server is the one named by `HERMES_TEST_POSTGRES` or `HERMES_TEST_REDIS`, else one of this test worker, started when
the first test asks; the production names `DATABASE_URL` and `REDIS_URL` are never read. A test gets an empty database
and a key prefix that nobody else uses, and both are gone afterwards. What is missing fails the test.
"""

from __future__ import annotations

import ipaddress
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests import services


def only_this_machine(event: str, arguments: tuple[object, ...]) -> None:
    """Refuse to connect to any other machine: a fake that was not asked must not mean that the real one is."""
    if event != "socket.connect":
        return
    address = arguments[1]
    if not isinstance(address, tuple):
        return
    try:
        ip = ipaddress.ip_address(str(address[0]).split("%", maxsplit=1)[0])
    except ValueError:
        return
    if not (ip.is_loopback or ip.is_unspecified):
        raise PermissionError(f"a test tried to connect to {address[0]}")


def pytest_configure() -> None:
    # How long an example takes says more about the other processes of the machine than about the code. CI tries the
    # same examples each time, so that a change is judged by itself; everybody else goes on looking for new ones.
    hypothesis.settings.register_profile(
        "tests",
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
        print_blob=True,
        derandomize="CI" in os.environ,
    )
    hypothesis.settings.load_profile("tests")
    if "HERMES_TEST_REDIS" not in os.environ:  # which may be elsewhere
        sys.addaudithook(only_this_machine)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a server that may make databases."""
    if url := os.environ.get("HERMES_TEST_POSTGRES"):
        yield url
        return
    with services.run_postgres() as server:
        yield server.url


@pytest.fixture(scope="session")
def redis_server() -> Iterator[str]:
    if url := os.environ.get("HERMES_TEST_REDIS"):
        yield url
        return
    with services.run_redis() as server:
        yield server.url


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """postgresql://user@127.0.0.1:port/db of an empty database of this test."""
    with services.fresh_database(postgres_server) as url:
        yield url


@pytest.fixture
def redis_url(redis_server: str) -> str:
    """The server, shared with other tests: use it under `redis_prefix` only."""
    return redis_server


@pytest.fixture
def redis_prefix(redis_server: str) -> Iterator[str]:
    with services.fresh_prefix(redis_server) as prefix:
        yield prefix


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "postgres":
        url: str = request.getfixturevalue("postgres_url")
        return url
    return f"sqlite:///{tmp_path / 'state.db'}"
