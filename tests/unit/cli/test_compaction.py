"""``compaction`` and ``context``: what an operator sees of a conversation's context, and the way back."""

from __future__ import annotations

import os
import socket
from dataclasses import replace

import pytest
from sqlalchemy import insert, select, update

from gateway.agent.context.frame import framed
from gateway.agent.context.guards import Guards, packed, unpacked
from gateway.contracts.context import Record, View
from gateway.messages import Message
from gateway.sessions import compressions, store
from gateway.storage import lease
from gateway.storage.database import Connection
from gateway.storage.lease import Worker
from gateway.storage.tables import lanes, sessions
from tests.console import Console

LANE = "agent:main:telegram:dm:42"
BEFORE = Guards(compressions=2, ineffective=1)
RECORD = Record(
    occasion="command",
    outcome="summary",
    engine="compressor",
    model="big",
    writer="small",
    focus="the hush-hush-4711 key",
    tokens=(84_000, 31_000),
    messages=(4, 2),
    score=0.9,
    guards=packed(BEFORE),
)


def converse(connection: Connection, *, id: str = "s1", each: str = "a few words") -> None:
    """Four messages, of which a summary stands for the first two."""
    connection.execute(insert(sessions).values(id=id, lane=LANE, created=1_700_000_000.0, prompt="Be kind."))
    connection.execute(insert(lanes).values(key=LANE, shard=1, session_id=id, version=7, generation=3))
    said = [Message("user" if place % 2 == 0 else "assistant", f"{each} {place}") for place in range(4)]
    store.append(connection, id, "t1", said)
    ids = [row.id for row in store.load(connection, id).rows]
    view = View(hidden=frozenset(ids[:2]), summary=framed("## Goal\nTo be \x1b[2Jhush-hush-4711."))
    compressions.keep(connection, id, "t2", RECORD, view)
    store.keep_guards(connection, id, packed(replace(BEFORE, compressions=3)))


def shown(connection: Connection) -> int:
    return len(store.load(connection, "s1").rows)


def test_compressions_are_listed_with_why_and_what(console: Console) -> None:
    console.write(converse)
    console.write(lambda connection: compressions.keep(connection, "s1", "t3", replace(RECORD, outcome="kept"), None))
    head, newest, first = console.run("compaction", "list", "s1").out.splitlines()
    assert head.split()[:2] == ["NUMBER", "WHEN"]
    assert newest.startswith("2 ")
    assert "failed, nothing was changed" in newest
    assert "since somebody asked for it: 84k → 31k tokens, 4 → 2 messages, summary by small with 90%" in first
    document = console.run("compaction", "list", "s1", "--limit", "1", "--json").json
    assert [one["number"] for one in document["compactions"]] == [2]
    assert document["compactions"][0]["tokens"] == {"before": 84_000, "after": 31_000}
    assert document["hasMore"]


def test_a_session_that_was_never_compressed_is_no_mistake(console: Console) -> None:
    console.write(lambda connection: connection.execute(insert(sessions).values(id="s0", lane=LANE, created=1.0)))
    assert console.run("compaction", "list", "s0").out == "s0 was never compressed\n"
    assert console.run("compaction", "show", "s0").code == 3
    ran = console.run("compaction", "undo", "s0")
    assert (ran.code, ran.out) == (3, "")
    assert "there is no compression of s0 to undo; see hermes-gateway compaction list s0" in ran.err


@pytest.mark.parametrize(
    "command", [("compaction", "list"), ("compaction", "show"), ("compaction", "undo"), ("context",)]
)
def test_a_session_there_is_not_is_told(console: Console, command: tuple[str, ...]) -> None:
    console.write(lambda connection: None)
    ran = console.run(*command, "nope")
    assert (ran.code, ran.out) == (3, "")
    assert "there is no session nope; see hermes-gateway sessions list" in ran.err


def test_a_summary_is_printed_without_its_marks_and_steers_no_terminal(console: Console) -> None:
    console.configure("model: {api_key: hush-hush-4711, base_url: 'http://127.0.0.1:9/v1'}\n")
    console.write(converse)
    out = console.run("compaction", "show", "s1").out
    assert out.startswith("## Goal\nTo be \\x1b[2J")
    assert "CONTEXT" not in out
    for form in ([], ["--json"]):
        assert "hush-hush" not in console.run("compaction", "show", "s1", *form).out
        assert "hush-hush" not in console.run("compaction", "list", "s1", *form).out


def test_an_undo_shows_all_as_it_was_said_and_nobody_goes_on_with_what_they_had(console: Console) -> None:
    console.write(converse)
    ran = console.run("compaction", "undo", "s1")
    assert ran.code == 0
    assert ran.out.startswith("taken back (84k → 31k tokens, 4 → 2 messages): about ")
    assert console.read(shown) == 4
    stored = console.read(lambda connection: store.load(connection, "s1"))
    assert unpacked(stored.guards) == replace(BEFORE, held=True)
    lane = console.read(lambda connection: connection.execute(select(lanes)).mappings().one())
    assert (lane["version"], lane["generation"]) == (8, 4)
    assert "taken back" in console.run("compaction", "list", "s1").out
    assert console.run("compaction", "undo", "s1").code == 3


def test_an_undo_that_would_not_fit_is_refused(console: Console) -> None:
    console.write(lambda connection: converse(connection, each="a few words more of it " * 3_000))
    ran = console.run("compaction", "undo", "s1")
    assert ran.code == 1
    assert "as it was said this conversation takes about" in ran.err
    assert console.read(shown) == 2


def test_while_a_gateway_runs_an_undo_is_for_the_chat(console: Console) -> None:
    console.write(converse)
    alive = Worker("w1", socket.gethostname(), os.getpid(), "worker")
    console.write(lambda connection: lease.alive(connection, alive))
    ran = console.run("compaction", "undo", "s1")
    assert ran.code == 75
    assert "send /compaction undo in that chat, or stop the gateway first" in ran.err
    assert console.read(shown) == 2


def test_a_session_that_goes_on_as_another_is_undone_under_that_name(console: Console) -> None:
    console.write(converse)
    console.write(lambda connection: store.follow(connection, "s1", "s2"))
    console.write(lambda connection: connection.execute(update(lanes).values(session_id="s2")))
    ran = console.run("compaction", "undo", "s1")
    assert ran.code == 1
    assert "goes on as s2; hermes-gateway compaction undo s2" in ran.err
    assert console.run("compaction", "undo", "s2").code == 0
    assert console.read(lambda connection: len(store.load(connection, "s2").rows)) == 4


def test_context_shows_what_fills_the_window(console: Console) -> None:
    console.configure("model: {default: gpt-5, context_length: 100000, base_url: 'http://127.0.0.1:9/v1'}\n")
    console.write(converse)
    out = console.run("context", "s1").out
    assert "Window of gpt-5: about " in out
    assert "estimated" in out
    assert "Summary: " in out
    assert "People: " in out
    assert "Compressed at 75k tokens: 75% of 100,000 tokens" in out
    assert "Compressions so far: 3" in out
    document = console.run("context", "s1", "--json").json
    assert document["parts"]["tools"]["number"] > 5
    assert document["parts"]["people"]["number"] == 1
    assert document["tokens"] > document["parts"]["prompt"]
    assert document["guards"]["ineffective"] == 1
    assert document["threshold"] == 75_000


def test_context_without_compression_says_so(console: Console) -> None:
    console.configure("compression: {enabled: false}\n")
    console.write(converse)
    assert "never (compression.enabled is false)" in console.run("context", "s1").out
    assert console.run("context", "s1", "--json").json["threshold"] is None
