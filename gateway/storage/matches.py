"""
Finds messages in the index: functions of an open connection. In: what is `Wanted`. Out: the newest that fit.

Whose a message is, and its role, stand in the index as terms of their own, so that the newest within a scope are found
without a look at anybody else's. A term of a query holds letters and digits only, and ends where we end it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, func, literal_column, select, text

from gateway.storage.hidden import spelled, taken_back
from gateway.storage.tables import messages
from gateway.storage.words import quoted

CANDIDATES = 1000
"""The newest so many messages that fit a query are looked at; older ones are found by more words or a date."""
SCORED_CHARS = 2000
"""Characters at the beginning of a candidate that are read."""
WINDOW = 4000
"""On Postgres that many of the newest messages are looked through first, since its index has no order."""
DAY = 86_400.0
_NEVER = 1 << 62


@dataclass(frozen=True, slots=True)
class Adjacent:
    """Terms that stand side by side; with `prefix` the last one may go on."""

    words: tuple[str, ...]
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Together:
    """What one message has to hold, in any order: stretches, and single letters of scripts without spaces."""

    stretches: tuple[Adjacent, ...] = ()
    letters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """
    What is looked for: one of several alternatives, in these scopes (None: everywhere), of these roles (none: all).

    `since` and `until` are seconds, the first included; `oldest` asks for the oldest in place of the newest. Of the
    session `besides` only what its model does not see any more.
    """

    alternatives: tuple[Together, ...]
    scopes: tuple[int, ...] | None
    roles: tuple[str, ...] = ()
    since: float = 0.0
    until: float = 0.0
    oldest: bool = False
    besides: str = ""


class Candidate(NamedTuple):
    """
    A message that fits; `text` is its beginning, `length` the characters of the whole.

    A tuple, since a thousand are made for a search, and a frozen dataclass takes four times as long to make.
    """

    id: int
    session_id: str
    role: str
    created: float
    length: int
    text: str


def candidates(connection: Connection, wanted: Wanted, most: int = CANDIDATES) -> list[Candidate]:
    """Return the newest messages that fit, the newest first, or the oldest, the oldest first; none that were undone."""
    if not wanted.alternatives or wanted.scopes == ():
        return []
    first, last = _bounds(connection, wanted)
    if connection.dialect.name == "sqlite":
        values = {"match": _fts5(wanted), "first": first, "last": last, "most": most}
        return _read(connection, _chosen(_SQLITE, wanted), wanted, values | _also(wanted))
    ids = _in_windows(connection, wanted, first, min(last, _newest(connection)), most)
    return _read(connection, "SELECT unnest(CAST(:ids AS bigint[])) AS rowid", wanted, {"ids": ids})


_SQLITE = "SELECT rowid FROM message_words WHERE message_words MATCH :match AND rowid BETWEEN :first AND :last"
_POSTGRES = (
    "SELECT DISTINCT message AS rowid FROM message_words"
    " WHERE words @@ CAST(:match AS tsquery) AND message BETWEEN :first AND :last"
)
_IN_TIME = "(m.created >= :since AND (:until = 0 OR m.created < :until))"
_STANDS = spelled(~taken_back(literal_column("c.rowid")))
# A session may go on from others, whose rows its model sees as well. What is only shown otherwise it does not see.
_NOT_SEEN = (
    "c.rowid NOT IN (WITH RECURSIVE chain (id, parent) AS ("
    "SELECT id, parent_session_id FROM sessions WHERE id = :besides"
    " UNION SELECT s.id, s.parent_session_id FROM sessions s JOIN chain ON s.id = chain.parent)"
    " SELECT m.id FROM messages m WHERE m.session_id IN (SELECT id FROM chain) AND m.id NOT IN"
    " (SELECT r.message FROM view_rows r JOIN views v ON v.id = r.view"
    " WHERE v.session_id IN (SELECT id FROM chain) AND v.undone = 0))"
)


def _chosen(matching: str, wanted: Wanted) -> str:
    """Return the statement that chooses the newest ids among those that match."""
    conditions, joined = [_STANDS], ""
    if wanted.besides:
        conditions.append(_NOT_SEEN)
    if wanted.since or wanted.until:
        # CROSS JOIN, which SQLite takes as an order: the index first, then the row of each message it names.
        joined = "CROSS JOIN messages m"
        conditions += ["m.id = c.rowid", _IN_TIME]
    where = " AND ".join(conditions)
    return f"SELECT c.rowid FROM ({matching}) c {joined} WHERE {where} ORDER BY c.rowid {_order(wanted)} LIMIT :most"


def _also(wanted: Wanted) -> dict[str, Any]:
    """Return the values of the conditions that `_chosen` has added."""
    values: dict[str, Any] = {"besides": wanted.besides} if wanted.besides else {}
    return values | ({"since": wanted.since, "until": wanted.until} if wanted.since or wanted.until else {})


def _order(wanted: Wanted) -> str:
    return "ASC" if wanted.oldest else "DESC"


def _read(connection: Connection, chosen: str, wanted: Wanted, values: dict[str, Any]) -> list[Candidate]:
    columns = f"m.id, m.session_id, m.role, m.created, length(m.text), substr(m.text, 1, {SCORED_CHARS})"
    query = f"SELECT {columns} FROM ({chosen}) f CROSS JOIN messages m WHERE m.id = f.rowid"
    rows = connection.execute(text(f"{query} ORDER BY m.id {_order(wanted)}"), values)
    return list(map(Candidate._make, rows.all()))


# The planner cannot tell how many messages hold a word, and would rather read them all than believe the index.
_BY_INDEX = text(
    "SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true),"
    " set_config('enable_indexscan', :single, true), set_config('enable_indexonlyscan', :single, true)"
)


def _in_windows(connection: Connection, wanted: Wanted, first: int, last: int, most: int) -> list[int]:
    """Look through the newest messages on Postgres, then through as many as will do by what was found among them."""
    query, values = text(_chosen(_POSTGRES, wanted)), {"match": _tsquery(wanted), "most": most} | _also(wanted)
    connection.execute(_BY_INDEX, {"single": "off"})
    size, ids, looked = WINDOW, list[int](), False
    while not looked:
        looked = last - first <= size
        ends = (first, first + size) if wanted.oldest else (last - size, last)
        low, high = (first, last) if looked else ends
        ids = list(connection.execute(query, values | {"first": low, "last": high}).scalars())
        looked = looked or len(ids) >= most
        size = max(size * 2, size * most * 3 // (2 * max(1, len(ids))))
    connection.execute(_BY_INDEX, {"single": "on"})
    return ids


def _bounds(connection: Connection, wanted: Wanted) -> tuple[int, int]:
    """Return the ids between which the messages of a time are, and a day more, since clocks are set."""
    first = _first_since(connection, wanted.since - DAY) if wanted.since else 0
    last = _first_since(connection, wanted.until + DAY) if wanted.until else _NEVER
    return first, last


_AT = select(messages.c.id, messages.c.created).where(messages.c.id >= bindparam("at")).order_by(messages.c.id).limit(1)


def _newest(connection: Connection) -> int:
    return connection.execute(select(func.max(messages.c.id))).scalar() or 0


def _first_since(connection: Connection, seconds: float) -> int:
    """Return the id of the first message said since, by halving: ids rise with the time."""
    low, high = 1, _newest(connection) + 1
    while low < high:
        middle = (low + high) // 2
        row = connection.execute(_AT, {"at": middle}).first()
        if row is None or row.created >= seconds:
            high = middle
        else:
            low = row.id + 1
    return low


# --- a query as each database spells it


def _fts5(wanted: Wanted) -> str:
    alternatives = " OR ".join(f"({_fts5_together(one)})" for one in wanted.alternatives)
    parts = [f"({alternatives})"]
    if wanted.scopes is not None:
        parts.insert(0, f"scope : ({' OR '.join(f's{int(scope)}' for scope in wanted.scopes)})")
    if wanted.roles:
        parts.append(f"scope : ({' OR '.join(wanted.roles)})")
    return " AND ".join(parts)


def _fts5_together(together: Together) -> str:
    stretches = [f'words : "{" ".join(one.words)}"{" *" * one.prefix}' for one in together.stretches]
    return " AND ".join([*stretches, *(f'letters : "{letter}"' for letter in together.letters)])


def _tsquery(wanted: Wanted) -> str:
    parts = [f"({' | '.join(f'({_tsquery_together(one)})' for one in wanted.alternatives)})"]
    if wanted.scopes is not None:
        parts.append(f"({' | '.join(quoted(f'@{scope}') for scope in wanted.scopes)})")
    if wanted.roles:
        parts.append(f"({' | '.join(quoted(f'={role}') for role in wanted.roles)})")
    return " & ".join(parts)


def _tsquery_together(together: Together) -> str:
    stretches = [" <-> ".join(map(quoted, one.words)) + ":*" * one.prefix for one in together.stretches]
    return " & ".join([*(f"({one})" for one in stretches), *(f"{quoted(letter)}:*" for letter in together.letters)])
