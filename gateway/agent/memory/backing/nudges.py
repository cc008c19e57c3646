"""When a conversation is due to be reviewed: counters by session, functions of an open connection.

`turns` counts what people said since the last review or save, `unsaved` the same for a conversation that is left, and
`steps` the answers with tool calls since a skill was changed or looked for. A review begins by a compare-and-set on the
row, before it does anything: after a crash, or among several processes, what was counted is reviewed once at most.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, select, update

from gateway.storage.tables import nudges, sessions
from gateway.storage.upsert import Upsert


@dataclass(frozen=True, slots=True)
class Counters:
    """How a session stands."""

    turns: int
    steps: int
    unsaved: int


_COUNT = Upsert(
    lambda insert: (
        insert(nudges)
        .values(session_id=bindparam("session"), turns=bindparam("a"), steps=bindparam("b"), unsaved=bindparam("a"))
        .on_conflict_do_update(
            index_elements=["session_id"],
            set_={
                "turns": nudges.c.turns * bindparam("keep") + bindparam("a"),
                "steps": nudges.c.steps * bindparam("on") + bindparam("b"),
                "unsaved": nudges.c.unsaved * bindparam("keep") + bindparam("a"),
            },
        )
        .returning(nudges.c.turns, nudges.c.steps, nudges.c.unsaved)
    )
)


def count(
    connection: Connection, session_id: str, *, turns: int, steps: int, saved: bool, managed: bool = False
) -> Counters:
    """
    Count what a turn adds. One statement.

    One that `saved` notes begins the counts of turns anew, one that `managed` skills that of steps.
    """
    values = {
        "session": session_id,
        "a": 0 if saved else turns,
        "b": 0 if managed else steps,
        "keep": int(not saved),
        "on": int(not managed),
    }
    return Counters(*connection.execute(_COUNT.of(connection), values).one())


def begin(connection: Connection, session_id: str, *, turns: int = 0, unsaved: int = 0, steps: int = 0) -> bool:
    """
    Take what was counted, if it is at least so much; False where another did, or nothing is left to review.

    Where only `steps` are named, those of turns stay counted; where they are not, `steps` do.
    """
    due = update(nudges).where(
        nudges.c.session_id == session_id,
        nudges.c.turns >= turns,
        nudges.c.unsaved >= unsaved,
        nudges.c.steps >= steps,
    )
    taken = {"steps": 0} if steps else {}
    taken |= {"turns": 0, "unsaved": 0} if turns or unsaved or not steps else {}
    return connection.execute(due.values(**taken)).rowcount == 1


def left(connection: Connection, lane: str, unsaved: int) -> str:
    """Return the session that a lane left last, if at least so many turns of it are not saved."""
    newest = select(sessions.c.id).where(sessions.c.lane == lane, sessions.c.ended > 0)
    newest = newest.order_by(sessions.c.ended.desc()).limit(1)
    query = select(nudges.c.session_id).where(
        nudges.c.session_id == newest.scalar_subquery(), nudges.c.unsaved >= unsaved
    )
    return connection.execute(query).scalar() or ""


def known(connection: Connection, session_id: str) -> bool:
    """Say whether a session is counted; one that was erased is not."""
    return connection.execute(select(nudges.c.turns).where(nudges.c.session_id == session_id)).first() is not None
