"""Lanes as rows: functions of an open connection that put, claim, settle, stop and list. See DESIGN §5."""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Sequence, Set
from dataclasses import dataclass

from pydantic import TypeAdapter
from sqlalchemy import ColumnElement, Connection, RowMapping, bindparam, func, insert, literal, or_, select, update

from gateway.bus.order import PAUSES, Dead, Run, Wait, Waiting, decide
from gateway.errors import Fenced
from gateway.storage.clock import now
from gateway.storage.packing import pack
from gateway.storage.tables import INBOX_OPEN, facts, inbox, lanes, sessions, turns
from gateway.storage.upsert import Upsert, upsert
from gateway.types import Event, Role, SessionKey

SHARDS = 64
"""Stored in the database; a process that counts otherwise refuses to start."""
PARTS = 8
"""How many times the limit of waiting messages the parts of pastes and albums may make."""
PAGE = 256
"""Open rows of a lane that a claim looks at."""
_EVENT = TypeAdapter(Event)


def shard_of(name: str) -> int:
    """Return the shard of a lane's key or of a target's queue."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass")) % SHARDS


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
    personality: str = ""
    """The one that was chosen for the lane."""


@dataclass(frozen=True, slots=True)
class Later:
    """The lane has something, but not before so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Stopped:
    """
    What /stop or /new found: the running turn's id and events, and the ids of those that only waited.

    `command` says that the turn is that of a command that had waited.
    """

    session_id: str
    turn: str
    events: tuple[Event, ...]
    waiting: tuple[int, ...]
    command: bool = False


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
        "packed": pack(_EVENT, event),
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
        personality=lane["personality"],
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
    waits = select(inbox.c.id, inbox.c.state, inbox.c.turn, inbox.c.event, inbox.c.command).where(
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
        any(row["command"] for row in rows if turn and row["turn"] == turn),
    )


def overtake(connection: Connection, key: SessionKey) -> None:
    """Take a lane that no process holds, for one transaction: what any had in memory of it is void."""
    hold(connection, key)
    values = {"generation": lanes.c.generation + 1, "version": lanes.c.version + 1}
    connection.execute(update(lanes).where(lanes.c.key == str(key)).values(values))


def _running(rows: Sequence[RowMapping]) -> str:
    """Return the turn that runs, else one that waits for its next attempt."""
    begun = [row for row in rows if row["turn"]]
    running = [row for row in begun if row["state"] == "claimed"]
    return next((str(row["turn"]) for row in running or begun), "")


def waiting_lanes(connection: Connection, shards: Set[int], out: Set[str] = frozenset()) -> list[str]:
    """
    Return every lane of these shards that has open rows, the longest waiting first.

    Of lanes that are `out` the rows of turns do not count: their claimer knows of them.
    """
    query = (
        select(inbox.c.lane, func.min(inbox.c.id).label("first"))
        .join(lanes, lanes.c.key == inbox.c.lane)
        .where(INBOX_OPEN, lanes.c.shard.in_(shards), or_(inbox.c.turn == "", inbox.c.lane.not_in(out)))
        .group_by(inbox.c.lane)
        .order_by("first")
    )
    return list(connection.execute(query).scalars())


def generations(connection: Connection, keys: Sequence[str]) -> dict[str, int]:
    """Return the generation of each lane, to find turns that were stopped from elsewhere."""
    query = select(lanes.c.key, lanes.c.generation).where(lanes.c.key.in_(keys))
    return {row.key: row.generation for row in connection.execute(query)}


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
