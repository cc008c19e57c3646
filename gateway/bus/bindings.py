"""Which session, model and personality a lane has: functions of an open connection."""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from gateway.bus.lanes import hold
from gateway.storage.clock import now
from gateway.storage.tables import lanes, sessions
from gateway.types import SessionKey


def leave_session(connection: Connection, key: SessionKey) -> str:
    """End the lane's session, if it has one; the next claim begins another. Return the ended one's id."""
    lane = select(lanes.c.session_id).where(lanes.c.key == str(key)).with_for_update()
    session_id = connection.execute(lane).scalar()
    if not session_id:
        return ""
    connection.execute(update(lanes).where(lanes.c.key == str(key)).values(session_id=""))
    connection.execute(update(sessions).where(sessions.c.id == session_id).values(ended=now()))
    return str(session_id)


def holder(connection: Connection, session_id: str) -> str:
    """Return the lane that a session is bound to now; nothing where it is bound to none."""
    query = select(lanes.c.key).join(sessions, sessions.c.lane == lanes.c.key)
    query = query.where(sessions.c.id == session_id, lanes.c.session_id == session_id)
    return connection.execute(query).scalar() or ""


def take_session(connection: Connection, key: SessionKey, session_id: str) -> bool:
    """
    Bind a session to a lane that has none; False where another lane holds it or there is no such session.

    Whoever still has it in memory holds a version of its former lane, which is made to be another.
    """
    query = select(sessions.c.lane).where(sessions.c.id == session_id).with_for_update()
    former = connection.execute(query).scalar()
    if former is None or holder(connection, session_id):
        return False
    old = connection.execute(select(lanes.c.version).where(lanes.c.key == former)).scalar() or 0
    version = max(old, int(hold(connection, key)["version"])) + 1
    mine = update(lanes).where(lanes.c.key == str(key))
    connection.execute(mine.values(session_id=session_id, version=version))
    connection.execute(update(sessions).where(sessions.c.id == session_id).values(lane=str(key), ended=0.0))
    return True


def rebind(connection: Connection, key: SessionKey, session_id: str) -> None:
    """Give a lane, which the caller holds, the session that goes on from its own."""
    connection.execute(update(lanes).where(lanes.c.key == str(key)).values(session_id=session_id))


def choose_model(connection: Connection, key: SessionKey, model: str) -> None:
    """Set the model of a lane; empty for the default."""
    hold(connection, key)
    connection.execute(update(lanes).where(lanes.c.key == str(key)).values(model=model))


def choose_personality(connection: Connection, key: SessionKey, name: str) -> None:
    """Set the personality of a lane; empty for none."""
    hold(connection, key)
    connection.execute(update(lanes).where(lanes.c.key == str(key)).values(personality=name))
