"""What is to be done once in so long a time, by whichever process comes first: functions of an open connection."""

from __future__ import annotations

from sqlalchemy import Connection, or_, select, update

from gateway.storage.clock import now
from gateway.storage.tables import facts, turns
from gateway.storage.upsert import upsert


def take(connection: Connection, name: str, every: float, idle: float) -> bool:
    """
    Say that it is time, and begin the time anew; the first time after a full one.

    Not before `idle` seconds have passed in which no turn ran. Of two who ask at once one is told.
    """
    time = connection.execute(select(now())).scalar_one()
    begun = upsert(connection, facts).values(name=name, value=repr(time))
    connection.execute(begun.on_conflict_do_nothing(index_elements=["name"]))
    value = connection.execute(select(facts.c.value).where(facts.c.name == name)).scalar_one()
    if time - _seconds(value, time) < every or _busy(connection, time - idle):
        return False
    mine = update(facts).where(facts.c.name == name, facts.c.value == value).values(value=repr(time))
    return connection.execute(mine).rowcount == 1


def _seconds(value: str, time: float) -> float:
    """Read when it was done last; what cannot be read, or lies in the future, was long ago."""
    try:
        done = float(value)
    except ValueError:
        return 0.0
    return done if done <= time else 0.0


def _busy(connection: Connection, since: float) -> bool:
    newer = or_(turns.c.created > since, turns.c.ended > since)
    return connection.execute(select(turns.c.id).where(newer).limit(1)).first() is not None
