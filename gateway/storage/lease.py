"""
Leases as rows: who alone may do a thing, by the database's clock.

A lease is held for a while. Its holder renews it more often, and stops relying on it a margin before the end, counted
on its own clock from the sending of the last renewal that succeeded, so that a process that slept, or whose clock was
set, never believes longer than the database does.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, Row, delete, literal, or_, select, tuple_, update

from gateway.storage.clock import now
from gateway.storage.tables import leases, workers
from gateway.storage.upsert import upsert


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Seconds: how long a lease is held, how often it is renewed, how long before its end its holder stops."""

    held: float = 10.0
    renew: float = 3.0
    margin: float = 2.0


USUAL = LeaseTimes()


def boot_time() -> float:
    """Seconds on a clock that goes on while the machine sleeps, where there is one."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


@dataclass(frozen=True, slots=True)
class Lease:
    """A name that is ours: `epoch` rises with every owner, `until` is on our own clock (`boot_time`)."""

    name: str
    epoch: int
    until: float

    @property
    def held(self) -> bool:
        return boot_time() < self.until


def acquire(
    connection: Connection,
    names: Iterable[str],
    owner: str,
    *,
    force: bool,
    limit: int | None = None,
    times: LeaseTimes = USUAL,
) -> list[Lease]:
    """
    Take those of the names that are free, run out, or ours without our knowing; at most `limit`. Return them.

    `force` takes them whoever holds them: only for a process that knows it is alone (the home's lock is its).
    """
    sent, wanted = boot_time(), sorted(names)
    if not wanted:
        return []
    _make(connection, wanted)
    free = [] if force else [or_(leases.c.until < now(), leases.c.owner.in_(("", owner)))]
    locked = select(leases.c.name).where(leases.c.name.in_(wanted), *free).order_by(leases.c.name).limit(limit)
    mine = connection.execute(locked.with_for_update(skip_locked=True)).scalars().all()
    if not mine:
        return []
    taken = (
        update(leases)
        .where(leases.c.name.in_(mine))
        .values(owner=owner, epoch=leases.c.epoch + 1, until=now() + literal(times.held))
    )
    return _ours(connection.execute(taken.returning(leases.c.name, leases.c.epoch)), sent, times)


def _make(connection: Connection, names: Sequence[str]) -> None:
    """Make the rows that there are not yet."""
    there = set(connection.execute(select(leases.c.name).where(leases.c.name.in_(names))).scalars())
    rows = [{"name": name, "owner": "", "epoch": 0, "until": 0.0} for name in names if name not in there]
    if rows:
        connection.execute(upsert(connection, leases).on_conflict_do_nothing(), rows)


def _ours(rows: Iterable[Row[tuple[str, int]]], sent: float, times: LeaseTimes) -> list[Lease]:
    return [Lease(row.name, row.epoch, sent + times.held - times.margin) for row in rows]


def renew(connection: Connection, held: Sequence[Lease], owner: str, times: LeaseTimes = USUAL) -> list[Lease]:
    """Renew in one statement what is still ours; what is missing from the answer is lost."""
    sent = boot_time()
    if not held:
        return []
    ours = tuple_(leases.c.name, leases.c.epoch).in_([(lease.name, lease.epoch) for lease in held])
    # A lease that ran out is not renewed: somebody may be taking it in this very moment.
    statement = update(leases).where(ours, leases.c.owner == owner, leases.c.until > now())
    renewed = statement.values(until=now() + literal(times.held)).returning(leases.c.name, leases.c.epoch)
    return _ours(connection.execute(renewed), sent, times)


def release(connection: Connection, held: Sequence[Lease], owner: str) -> None:
    """Give leases back before their time."""
    if held:
        ours = tuple_(leases.c.name, leases.c.epoch).in_([(lease.name, lease.epoch) for lease in held])
        connection.execute(update(leases).where(ours, leases.c.owner == owner).values(owner="", until=0.0))


@dataclass(frozen=True, slots=True)
class Worker:
    """A process that is alive, for the count of shares and for `status`. `since`: when it first said so, once read."""

    id: str
    host: str
    pid: int
    role: str
    since: float = field(default=0.0, compare=False)


def alive(connection: Connection, me: Worker, times: LeaseTimes = USUAL) -> list[Worker]:
    """Say that this process is alive, forget those that are not, and return all that are."""
    values = {"host": me.host, "pid": me.pid, "role": me.role, "until": now() + literal(times.held)}
    row = upsert(connection, workers).values(id=me.id, created=now(), **values)
    connection.execute(row.on_conflict_do_update(index_elements=["id"], set_=values))
    connection.execute(delete(workers).where(workers.c.until < now()))
    return living(connection)


def living(connection: Connection) -> list[Worker]:
    """Return the processes whose word is not older than a lease."""
    columns = (workers.c.id, workers.c.host, workers.c.pid, workers.c.role, workers.c.created)
    query = select(*columns).where(workers.c.until >= now())
    return [Worker(*row) for row in connection.execute(query.order_by(workers.c.id))]


def leave(connection: Connection, me: str) -> None:
    """Say that this process is gone."""
    connection.execute(delete(workers).where(workers.c.id == me))
