"""Lanes as rows: functions of an open connection that put, claim, settle, stop and list. See DESIGN §5."""

from __future__ import annotations

import json
import uuid
import zlib
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError
from sqlalchemy import ColumnElement, Connection, RowMapping, bindparam, func, insert, literal, select, true, update

from gateway.bus.order import PAUSES, Dead, Run, Wait, Waiting, decide
from gateway.errors import Fenced
from gateway.storage.clock import now
from gateway.storage.tables import INBOX_DEAD, INBOX_OPEN, facts, inbox, lanes, sessions, turns
from gateway.storage.upsert import Upsert, upsert
from gateway.types import Event, Role, SessionKey, clean

SHARDS = 64
"""Stored in the database; a process that counts otherwise refuses to start."""
PARTS = 8
"""How many times the limit of waiting messages the parts of pastes and albums may make."""
PAGE = 256
"""Open rows of a lane that a claim looks at."""
_EVENT = TypeAdapter(Event)
Which = Literal["due", "dead", "all"]
"""Rows of a list: those that wait or were given up, those given up, or all."""


def shard_of(name: str) -> int:
    """Return the shard of a lane's key or of a target's queue."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass")) % SHARDS


def pack(event: Event) -> str:
    try:
        return _EVENT.dump_json(event).decode()
    except PydanticSerializationError:  # a lone surrogate, which may stand in any text a platform gives
        return clean(json.dumps(_EVENT.dump_python(event, mode="json"), ensure_ascii=False))


def unpack(data: str) -> Event:
    return _EVENT.validate_json(data)


@dataclass(frozen=True, slots=True)
class Put:
    """What became of an event: its row id (None: it was there before), and how many wait in front of it."""

    id: int | None
    ahead: int = 0
    full: bool = False


@dataclass(frozen=True, slots=True)
class Claimed:
    """A turn that this process, and no other, may run: whoever claims later has a higher generation."""

    lane: SessionKey
    generation: int
    version: int
    session_id: str
    model: str
    turn: str
    attempt: int
    ids: tuple[int, ...]
    events: tuple[Event, ...]
    role: Role
    command: bool
    fresh: bool
    """The session was made by this claim: it has no history to read."""
    again: bool
    """An earlier attempt may have left a journal."""
    more: bool
    """Other events wait behind this turn."""


@dataclass(frozen=True, slots=True)
class Later:
    """The lane has something, but not before so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that was given up, for a list or for the person who wrote it."""

    id: int
    lane: str
    event: Event
    attempts: int
    reason: str
    created: float


@dataclass(frozen=True, slots=True)
class Arrival:
    """An event in a list, whatever has become of it."""

    id: int
    lane: str
    state: str
    event: Event
    attempts: int
    reason: str
    created: float


@dataclass(frozen=True, slots=True)
class Fate:
    """
    What became of an event.

    `reason` is why it failed so far, or was dropped; `turn` is the turn it was in, if any; `problem`, why that ended
    without an answer.
    """

    state: str
    reason: str
    problem: str
    turn: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """What /stop or /new found: the running turn's id and events, and the ids of those that only waited."""

    session_id: str
    turn: str
    events: tuple[Event, ...]
    waiting: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """How a lane stands: its session and model, the role of the turn that runs or is tried again, events that wait."""

    session_id: str
    model: str
    running: Role | None
    waiting: int


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a person wrote, for a page that shows a conversation."""

    id: int
    text: str
    created: float
    state: str


def check_shards(connection: Connection) -> int:
    """Store the number of shards once; return the number that holds."""
    statement = upsert(connection, facts).values(name="shards", value=str(SHARDS)).on_conflict_do_nothing()
    connection.execute(statement)
    return int(connection.execute(select(facts.c.value).where(facts.c.name == "shards")).scalar_one())


_MAKE_LANE = Upsert(
    lambda insert: insert(lanes).values(key=bindparam("k"), shard=bindparam("s")).on_conflict_do_nothing()
)
_LANE = select(lanes).where(lanes.c.key == bindparam("k")).with_for_update()


def hold(connection: Connection, key: SessionKey) -> RowMapping:
    """Lock the lane's row, made if need be: inserts and /stop of one lane never overtake each other."""
    while (lane := _lane(connection, key)) is None:
        connection.execute(_MAKE_LANE.of(connection), {"k": str(key), "s": shard_of(str(key))})
    return lane


def _lane(connection: Connection, key: SessionKey) -> RowMapping | None:
    return connection.execute(_LANE, {"k": str(key)}).mappings().first()


_AHEAD = select(func.count(), func.count().filter(inbox.c.burst.is_(False))).where(
    inbox.c.lane == bindparam("k"), INBOX_OPEN, inbox.c.turn == ""
)
_INSERT = Upsert(
    lambda insert: (
        insert(inbox)
        .values(
            lane=bindparam("k"),
            event_key=bindparam("what"),
            event=bindparam("packed"),
            role=bindparam("as_role"),
            command=bindparam("is_command"),
            burst=bindparam("in_burst"),
            state=bindparam("as_state"),
            created=now(),
        )
        .on_conflict_do_nothing(index_elements=["event_key"])
        .returning(inbox.c.id)
    )
)


def put(
    connection: Connection, key: SessionKey, event_key: str, event: Event, role: Role, *, command: bool, limit: int
) -> Put:
    """
    Store an event that waits for its turn. Beyond `limit` waiting rows it is stored as discarded.

    The parts of a burst do not count, up to `PARTS` times the limit.
    """
    hold(connection, key)
    rows, ahead = connection.execute(_AHEAD, {"k": str(key)}).one()
    full = ahead >= limit or rows >= PARTS * limit
    state = "discarded" if full else "waiting"
    id = _insert(connection, key, event_key, event, role, state, command=command)
    return Put(id, ahead, full)


def note(connection: Connection, key: SessionKey, event_key: str, event: Event, role: Role) -> int | None:
    """Store an event that is dealt with in this very transaction; None where it was there before."""
    hold(connection, key)
    return _insert(connection, key, event_key, event, role, "done", command=True)


def _insert(
    connection: Connection, key: SessionKey, event_key: str, event: Event, role: Role, state: str, *, command: bool
) -> int | None:
    row = {
        "k": str(key),
        "what": event_key,
        "packed": pack(event),
        "as_role": str(role),
        "is_command": command,
        "in_burst": bool(event.burst),
        "as_state": state,
    }
    return connection.execute(_INSERT.of(connection), row).scalar()


_CLAIM_ROWS = (
    select(
        inbox.c.id,
        inbox.c.event,
        inbox.c.role,
        inbox.c.command,
        inbox.c.burst,
        inbox.c.attempts,
        inbox.c.not_before,
        inbox.c.created,
        inbox.c.turn,
        now().label("now"),
    )
    .where(inbox.c.lane == bindparam("k"), INBOX_OPEN)
    .order_by(inbox.c.id)
    .limit(PAGE)
)
_NEW_SESSION = insert(sessions).values(
    id=bindparam("new"), lane=bindparam("k"), home=bindparam("in_home"), created=now()
)
_TAKE_LANE = (
    update(lanes)
    .where(lanes.c.key == bindparam("k"))
    .values(generation=bindparam("next"), session_id=bindparam("current"))
)
_TAKE_ROWS = (
    update(inbox)
    .where(inbox.c.id.in_(bindparam("ids", expanding=True)))
    .values(state="claimed", attempts=inbox.c.attempts + 1, turn=bindparam("as_turn"))
)


def claim(connection: Connection, key: SessionKey, session_id: str, home: str) -> Claimed | Later | Dead | None:
    """
    Take the next turn of a lane: generation + 1, attempts + 1, rows claimed.

    `session_id` is given to a lane that has none. The caller is the lane's only claimer (it holds the shard), so rows
    that are still claimed were held by somebody who died.
    """
    lane = _lane(connection, key)
    rows = connection.execute(_CLAIM_ROWS, {"k": str(key)}).mappings().all()
    if lane is None or not rows:
        return None
    decision = decide([_waiting(row) for row in rows], rows[0]["now"])
    if isinstance(decision, Wait):
        return Later(max(0.0, decision.until - rows[0]["now"]))
    if not isinstance(decision, Run):
        return decision
    fresh = not lane["session_id"]
    turn = decision.turn or uuid.uuid4().hex
    current = lane["session_id"] or session_id
    if fresh:
        connection.execute(_NEW_SESSION, {"new": session_id, "k": str(key), "in_home": home})
    generation = lane["generation"] + 1
    connection.execute(_TAKE_LANE, {"k": str(key), "next": generation, "current": current})
    connection.execute(_TAKE_ROWS, {"ids": decision.ids, "as_turn": turn})
    chosen = [row for row in rows if row["id"] in decision.ids]
    return Claimed(
        lane=key,
        generation=generation,
        version=lane["version"],
        session_id=current,
        model=lane["model"],
        turn=turn,
        attempt=decision.attempt,
        ids=decision.ids,
        events=tuple(unpack(row["event"]) for row in chosen),
        role=Role(chosen[0]["role"]),
        command=chosen[0]["command"],
        fresh=fresh,
        again=bool(decision.turn),
        more=len(rows) > len(chosen) or len(rows) == PAGE,
    )


def _waiting(row: RowMapping) -> Waiting:
    names = ("id", "role", "command", "burst", "attempts", "not_before", "created", "turn")
    return Waiting(**{name: row[name] for name in names})


_FENCE = (
    update(lanes)
    .where(lanes.c.key == bindparam("k"), lanes.c.generation == bindparam("mine"))
    .values(version=lanes.c.version + 1)
    .returning(lanes.c.version)
)
_DONE = update(inbox).where(inbox.c.id.in_(bindparam("ids", expanding=True))).values(state="done")


def fence(connection: Connection, key: SessionKey, generation: int) -> int:
    """Begin every transaction of a turn: return the new version, or raise `Fenced` after a later claim or /stop."""
    version = connection.execute(_FENCE, {"k": str(key), "mine": generation}).scalar()
    if version is None:
        raise Fenced(f"{key} was claimed or stopped by somebody else")
    return int(version)


def done(connection: Connection, ids: Sequence[int]) -> None:
    """Mark the events of a turn as answered; part of the transaction that stores the answer."""
    connection.execute(_DONE, {"ids": list(ids)})


def give_back(connection: Connection, claimed: Claimed) -> None:
    """Return a turn, and its attempt, that this process will not finish."""
    fence(connection, claimed.lane, claimed.generation)
    rows = update(inbox).where(inbox.c.id.in_(claimed.ids), inbox.c.state == "claimed")
    connection.execute(rows.values(state="waiting", attempts=inbox.c.attempts - 1))


def fail(connection: Connection, claimed: Claimed, reason: str) -> bool:
    """Put a failed turn back with a pause; return False where this was its last attempt."""
    fence(connection, claimed.lane, claimed.generation)
    last = claimed.attempt > len(PAUSES)
    pause = 0.0 if last else PAUSES[claimed.attempt - 1]
    rows = update(inbox).where(inbox.c.id.in_(claimed.ids))
    connection.execute(rows.values(state="waiting", not_before=now() + literal(pause), reason=reason))
    return not last


def bury(connection: Connection, ids: Sequence[int], reason: str = "") -> list[DeadLetter]:
    """Make open rows dead letters and return them; those that were stopped meanwhile are left alone."""
    values = {"state": "dead", **({"reason": reason} if reason else {})}
    buried = update(inbox).where(inbox.c.id.in_(ids), INBOX_OPEN).values(**values).returning(inbox.c.id)
    return _letters(connection, connection.execute(buried).scalars().all())


def dead(connection: Connection, limit: int = 100) -> list[DeadLetter]:
    """List dead letters, newest first."""
    query = select(inbox.c.id).where(INBOX_DEAD).order_by(inbox.c.id.desc()).limit(limit)
    return _letters(connection, connection.execute(query).scalars().all())


def _letters(connection: Connection, ids: Sequence[int]) -> list[DeadLetter]:
    query = select(inbox).where(inbox.c.id.in_(ids)).order_by(inbox.c.id.desc())
    return [
        DeadLetter(row["id"], row["lane"], unpack(row["event"]), row["attempts"], row["reason"], row["created"])
        for row in connection.execute(query).mappings()
    ]


_LISTED = {"due": (INBOX_OPEN, INBOX_DEAD), "dead": (INBOX_DEAD,), "all": (true(),)}


def arrivals(connection: Connection, which: Which, limit: int) -> list[Arrival]:
    """List events, newest first."""
    queries = [select(inbox).where(rows).order_by(inbox.c.id.desc()).limit(limit) for rows in _LISTED[which]]
    found = [row for query in queries for row in connection.execute(query).mappings()]
    newest = sorted(found, key=lambda row: -int(row["id"]))[:limit]
    names = ("id", "lane", "state", "attempts", "reason", "created")
    return [Arrival(event=unpack(row["event"]), **{name: row[name] for name in names}) for row in newest]


def fate(connection: Connection, event_key: str) -> Fate | None:
    """Return what became of an event; None where it was never kept."""
    problem = func.coalesce(turns.c.problem, "")
    query = select(inbox.c.state, inbox.c.reason, problem, inbox.c.turn).join(
        turns, turns.c.id == inbox.c.turn, isouter=True
    )
    row = connection.execute(query.where(inbox.c.event_key == event_key)).first()
    return Fate(*row) if row else None


def revive(connection: Connection, ids: Sequence[int]) -> list[str]:
    """Let dead letters wait again with all their attempts; return the lanes to hint at."""
    rows = update(inbox).where(inbox.c.id.in_(ids), inbox.c.state == "dead")
    found = connection.execute(rows.values(state="waiting", attempts=0, not_before=0.0).returning(inbox.c.lane))
    return sorted(set(found.scalars()))


def discard(connection: Connection, ids: Sequence[int], reason: str) -> int:
    """Give up waiting or dead rows for good; return how many there were."""
    rows = update(inbox).where(inbox.c.id.in_(ids), inbox.c.state.in_(("waiting", "dead")))
    return connection.execute(rows.values(state="discarded", reason=reason)).rowcount


def stop(connection: Connection, key: SessionKey, upto: int, reason: str) -> Stopped:
    """
    Fence the running turn off and discard everything up to an inbox id (the /stop's own).

    Holds for whatever was inserted before, and for nothing that comes after.
    """
    lane = hold(connection, key)
    connection.execute(
        update(lanes)
        .where(lanes.c.key == str(key))
        .values(generation=lanes.c.generation + 1, version=lanes.c.version + 1, discard_upto=upto)
    )
    waits = select(inbox.c.id, inbox.c.state, inbox.c.turn, inbox.c.event).where(
        inbox.c.lane == str(key), INBOX_OPEN, inbox.c.id <= upto
    )
    rows = connection.execute(waits.order_by(inbox.c.id)).mappings().all()
    ids = [row["id"] for row in rows]
    connection.execute(update(inbox).where(inbox.c.id.in_(ids)).values(state="discarded", reason=reason))
    turn = _running(rows)
    return Stopped(
        lane["session_id"],
        turn,
        tuple(unpack(row["event"]) for row in rows if turn and row["turn"] == turn),
        tuple(row["id"] for row in rows if not turn or row["turn"] != turn),
    )


def _running(rows: Sequence[RowMapping]) -> str:
    """Return the turn that runs, else one that waits for its next attempt."""
    begun = [row for row in rows if row["turn"]]
    running = [row for row in begun if row["state"] == "claimed"]
    return next((str(row["turn"]) for row in running or begun), "")


def leave_session(connection: Connection, key: SessionKey) -> str:
    """End the lane's session, if it has one; the next claim begins another. Return the ended one's id."""
    lane = _lane(connection, key)
    if lane is None or not lane["session_id"]:
        return ""
    connection.execute(update(lanes).where(lanes.c.key == str(key)).values(session_id=""))
    connection.execute(update(sessions).where(sessions.c.id == lane["session_id"]).values(ended=now()))
    return str(lane["session_id"])


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


def choose_model(connection: Connection, key: SessionKey, model: str) -> None:
    """Set the model of a lane; empty for the default."""
    hold(connection, key)
    connection.execute(update(lanes).where(lanes.c.key == str(key)).values(model=model))


def waiting_lanes(connection: Connection, shards: Set[int]) -> list[str]:
    """Return every lane of these shards that has open rows, the longest waiting first."""
    query = (
        select(inbox.c.lane, func.min(inbox.c.id).label("first"))
        .join(lanes, lanes.c.key == inbox.c.lane)
        .where(INBOX_OPEN, lanes.c.shard.in_(shards))
        .group_by(inbox.c.lane)
        .order_by("first")
    )
    return list(connection.execute(query).scalars())


def generations(connection: Connection, keys: Sequence[str]) -> dict[str, int]:
    """Return the generation of each lane, to find turns that were stopped from elsewhere."""
    query = select(lanes.c.key, lanes.c.generation).where(lanes.c.key.in_(keys))
    return {row.key: row.generation for row in connection.execute(query)}


def standing(connection: Connection, key: SessionKey) -> Standing:
    """Return how a lane stands."""
    lane = connection.execute(select(lanes).where(lanes.c.key == str(key))).mappings().first()
    query = select(inbox.c.turn, inbox.c.role).where(inbox.c.lane == str(key), INBOX_OPEN)
    rows = connection.execute(query.order_by(inbox.c.id)).all()
    running = [Role(row.role) for row in rows if row.turn]
    session, model = (lane["session_id"], lane["model"]) if lane else ("", "")
    return Standing(session, model, running[0] if running else None, sum(not row.turn for row in rows))


def of_turn(connection: Connection, turn: str) -> tuple[Event, ...]:
    """Return what people said in a turn, as it was claimed; commands are left out."""
    query = select(inbox.c.event).where(*_said_in(turn)).order_by(inbox.c.id)
    return tuple(unpack(event) for event in connection.execute(query).scalars())


def adopt(connection: Connection, turn: str, by: str) -> None:
    """Make the events of a turn those of the one that answers them again."""
    connection.execute(update(inbox).where(*_said_in(turn)).values(turn=by, state="done"))


def _said_in(turn: str) -> tuple[ColumnElement[bool], ...]:
    lane = select(turns.c.lane).where(turns.c.id == turn).scalar_subquery()
    return inbox.c.lane == lane, inbox.c.turn == turn, inbox.c.command.is_(False)


def spoken(connection: Connection, key: SessionKey, limit: int) -> list[Spoken]:
    """Return the newest events of a lane, oldest first."""
    query = select(inbox).where(inbox.c.lane == str(key)).order_by(inbox.c.id.desc()).limit(limit)
    rows = connection.execute(query).mappings().all()
    return [Spoken(row["id"], unpack(row["event"]).text, row["created"], row["state"]) for row in reversed(rows)]
