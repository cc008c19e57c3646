"""People and their accounts as rows: functions of an open connection."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, func, select, update

from gateway.bus import reports
from gateway.storage.clock import now
from gateway.storage.tables import browsers, facts, identities, lanes, pending, people, sessions
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


HOME = "home_person"
"""The fact that names the home's person: whose notes are the home's own two files."""


def home_person(connection: Connection) -> str:
    """Return the id of the person who was made owner first; made now where there is none."""
    query = select(facts.c.value).where(facts.c.name == HOME)
    if known := connection.execute(query).scalar():
        return str(known)
    owner = select(people.c.id).where(people.c.role == str(Role.OWNER)).order_by(people.c.created, people.c.id)
    first = connection.execute(owner.limit(1)).scalar() or secrets.token_hex(8)
    row = upsert(connection, facts).values(name=HOME, value=first)
    connection.execute(row.on_conflict_do_nothing(index_elements=["name"]))
    person = str(connection.execute(query).scalar_one())
    row = upsert(connection, people).values(id=person, role=str(Role.OWNER), created=now())
    connection.execute(row.on_conflict_do_nothing(index_elements=["id"]))
    return person


def is_home(connection: Connection, person: str) -> bool:
    """Say whether this is the home's person; makes none."""
    query = select(facts.c.value).where(facts.c.name == HOME)
    return bool(person) and connection.execute(query).scalar() == person


def make_owner(connection: Connection, visitor_id: str) -> str:
    """
    Make a browser that of the home's person, with what was said in it.

    Return the person who it was until then and who has no other account, "" for nobody: its notes are still its own.
    """
    account = f"webchat:{visitor_id}"
    before, home = known(connection, account), home_person(connection)
    _link(connection, account, home)
    if before in {"", home} or accounts(connection, before):
        return ""
    # A turn that runs is the former person's until its end, so it begins anew.
    begun = update(lanes).where(lanes.c.key.in_(reports.talking(connection, {account})))
    connection.execute(begun.values(generation=lanes.c.generation + 1))
    connection.execute(update(sessions).where(sessions.c.person == before).values(person=home))
    connection.execute(update(pending).where(pending.c.person == before).values(person=home))
    return before


def known(connection: Connection, account: str) -> str:
    """Return the person an account (``platform:user``) belongs to, "" where it never spoke."""
    query = select(identities.c.person).where(identities.c.account == account)
    return str(connection.execute(query).scalar() or "")


def meet(connection: Connection, account: str, *, home: bool) -> str:
    """
    Return the person an account belongs to; one that is new gets a person of its own, or is the home's.

    A new person has no role of its own: what it may do, the rules say.
    """
    if person := known(connection, account):
        return person
    if home:
        person = home_person(connection)
    else:
        person = secrets.token_hex(8)
        connection.execute(upsert(connection, people).values(id=person, role="", created=now()))
    _link(connection, account, person, anew=False)
    if (met := known(connection, account)) != person and not home:  # somebody else has met it just now
        connection.execute(delete(people).where(people.c.id == person))
    return met


def accounts(connection: Connection, person: str) -> list[str]:
    """Return the accounts of a person."""
    query = select(identities.c.account).where(identities.c.person == person).order_by(identities.c.account)
    return list(connection.execute(query).scalars())


def everybody(connection: Connection) -> list[str]:
    """Return the ids of all people but the home's own, in the order they came."""
    home = select(facts.c.value).where(facts.c.name == HOME).scalar_subquery()
    query = select(people.c.id).where(people.c.id != func.coalesce(home, "")).order_by(people.c.created, people.c.id)
    return list(connection.execute(query).scalars())


def _link(connection: Connection, account: str, person: str, *, anew: bool = True) -> None:
    row = upsert(connection, identities).values(account=account, person=person, created=now())
    if anew:
        connection.execute(row.on_conflict_do_update(index_elements=["account"], set_={"person": person}))
    else:
        connection.execute(row.on_conflict_do_nothing(index_elements=["account"]))
