"""What the statements of a turn cost: they find the rows they need by an index, however much was ever said."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event, insert

from gateway.agent import journal
from gateway.agent.memory.backing import nudges
from gateway.bus import lanes, letters, reports
from gateway.bus.lanes import Claimed
from gateway.messages import Message
from gateway.sessions import store
from gateway.sessions.search import find, index, pages
from gateway.sessions.search.query import parse
from gateway.sessions.search.scope import Asking
from gateway.storage import lease, open_database, words
from gateway.storage.tables import metadata, sessions
from gateway.types import Role
from tests.contract.lane import event as an_event
from tests.contract.lane import key, say

SHARDS = frozenset({1, 2})


def message_to_answer(connection: Connection) -> None:
    say(connection, "one")
    claimed = lanes.claim(connection, key(), "s1", "/home")
    assert isinstance(claimed, Claimed)
    lanes.fence(connection, key(), claimed.generation)
    journal.begin(connection, claimed.turn, str(key()), "s1", "model")
    store.keep_prompt(connection, "s1", "prompt", "", "p1")
    store.append(connection, "s1", claimed.turn, [Message("user", "one"), Message("assistant", "two")])
    lanes.done(connection, claimed.ids)
    journal.finish(connection, claimed.turn, str(key()), "s1", journal.Ending("done"))
    nudges.count(connection, "s1", turns=1, steps=0, saved=False)


def attempts(connection: Connection) -> None:
    for _ in range(3):
        say(connection, "one")
        claimed = lanes.claim(connection, key(), "s1", "/home")
        assert isinstance(claimed, Claimed)
        journal.started_calls(connection, claimed.turn)
        store.of_turn(connection, claimed.turn)
        store.load(connection, "s1", without={claimed.turn})
        lanes.fail(connection, claimed, "it broke")
        letters.bury(connection, claimed.ids)
        letters.revive(connection, claimed.ids)
        letters.discard(connection, claimed.ids, "by hand")


def commands(connection: Connection) -> None:
    said = an_event("/stop")
    id = lanes.note(connection, key(), said.id, said, Role.MEMBER)
    reports.standing(connection, key())
    lanes.stop(connection, key(), id or 0, "/stop")
    store.summary(connection, "s1")
    last = store.last_turn(connection, "s1")
    lanes.of_turn(connection, last)
    store.hide_turn(connection, "s1", last, "retry")
    reports.spoken(connection, key(), 10)


def watching(connection: Connection) -> None:
    lanes.waiting_lanes(connection, SHARDS)
    lanes.generations(connection, ["a", "b"])
    letters.dead(connection)
    nudges.left(connection, str(key()), 1)
    nudges.known(connection, "s1")
    nudges.begin(connection, "s1", turns=1)
    mine = lease.acquire(connection, ["a", "b"], "me", force=False)
    lease.release(connection, lease.renew(connection, mine, "me"), "me")


def searching(connection: Connection) -> None:
    asking = Asking("p1", "s1", str(key()))
    store.take_part(connection, "s1", {"fake:ann"})
    index.put(connection, [words.terms(one) for one in words.read(connection, [1, 2], 1000)])
    for scope in (asking, None):
        found = find.search(connection, parse("two after:2026"), scope, limit=3)
        pages.head(connection, scope, "s1")
    assert found.hits
    pages.around(connection, "s1", 1, 5)
    pages.ends(connection, "s1", 3, 3)
    words.remove(connection, "s1", words.indexed_of(connection, ""))


@pytest.mark.parametrize("job", [message_to_answer, attempts, commands, watching, searching])
async def test_no_statement_reads_all_that_was_ever_said(job: Callable[[Connection], None], tmp_path: Path) -> None:
    plans: list[str] = []

    def explain(connection: Connection) -> None:
        ran: list[tuple[str, Any]] = []

        @event.listens_for(connection, "before_cursor_execute")
        def note(_: Connection, cursor: object, statement: str, parameters: Any, *rest: object) -> None:
            ran.append((statement, parameters))

        message_to_answer(connection)
        ran.clear()
        job(connection)
        for statement, parameters in ran:
            one = parameters[0] if isinstance(parameters, list) else parameters
            cursor = connection.connection.cursor()
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}", one)
            plans.extend(f"{row[3]}  <-  {statement}" for row in cursor.fetchall())

    async with open_database("sqlite:///state.db", tmp_path) as database:
        await database.write(explain)
    assert plans
    growing = tuple(f"SCAN {table}" for table in metadata.tables if table not in {"facts", "leases", "workers"})
    assert [plan for plan in plans if plan.startswith(growing) and "INDEX inbox_dead" not in plan] == []
    of_the_open = [
        plan for plan in plans if " inbox " in plan.partition("<-")[0] and "IN ('waiting', 'claimed')" in plan
    ]
    assert of_the_open or job is searching
    assert [plan for plan in of_the_open if "INDEX inbox_open" not in plan and "PRIMARY KEY" not in plan] == []


async def test_a_list_of_a_few_conversations_counts_the_messages_of_no_others(tmp_path: Path) -> None:
    def fill(connection: Connection) -> None:
        for number in range(50):
            connection.execute(insert(sessions).values(id=f"s{number}", lane="lane", person="ann", created=number))
            store.append(connection, f"s{number}", "t", [Message("user", "tulip")] * 50)

    def steps(connection: Connection, limit: int) -> int:
        """Return what SQLite did, in thousands of steps of its machine."""
        ran: list[int] = []
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.set_progress_handler(lambda: ran.append(1), 1000)
        assert len(pages.recent(connection, None, limit)) == limit
        driver.set_progress_handler(None, 0)
        return len(ran)

    async with open_database("sqlite:///state.db", tmp_path) as database:
        await database.write(fill)
        one, all_ = [await database.read(partial(steps, limit=limit)) for limit in (1, 50)]
    assert one < all_ / 5
