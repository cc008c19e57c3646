"""
A lane under every sequence of what can happen to it.

Hypothesis speaks, claims, settles, fails, dies, stops and buries in any order; the rows of a real SQLite say what
became of it. At the end everything that was said is answered, discarded or dead, and nothing was answered twice.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from sqlalchemy import Connection, create_engine, select

from gateway.bus import bindings, lanes, letters
from gateway.bus.lanes import Claimed, Later
from gateway.bus.order import ATTEMPTS, Dead
from gateway.errors import Fenced
from gateway.storage.tables import inbox, metadata
from gateway.types import Role
from tests.contract.lane import event, key, say, time_passes

LANE = key()


class LaneMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.engine = create_engine("sqlite://")
        metadata.create_all(self.engine)
        self.said: list[int] = []
        self.answered: list[int] = []
        self.stopped: set[int] = set()
        self.revived: set[int] = set()
        self.claims: list[Claimed] = []
        self.mine: Claimed | None = None
        """The only claim that may write."""

    def teardown(self) -> None:
        self.everything_comes_to_an_end()
        self.engine.dispose()

    @contextmanager
    def writing(self) -> Any:
        with self.engine.begin() as connection:
            yield connection

    # --- what happens

    @rule(role=st.sampled_from([Role.MEMBER, Role.OWNER]), command=st.booleans(), burst=st.sampled_from(["", "album"]))
    def somebody_speaks(self, role: Role, command: bool, burst: str) -> None:
        with self.writing() as connection:
            put = say(connection, "text", role=role, command=command, burst=burst, limit=6)
        if not put.full:
            assert put.id is not None
            self.said.append(put.id)

    @rule()
    def it_is_brought_once_more(self) -> None:
        with self.writing() as connection:
            first = say(connection, "twice", id="twice", limit=100)
            again = say(connection, "twice", id="twice", limit=100)
        assert again.id is None
        if first.id is not None:
            self.said.append(first.id)

    @rule()
    def a_worker_claims(self) -> None:
        self.claim()

    def claim(self) -> Claimed | Later | Dead | None:
        with self.writing() as connection:
            found = lanes.claim(connection, LANE, "s", "/home")
        if isinstance(found, Claimed):
            assert 1 <= found.attempt <= ATTEMPTS
            assert found.ids
            assert list(found.ids) == sorted(found.ids)
            assert all(found.generation > claim.generation for claim in self.claims)
            assert not set(found.ids) & (set(self.answered) | self.stopped)
            waiting = set(self.said) - set(self.answered) - self.stopped - self.dead()
            assert min(found.ids) == min(waiting)
            self.claims.append(found)
            self.mine = found
        if isinstance(found, Dead):
            with self.writing() as connection:
                buried = letters.bury(connection, found.ids)
            assert {letter.id for letter in buried} == set(found.ids)
            assert all(letter.attempts >= ATTEMPTS for letter in buried)
        return found

    @precondition(lambda self: bool(self.claims))
    @rule(data=st.data(), how=st.sampled_from(["settle", "fail", "give back"]))
    def a_worker_ends(self, data: st.DataObject, how: str) -> None:
        claimed = data.draw(st.sampled_from(self.claims))
        if claimed is not self.mine:
            with pytest.raises(Fenced), self.writing() as connection:
                self.end(connection, claimed, how)
            return
        with self.writing() as connection:
            self.end(connection, claimed, how)
        self.mine = None if how != "settle" else self.mine
        if how == "settle":
            self.answered += claimed.ids
            self.mine = None
        self.claims.remove(claimed)

    def end(self, connection: Connection, claimed: Claimed, how: str) -> None:
        if how == "settle":
            lanes.fence(connection, LANE, claimed.generation)
            lanes.done(connection, claimed.ids)
        elif how == "fail":
            assert lanes.fail(connection, claimed, "chance") is (claimed.attempt < ATTEMPTS)
        else:
            lanes.give_back(connection, claimed)

    @rule()
    def time_goes_by(self) -> None:
        with self.writing() as connection:
            time_passes(connection)

    @rule()
    def somebody_stops_it(self) -> None:
        with self.writing() as connection:
            asking = event("/stop")
            id = lanes.note(connection, LANE, asking.id, asking, Role.MEMBER)
            assert id is not None
            stopped = lanes.stop(connection, LANE, id, "/stop")
        gone = set(self.said) - set(self.answered) - self.stopped - self.dead()
        assert len(stopped.events) + len(stopped.waiting) == len(gone)
        self.stopped |= gone
        self.mine = None

    @precondition(lambda self: bool(self.dead()))
    @rule()
    def the_operator_revives(self) -> None:
        dead = self.dead()
        with self.writing() as connection:
            assert letters.revive(connection, sorted(dead)) == sorted(dead)
        self.revived |= dead

    @rule()
    def somebody_begins_a_new_session(self) -> None:
        with self.writing() as connection:
            bindings.leave_session(connection, LANE)
            connection.exec_driver_sql("DELETE FROM sessions")  # so that one name does for all

    # --- what always holds

    def states(self) -> dict[int, str]:
        with self.engine.connect() as connection:
            query = select(inbox.c.id, inbox.c.state)
            return {row.id: row.state for row in connection.execute(query)}

    def dead(self) -> set[int]:
        return {id for id, state in self.states().items() if state == "dead"}

    @invariant()
    def each_event_is_where_it_should_be(self) -> None:
        states = self.states()
        assert {id for id in self.said if states[id] == "done"} == set(self.answered)
        assert {id for id in self.said if states[id] == "discarded"} == self.stopped
        assert len(self.answered) == len(set(self.answered))

    @invariant()
    def answers_are_in_order_unless_somebody_revived_the_dead(self) -> None:
        in_time = [id for id in self.answered if id not in self.revived]
        assert in_time == sorted(in_time)

    def everything_comes_to_an_end(self) -> None:
        for _ in range(10 * len(self.said) + 10):
            with self.writing() as connection:
                time_passes(connection)
            found = self.claim()
            if found is None:
                break
            if isinstance(found, Claimed):
                with self.writing() as connection:
                    self.end(connection, found, "settle")
                self.answered += found.ids
        assert set(self.said) == set(self.answered) | self.stopped | self.dead()


TestLane = LaneMachine.TestCase
TestLane.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
