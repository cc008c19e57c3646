"""Where summaries stand among what people have seen: rows of compressions as a page shows them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from sqlalchemy import Connection, select

from gateway.agent import journal
from gateway.agent.context.frame import framed
from gateway.agent.journal import Ending
from gateway.contracts.context import Record, View
from gateway.messages import Message, ToolCall
from gateway.sessions import compressions, store
from gateway.sessions.compressions import Divider
from gateway.storage.database import Database
from gateway.storage.tables import messages, sessions

HERE, ELSEWHERE = "agent:main:webchat:dm:ann", "agent:main:webchat:dm:bob"
RECORD = Record(occasion="before turn", outcome="kept", engine="compressor", model="model")


@dataclass
class Talk:
    """A session of a lane, whose turns are an exchange each."""

    database: Database
    session: str = "s1"
    lane: str = HERE

    async def begin(self, turns: int) -> None:
        def job(connection: Connection) -> None:
            connection.execute(sessions.insert().values(id=self.session, lane=self.lane, created=1.0))
            for number in range(turns):
                self._turn(connection, f"{self.session}-t{number}", number)

        await self.database.write(job)

    def _turn(self, connection: Connection, name: str, number: int) -> None:
        journal.begin(connection, name, self.lane, self.session, "model")
        call, result = ToolCall(f"c{number}", "look"), Message("tool", "seen", call_id=f"c{number}", name="look")
        said = [Message("user", f"question {number}"), Message("assistant", "", (call,)), result]
        store.append(connection, self.session, name, [*said, Message("assistant", f"answer {number}")])
        journal.finish(connection, name, self.lane, self.session, Ending("done"))

    async def compress(self, upto: int, turn: str, *, strays: int = 0, outcome: str = "summary") -> int:
        """Hide the first so many rows, and results among the last `strays`; return the compression's id."""

        def job(connection: Connection) -> int:
            ids = list(connection.execute(select(messages.c.id).where(messages.c.session_id == self.session)).scalars())
            late = select(messages.c.id).where(messages.c.id.in_(ids[-strays:] if strays else []))
            lost = connection.execute(late.where(messages.c.role == "tool")).scalars()
            view = View(frozenset([*ids[:upto], *lost]), summary=framed("## Goal\nTo find it."), after=0)
            record = replace(RECORD, outcome=outcome, tokens=(84_000, 31_000))
            compressions.keep(connection, self.session, turn, record, view)
            return compressions.listed(connection, self.session)[0].id

        return await self.database.write(job)

    async def dividers(self) -> list[Divider]:
        return await self.database.read(lambda connection: compressions.dividers(connection, self.lane, 10))

    async def created(self, text: str) -> float:
        query = select(messages.c.created).where(messages.c.session_id == self.session, messages.c.text == text)
        return float(await self.database.read(lambda connection: connection.execute(query).scalar_one()))


@pytest.fixture
def talk(database: Database) -> Talk:
    return Talk(database)


async def test_a_summary_stands_behind_the_last_message_that_it_stands_for(talk: Talk) -> None:
    await talk.begin(4)
    id = await talk.compress(8, "s1-t3", strays=8)
    at = await talk.created("answer 1")
    assert await talk.dividers() == [Divider(id, at, "s1-t1", "summary", (84_000, 31_000))]


async def test_in_the_middle_of_a_turn_it_follows_no_turn(talk: Talk) -> None:
    await talk.begin(2)
    await talk.compress(6, "s1-t1", outcome="fallback")
    (divider,) = await talk.dividers()
    assert (divider.follows, divider.outcome) == ("", "fallback")


async def test_what_was_undone_or_changed_nothing_is_not_shown(talk: Talk) -> None:
    await talk.begin(3)
    first = await talk.compress(4, "s1-t1")
    await talk.compress(8, "s1-t2")

    def job(connection: Connection) -> None:
        newest = compressions.newest(connection, "s1")
        assert newest is not None
        compressions.undo(connection, newest)
        compressions.keep(connection, "s1", "s1-t2", RECORD, None)

    await talk.database.write(job)
    assert [divider.id for divider in await talk.dividers()] == [first]


async def test_a_summary_is_read_only_from_its_own_conversation(talk: Talk) -> None:
    other = Talk(talk.database, "s2", ELSEWHERE)
    await talk.begin(2)
    await other.begin(2)
    id = await talk.compress(4, "s1-t1")

    def read(connection: Connection) -> tuple[str, str, str]:
        of = compressions.summary_of
        return of(connection, HERE, id), of(connection, ELSEWHERE, id), of(connection, HERE, id + 1)

    mine, others, nobodys = await talk.database.read(read)
    assert "To find it." in mine
    assert (others, nobodys) == ("", "")
    assert await other.dividers() == []
