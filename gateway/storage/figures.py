"""How much there is of everything, for whoever looks after the gateway: counts, and who holds which lease."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from gateway.storage.clock import now
from gateway.storage.tables import INBOX_DEAD, INBOX_OPEN, OUTBOX_OPEN, OUTBOX_REFUSED, inbox, leases, outbox, sessions


@dataclass(frozen=True, slots=True)
class Figures:
    """
    Counts of this moment.

    `waiting` are messages that wait for their turn, `running` those in one; `undelivered` parts are on their way to a
    platform, `refused` ones were given up, as were messages that are `dead`.
    """

    sessions: int
    waiting: int
    running: int
    dead: int
    undelivered: int
    refused: int


def figures(connection: Connection) -> Figures:
    """Count everything."""
    open_rows = select(inbox.c.state, func.count()).where(INBOX_OPEN).group_by(inbox.c.state)
    states = {state: int(count) for state, count in connection.execute(open_rows)}
    counts = {
        "sessions": select(func.count()).select_from(sessions),
        "dead": select(func.count()).select_from(inbox).where(INBOX_DEAD),
        "undelivered": select(func.count()).select_from(outbox).where(OUTBOX_OPEN),
        "refused": select(func.count()).select_from(outbox).where(OUTBOX_REFUSED),
    }
    counted = {name: int(connection.execute(query).scalar_one()) for name, query in counts.items()}
    return Figures(waiting=states.get("waiting", 0), running=states.get("claimed", 0), **counted)


def holdings(connection: Connection) -> dict[str, str]:
    """Return who holds what in this moment: the name of each lease, and its owner's id."""
    held = select(leases.c.name, leases.c.owner).where(leases.c.owner != "", leases.c.until >= now())
    return {row.name: row.owner for row in connection.execute(held.order_by(leases.c.name))}
