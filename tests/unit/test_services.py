"""The services the other tests stand on."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from redis import Redis

from tests import services


def test_postgres_gives_each_test_an_empty_database_that_is_dropped(postgres_server: str) -> None:
    with services.fresh_database(postgres_server) as first, services.fresh_database(postgres_server) as second:
        with psycopg.connect(first) as connection:
            connection.execute("CREATE TABLE seen (text text)")
        with psycopg.connect(second) as connection:
            assert connection.execute("SELECT count(*) FROM pg_tables WHERE tablename = 'seen'").fetchone() == (0,)
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(first)


def test_a_database_is_dropped_although_somebody_is_still_connected(postgres_server: str) -> None:
    with services.fresh_database(postgres_server) as url:
        connection = psycopg.connect(url)
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT 1")
    connection.close()


def test_postgres_keeps_every_script_and_lowers_its_letters(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT lower('ОТЧЁТ 東京 É')").fetchone() == ("отчёт 東京 é",)


def test_redis_deletes_what_a_test_stored_and_nothing_else(redis_url: str, redis_prefix: str) -> None:
    with Redis.from_url(redis_url, decode_responses=True) as client:
        client.set(f"{redis_prefix}kept", "1")
        with services.fresh_prefix(redis_url) as other:
            client.xadd(f"{other}stream", {"inbox": "1"})
        assert client.exists(f"{other}stream") == 0
        assert client.get(f"{redis_prefix}kept") == "1"


def test_a_database_url_names_both_kinds_of_database(database_url: str) -> None:
    assert database_url.startswith(("sqlite:////", "postgresql://"))


def test_redis_with_a_folder_remembers_over_a_kill(tmp_path: Path) -> None:
    settings = ("--appendonly", "yes", "--appendfsync", "always")
    with services.run_redis(tmp_path, *settings) as server, Redis.from_url(server.url) as client:
        client.set("k", "v")
        server.stop(signal.SIGKILL)
    with services.run_redis(tmp_path, *settings) as server, Redis.from_url(server.url) as client:
        assert client.get("k") == b"v"


@pytest.fixture
def open_folder() -> Iterator[str]:
    """A temporary folder that another account may enter, as `tmp_path` of root is not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield folder


@pytest.mark.skipif(sys.platform != "linux", reason="other systems know no parent-death signal")
@pytest.mark.parametrize("kind", ["run_postgres", "run_redis"])
def test_a_server_dies_with_the_process_that_started_it(kind: str, open_folder: str) -> None:
    script = textwrap.dedent(f"""
        import time
        from tests import services
        with services.{kind}() as server:
            print(server.port, flush=True)
            time.sleep(60)
    """)
    environment = {**os.environ, "PYTHONPATH": os.getcwd(), "TMPDIR": open_folder}
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as owner:
        assert owner.stdout is not None
        port = int(owner.stdout.readline())
        assert listening(port)
        owner.kill()
    deadline = time.monotonic() + 10
    while listening(port) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not listening(port)


def listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_connection_to_another_machine_is_refused() -> None:
    with socket.socket() as probe, pytest.raises(PermissionError, match="tried to connect"):
        probe.connect(("192.0.2.1", 9))
