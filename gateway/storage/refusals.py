"""Accounts whose token their platform refuses, as rows: the gateway that listens writes them, commands read them."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select

from gateway.storage.tables import facts
from gateway.storage.upsert import upsert

PREFIX = "refused:"


def note(connection: Connection, account: str, why: str) -> None:
    """Say that an account's token is refused; `why` is the platform's sentence."""
    row = upsert(connection, facts).values(name=PREFIX + account, value=why)
    connection.execute(row.on_conflict_do_update(index_elements=["name"], set_={"value": why}))


def forget(connection: Connection, account: str) -> None:
    """Say that an account's token was taken."""
    connection.execute(delete(facts).where(facts.c.name == PREFIX + account))


def refusals(connection: Connection) -> dict[str, str]:
    """Return why tokens are refused, by account."""
    query = select(facts).where(facts.c.name.startswith(PREFIX, autoescape=True)).order_by(facts.c.name)
    return {row.name.removeprefix(PREFIX): row.value for row in connection.execute(query)}
