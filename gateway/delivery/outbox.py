"""
What is to be said, as rows: functions of an open connection. See DESIGN §5.

A row's queue is its target's account and chat; a queue is sent first in, first out, by the owner of its shard. A row is
``sending`` from before the request until its receipt, so that whoever finds one knows that it may have been accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import dataclass, replace

from pydantic import TypeAdapter
from sqlalchemy import Connection, RowMapping, bindparam, delete, func, insert, literal, select, true, update

from gateway.bus.lanes import shard_of
from gateway.bus.letters import Which
from gateway.storage.clock import now
from gateway.storage.packing import pack
from gateway.storage.tables import OUTBOX_OPEN, OUTBOX_REFUSED, live, outbox, turns
from gateway.storage.upsert import upsert
from gateway.types import Address, Part

Verdict = Callable[[Connection], object]
"""What is to be written about a row once it was tried."""
_PART = TypeAdapter(Part)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A part on its way: where to, and which message of ours it replaces, if any."""

    address: Address
    part: Part
    edits: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """A row that is being sent. `doubtful`: an earlier request for it may have been accepted."""

    id: int
    address: Address
    part: Part
    edits: str
    attempts: int
    doubts: int
    plain: bool
    doubtful: bool
    age: float


@dataclass(frozen=True, slots=True)
class Closed:
    """The head of the queue may not be sent before so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Delivery:
    """A row of the outbox in a list."""

    id: int
    address: str
    state: str
    attempts: int
    reason: str
    text: str
    created: float


@dataclass(frozen=True, slots=True)
class Shown:
    """What stands, or will stand, in a chat; `turn` is the one that it was said in, if any."""

    id: int
    markdown: str
    created: float
    state: str
    turn: str = ""


_ADD = insert(outbox).values(created=now())


def add(connection: Connection, items: Sequence[Outgoing], turn: str = "") -> list[str]:
    """Store parts in order; return the queues to wake."""
    if items:
        connection.execute(_ADD, [_row(item, turn) for item in items])
    return sorted({item.address.queue for item in items})


def _row(item: Outgoing, turn: str) -> dict[str, object]:
    return {
        "queue": item.address.queue,
        "shard": shard_of(item.address.queue),
        "address": str(item.address),
        "turn": turn,
        "part": pack(_PART, item.part),
        "edits": item.edits,
    }


_HEAD = (
    select(outbox, now().label("now"))
    .where(OUTBOX_OPEN, outbox.c.shard == bindparam("s"), outbox.c.queue == bindparam("q"))
    .order_by(outbox.c.id)
    .limit(1)
)
_SENDING = update(outbox).where(outbox.c.id == bindparam("row")).values(state="sending", attempts=outbox.c.attempts + 1)
_SENT = (
    update(outbox)
    .where(outbox.c.id == bindparam("row"))
    .values(state="sent", receipt=bindparam("proof"), sent=now(), reason="")
)


def take(connection: Connection, queue: str) -> Taken | Closed | None:
    """Mark the head of a queue as being sent and return it."""
    row = connection.execute(_HEAD, {"s": shard_of(queue), "q": queue}).mappings().first()
    if row is None:
        return None
    if row["not_before"] > row["now"]:
        return Closed(row["not_before"] - row["now"])
    connection.execute(_SENDING, {"row": row["id"]})
    return _taken(row)


def _taken(row: RowMapping) -> Taken:
    return Taken(
        id=row["id"],
        address=Address.parse(row["address"]),
        part=replace(_PART.validate_json(row["part"]), key=f"hg-{row['id']}"),
        edits=row["edits"],
        attempts=row["attempts"] + 1,
        doubts=row["doubts"],
        plain=row["plain"],
        doubtful=row["state"] == "sending",
        age=row["now"] - row["created"],
    )


def _set(connection: Connection, id: int, **values: object) -> None:
    connection.execute(update(outbox).where(outbox.c.id == id).values(**values))


def sent(connection: Connection, id: int, receipt: str) -> None:
    """Store the platform's receipt."""
    connection.execute(_SENT, {"row": id, "proof": receipt})


def postpone(connection: Connection, id: int, seconds: float, reason: str) -> None:
    """Nothing was accepted: try again later; the queue waits with it."""
    _set(connection, id, state="waiting", not_before=now() + literal(seconds), reason=reason)


def doubt(connection: Connection, taken: Taken, part: Part, seconds: float) -> None:
    """It may have been accepted, and is sent once more as `part` says, after a pause."""
    _set(
        connection,
        taken.id,
        doubts=taken.doubts + 1,
        part=pack(_PART, part),
        state="waiting",
        not_before=now() + literal(seconds),
    )


def plainer(connection: Connection, id: int, part: Part) -> None:
    """The platform refused the form: try once without markup."""
    _set(connection, id, state="waiting", plain=True, part=pack(_PART, part), not_before=0)


def anew(connection: Connection, id: int) -> None:
    """The message it was to replace is gone, or cannot be edited: send it as a new one."""
    _set(connection, id, state="waiting", edits="", not_before=0)


def move(connection: Connection, id: int, to: Address) -> str:
    """The chat has another address now; return the queue to wake."""
    queue = to.queue
    _set(connection, id, state="waiting", address=str(to), queue=queue, shard=shard_of(queue))
    return queue


def refuse(connection: Connection, id: int, reason: str) -> None:
    """It will never be delivered; it stays in the list of refused ones."""
    _set(connection, id, state="refused", reason=reason)


def open_queues(connection: Connection, shards: Set[int]) -> list[str]:
    """Return every queue of these shards that has something to send."""
    query = select(outbox.c.queue).where(OUTBOX_OPEN, outbox.c.shard.in_(shards))
    return list(connection.execute(query.distinct()).scalars())


def busy(connection: Connection, queues: Collection[str], *, due: bool = False) -> bool:
    """Say whether something waits in one of these queues, or is going; with `due`, something that may go now."""
    shards = {shard_of(queue) for queue in queues}
    query = select(outbox.c.id).where(OUTBOX_OPEN, outbox.c.shard.in_(shards), outbox.c.queue.in_(queues))
    if due:
        query = query.where(outbox.c.not_before <= now())
    return connection.execute(query.limit(1)).first() is not None


def waiting(connection: Connection) -> int:
    """Count what is not delivered yet."""
    return connection.execute(select(func.count()).where(OUTBOX_OPEN)).scalar_one()


_LISTED = {"due": (OUTBOX_OPEN, OUTBOX_REFUSED), "dead": (OUTBOX_REFUSED,), "all": (true(),)}


def listed(connection: Connection, which: Which, limit: int) -> list[Delivery]:
    """List parts, newest first; dead are those that a platform refused."""
    queries = [select(outbox).where(rows).order_by(outbox.c.id.desc()).limit(limit) for rows in _LISTED[which]]
    found = [row for query in queries for row in connection.execute(query).mappings()]
    return [_delivery(row) for row in sorted(found, key=lambda row: -int(row["id"]))[:limit]]


def refused(connection: Connection, limit: int) -> list[Delivery]:
    """List refused parts, newest first."""
    return listed(connection, "dead", limit)


def _delivery(row: RowMapping) -> Delivery:
    names = ("id", "address", "state", "attempts", "reason", "created")
    return Delivery(text=_PART.validate_json(row["part"]).markdown, **{name: row[name] for name in names})


def retry(connection: Connection, ids: Sequence[int]) -> list[int]:
    """Send refused parts again, as new tries; return the ids of those that were refused."""
    rows = update(outbox).where(outbox.c.id.in_(ids), outbox.c.state == "refused")
    values = {"state": "waiting", "attempts": 0, "doubts": 0, "not_before": 0.0, "created": now()}
    return list(connection.execute(rows.values(values).returning(outbox.c.id)).scalars())


def discard(connection: Connection, ids: Sequence[int]) -> list[int]:
    """Give up refused parts for good; return the ids of those that were."""
    rows = update(outbox).where(outbox.c.id.in_(ids), outbox.c.state == "refused")
    return list(connection.execute(rows.values(state="discarded").returning(outbox.c.id)).scalars())


def shown(connection: Connection, address: str, limit: int) -> list[Shown]:
    """Return the newest parts of a chat that stand there or will, oldest first."""
    query = select(outbox).where(outbox.c.address == address, outbox.c.state.in_(("waiting", "sending", "sent")))
    rows = connection.execute(query.order_by(outbox.c.id.desc()).limit(limit)).mappings().all()
    parts = [(row, _PART.validate_json(row["part"])) for row in reversed(rows)]
    return [Shown(row["id"], part.markdown, row["created"], row["state"], row["turn"]) for row, part in parts]


def begin_live(connection: Connection, turn: str, address: Address) -> str | None:
    """
    Make the row of a live message; return the message id that an earlier attempt left ("" for none).

    None where the queue holds something that must come first.
    """
    if busy(connection, [address.queue]):
        return None
    row = upsert(connection, live).values(turn=turn, address=str(address), created=now())
    connection.execute(row.on_conflict_do_nothing())
    mine = select(live.c.message_id).where(live.c.turn == turn, live.c.address == str(address))
    return str(connection.execute(mine).scalar_one())


def keep_live(connection: Connection, turn: str, address: Address, message_id: str, text: str) -> bool:
    """Store what a live message shows, and its id, before it is edited again; False where the turn was stopped."""
    row = update(live).where(live.c.turn == turn, live.c.address == str(address))
    if connection.execute(row.values(message_id=message_id, shown=text)).rowcount:
        return True
    # Where the row is gone because another process has ended the turn, the message shows the answer.
    return connection.execute(select(turns.c.state).where(turns.c.id == turn)).scalar() != "stopped"


_END_LIVE = delete(live).where(live.c.turn == bindparam("t"))


def end_live(connection: Connection, turn: str) -> None:
    """Forget the live messages of a turn: the outbox has taken them over."""
    connection.execute(_END_LIVE, {"t": turn})


def lives(connection: Connection, turn: str) -> list[tuple[Address, str, str]]:
    """Return address, message id and shown text of a turn's live messages."""
    query = select(live.c.address, live.c.message_id, live.c.shown).where(live.c.turn == turn)
    return [(Address.parse(row.address), row.message_id, row.shown) for row in connection.execute(query)]


def live_at(connection: Connection, address: str) -> str | None:
    """Return what a live message at an address shows now."""
    query = select(live.c.shown).where(live.c.address == address, live.c.shown != "")
    return connection.execute(query.order_by(live.c.created.desc()).limit(1)).scalar()
