"""People and their accounts as rows: functions of an open connection."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, exists, func, not_, select, update

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
    .where(identities.c.account == bindparam("a"), identities.c.grants)
)


def role_of(connection: Connection, account: str) -> Role | None:
    """Return the role that an account (``platform:user``) has proved to have, if any; the settings may give it more."""
    found = connection.execute(_ROLE, {"a": account}).scalar()
    return Role(found) if found else None


def owners(connection: Connection) -> frozenset[str]:
    """Return the accounts that have proved to be an owner's."""
    query = select(identities.c.account).join(people, people.c.id == identities.c.person).where(identities.c.grants)
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


@dataclass(frozen=True, slots=True)
class Known:
    """The person of an account ("" for none yet), whether it is the home's, and whether the account proved that."""

    person: str = ""
    home: bool = False
    proved: bool = False


_HOME = exists().where(facts.c.name == HOME, facts.c.value == identities.c.person)
_IDENTITY = select(identities.c.person, _HOME, identities.c.grants).where(identities.c.account == bindparam("a"))


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
    if before := bring_home(connection, account, grants=True):
        # A turn that runs is the former person's until its end, so it begins anew.
        begun = update(lanes).where(lanes.c.key.in_(reports.talking(connection, {account})))
        connection.execute(begun.values(generation=lanes.c.generation + 1))
    return before


def bring_home(connection: Connection, account: str, *, grants: bool) -> str:
    """
    Make an account one of the home's person, with what was said under it; return as `make_owner` does.

    `grants` is true where it proved to be the owner's, and false where the settings say so, which may say otherwise
    again: see `send_away`.
    """
    before, home = known(connection, account), home_person(connection)
    _link(connection, account, home, grants=grants)
    if before in {"", home} or accounts(connection, before):
        return ""
    connection.execute(update(sessions).where(sessions.c.person == before).values(person=home))
    connection.execute(update(pending).where(pending.c.person == before).values(person=home))
    return before


def send_away(connection: Connection, account: str) -> str:
    """Give an account of the home's person that proved nothing a person of its own; return that person."""
    person = _new(connection)
    gone = update(identities).where(
        identities.c.account == account, identities.c.person == home_person(connection), not_(identities.c.grants)
    )
    if connection.execute(gone.values(person=person)).rowcount:
        return person
    connection.execute(delete(people).where(people.c.id == person))  # it was sent away, or has proved it, just now
    return known(connection, account)


def _new(connection: Connection) -> str:
    person = secrets.token_hex(8)
    connection.execute(upsert(connection, people).values(id=person, role="", created=now()))
    return person


def identity(connection: Connection, account: str) -> Known:
    """Return whose an account is."""
    row = connection.execute(_IDENTITY, {"a": account}).first()
    return Known(*row) if row else Known()


def known(connection: Connection, account: str) -> str:
    """Return the person an account (``platform:user``) belongs to, "" where it never spoke."""
    return identity(connection, account).person


def meet(connection: Connection, account: str, *, home: bool) -> str:
    """
    Return the person an account belongs to; one that is new gets a person of its own, or is the home's.

    A new person has no role of its own: what it may do, the rules say.
    """
    if person := known(connection, account):
        return person
    person = home_person(connection) if home else _new(connection)
    _link(connection, account, person, grants=False, anew=False)
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


def _link(connection: Connection, account: str, person: str, *, grants: bool, anew: bool = True) -> None:
    row = upsert(connection, identities).values(account=account, person=person, grants=grants, created=now())
    if anew:
        both = {"person": person, "grants": grants}
        connection.execute(row.on_conflict_do_update(index_elements=["account"], set_=both))
    else:
        connection.execute(row.on_conflict_do_nothing(index_elements=["account"]))
