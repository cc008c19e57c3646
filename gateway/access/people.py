"""People and their accounts as rows: functions of an open connection."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, select, update

from gateway.storage.clock import now
from gateway.storage.tables import browsers, identities, people
from gateway.storage.upsert import upsert
from gateway.types import Role


@dataclass(frozen=True, slots=True)
class Visitor:
    """A browser that has our cookie: an account ``webchat:<id>``."""

    id: str
    owner: bool


_ROLE = (
    select(people.c.role)
    .join(identities, identities.c.person == people.c.id)
    .where(identities.c.account == bindparam("a"))
)


def role_of(connection: Connection, account: str) -> Role | None:
    """Return the role of the person an account (``platform:user``) belongs to, if we know one."""
    found = connection.execute(_ROLE, {"a": account}).scalar()
    return Role(found) if found else None


def owners(connection: Connection) -> frozenset[str]:
    """Return the accounts of every owner."""
    query = select(identities.c.account).join(people, people.c.id == identities.c.person)
    return frozenset(connection.execute(query.where(people.c.role == str(Role.OWNER))).scalars())


def visitor(connection: Connection, token_hash: str) -> Visitor | None:
    """Return the browser with this cookie, by the cookie's hash."""
    id = connection.execute(select(browsers.c.visitor).where(browsers.c.token_hash == token_hash)).scalar()
    return Visitor(id, role_of(connection, f"webchat:{id}") is Role.OWNER) if id else None


def welcome(connection: Connection, token_hash: str) -> Visitor:
    """Make a browser known under a new random id."""
    id = secrets.token_hex(12)
    row = upsert(connection, browsers).values(token_hash=token_hash, visitor=id, created=now(), seen=now())
    connection.execute(row.on_conflict_do_nothing(index_elements=["token_hash"]))
    return visitor(connection, token_hash) or Visitor(id, owner=False)


def make_owner(connection: Connection, visitor_id: str) -> None:
    """Make the person behind a browser an owner; the first one is the home's."""
    account = f"webchat:{visitor_id}"
    known = connection.execute(select(identities.c.person).where(identities.c.account == account)).scalar()
    if known:
        connection.execute(update(people).where(people.c.id == known).values(role=str(Role.OWNER)))
        return
    first = connection.execute(select(people.c.id).where(people.c.role == str(Role.OWNER)).limit(1)).scalar()
    person = first or secrets.token_hex(8)
    row = upsert(connection, people).values(id=person, role=str(Role.OWNER), created=now())
    connection.execute(row.on_conflict_do_nothing(index_elements=["id"]))
    connection.execute(upsert(connection, identities).values(account=account, person=person, created=now()))
