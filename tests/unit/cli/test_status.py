"""``status``: whether a gateway runs, and what it has to do."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from gateway.bus import lanes, letters
from gateway.delivery import outbox
from gateway.delivery.outbox import Outgoing
from gateway.sessions.keys import private_key
from gateway.storage import lease, refusals
from gateway.storage.database import Connection
from gateway.storage.lease import Worker
from gateway.types import Address, Event, Part, Rendered, Role, Sender
from tests.console import Console

TOLD = Path("/proc/stat").exists()
"""Only Linux tells when a process has started."""
CHAT = Address(platform="telegram", chat="42")


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A port that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def busy(connection: Connection) -> None:
    """A turn under way with a message behind it, a dead letter, an answer on its way and a refused one."""
    key = private_key(CHAT)
    for number in range(3):
        event = Event(id=f"e{number}", origin=CHAT, sender=Sender("42"), text="hi")
        lanes.put(connection, key, event.id, event, Role.MEMBER, command=number > 0, limit=9)
        if number == 0:
            lanes.claim(connection, key, "s1", "/home")
    letters.bury(connection, [3])
    outbox.add(connection, [Outgoing(CHAT, Part(Rendered("x", 1), "x"))] * 2)
    outbox.refuse(connection, 2, "no")


def alive(role: str) -> Worker:
    return Worker("w1", "here", 4711, role)


def test_a_home_that_nobody_has_used_has_no_gateway_and_stays_untouched(console: Console) -> None:
    ran = console.run("status")
    assert ran.code == 0
    assert "not running" in ran.out
    assert "none yet" in ran.out
    assert not console.home.exists()
    assert console.run("status", "--json").json["counts"] is None


def test_what_there_is_to_do_is_counted(console: Console) -> None:
    console.write(busy)
    counts = console.run("status", "--json").json["counts"]
    assert counts == {"sessions": 1, "waiting": 1, "running": 1, "dead": 1, "undelivered": 1, "refused": 1}
    out = console.run("status").out
    assert "1 in a turn, 1 waiting" in out
    assert "hermes-gateway deliveries list --dead" in out


@pytest.mark.parametrize("role", ["all", "edge", "worker"])
def test_a_process_that_is_alive_is_named_with_what_it_holds(console: Console, role: str) -> None:
    console.write(lambda connection: lease.alive(connection, alive(role)))
    names = ["shard:1", "shard:2", "listen:telegram"]
    console.write(lambda connection: lease.acquire(connection, names, "w1", force=False))
    document = console.run("status", "--json").json
    assert document["running"]
    [process] = document["processes"]
    assert process.pop("since") > 0
    assert process == {"id": "w1", "host": "here", "pid": 4711, "role": role}
    assert document["leases"] == {"shards": 2, "others": ["listen:telegram"]}
    out = console.run("status").out
    assert f"runs: pid 4711 on here, {role}" in out
    assert "2 shards, listen:telegram" in out


def test_a_process_that_was_killed_is_not_running_though_its_word_still_holds(console: Console) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as gateway:
        worker = Worker("w1", socket.gethostname(), gateway.pid, "all")
        console.write(lambda connection: lease.alive(connection, worker))
        assert f"runs: pid {gateway.pid}" in console.run("status").out
        gateway.kill()
        os.waitid(os.P_PID, gateway.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody has taken note of it yet
        assert not console.run("status", "--json").json["running"]
    assert "not running" in console.run("status").out


def test_another_process_that_was_given_the_number_since_is_not_taken_for_it(console: Console) -> None:
    worker = Worker("w1", socket.gethostname(), os.getpid(), "all")
    console.write(lambda connection: lease.alive(connection, worker))
    assert console.run("status", "--json").json["running"]
    console.write(lambda connection: connection.execute(text("UPDATE workers SET created = 1")))
    assert console.run("status", "--json").json["running"] is not TOLD


def test_a_platform_that_refuses_our_token_is_shown_with_what_to_do(console: Console) -> None:
    console.configure("platforms: {telegram: {token: '4711:abcdefghijklmnopqrstuvwxyz0123456789'}}\n")
    console.write(lambda connection: refusals.note(connection, "telegram", "it does not know the token"))
    console.write(lambda connection: refusals.note(connection, "telegram@gone", "long ago"))
    out = console.run("status").out
    assert "telegram is off: it does not know the token" in out
    assert "hermes-gateway config set platforms.telegram.token" in out
    assert console.run("status", "--json").json["platforms"] == {"telegram": "it does not know the token"}


def test_a_database_that_another_program_keeps_from_writing_is_read_all_the_same(console: Console) -> None:
    console.write(busy)
    with closing(sqlite3.connect(console.home / "state.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert console.run("status", "--json").json["counts"]["refused"] == 1


def test_a_schema_of_another_time_is_told_and_left_alone(console: Console) -> None:
    console.write(lambda connection: connection.execute(text("UPDATE alembic_version SET version_num = '9999_later'")))
    ran = console.run("status", "--json")
    assert ran.code == 0
    assert "schema 9999_later of a later version" in ran.json["database"]
    assert ran.json["counts"] is None


def test_a_command_that_takes_a_turn_for_itself_is_no_gateway(console: Console) -> None:
    console.write(lambda connection: lease.alive(connection, alive("cli")))
    assert not console.run("status", "--json").json["running"]
    assert "not running; a command is at work: pid 4711" in console.run("status").out


def test_a_process_that_only_holds_the_lock_is_told_apart(console: Console) -> None:
    console.write(lambda connection: None)
    signed = {"pid": os.getpid(), "host": socket.gethostname(), "started": datetime.now(UTC).isoformat()}
    (console.home / "gateway.lock").write_text(json.dumps(signed))
    assert console.run("status", "--json").json["lock"] == signed
    assert f"not answering: pid {os.getpid()}" in console.run("status").out
    (console.home / "gateway.lock").write_text(json.dumps(signed | {"started": "1970-01-02T00:00:00+00:00"}))
    assert (console.run("status", "--json").json["lock"] is None) is TOLD


@pytest.mark.parametrize(
    "written", ["", "{", '"text"', '{"pid": 0}', '{"pid": "x"}', '{"pid": 1e99, "host": "h", "started": ""}', "\ud800"]
)
def test_a_lock_file_may_say_anything(console: Console, written: str) -> None:
    console.write(lambda connection: None)
    (console.home / "gateway.lock").write_bytes(written.encode("utf-8", "surrogatepass"))
    assert console.run("status", "--json").json["lock"] is None


def test_the_plain_status_asks_nobody(console: Console, listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    console.configure(f"model: {{base_url: 'http://127.0.0.1:{port}/v1', default: m}}\nweb: {{port: {port}}}\n")
    console.write(lambda connection: lease.alive(connection, alive("all")))
    assert console.run("status").code == 0
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_the_deep_status_asks_everybody_and_fails_where_one_is_ill(console: Console) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    model = f"{{base_url: 'http://127.0.0.1:{port}/v1', default: m, api_key: hush-hush-4711}}"
    console.configure(f"model: {model}\nweb: {{port: {port}}}\n")
    console.write(lambda connection: lease.alive(connection, alive("all")))
    ran = console.run("status", "--deep", "--json")
    probes = {probe["what"]: probe for probe in ran.json["probes"]}
    assert ran.code == 1
    assert {name: probe["ok"] for name, probe in probes.items()} == {
        "database": True,
        "bus": True,
        "model": False,
        "webchat": None,
    }
    assert "cannot be reached" in probes["model"]["detail"]
    assert "no gateway answers at" in probes["webchat"]["detail"]
    assert "hush-hush" not in ran.out + ran.err


def test_the_deep_status_waits_no_longer_than_it_was_told(console: Console, listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    console.configure(f"model: {{base_url: 'http://127.0.0.1:{port}/v1', default: m}}\n")
    ran = console.run("status", "--deep", "--timeout", "0.2", "--json")
    probes = {probe["what"]: probe for probe in ran.json["probes"]}
    assert (probes["model"]["ok"], probes["model"]["detail"]) == (False, "no answer within 0.2 s")
    assert (probes["webchat"]["ok"], probes["webchat"]["detail"]) == (None, "no gateway runs")


def test_a_damaged_database_is_one_sentence(console: Console) -> None:
    console.home.mkdir()
    (console.home / "state.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    ran = console.run("status")
    assert (ran.code, ran.out) == (4, "")
    assert ran.err.count("\n") == 1
