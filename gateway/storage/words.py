"""
The index of what was said: functions of an open connection that put messages in and take them out.

FTS5 on SQLite, tsvector with GIN on Postgres, over the same terms (`gateway.storage.text`). Whose a message is stands
in the index as a term that no query can spell: on SQLite in a column of its own, on Postgres behind a sign that is no
letter. On SQLite there is no copy of the text: a message is taken out by saying its terms again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
from sqlalchemy import Connection, bindparam, delete, func, select, text, update

from gateway.storage.tables import facts, messages, sessions, unindexed
from gateway.storage.text import Terms, findable, terms_of
from gateway.storage.upsert import upsert

PART_TERMS, OVERLAP = 3000, 50
"""
Terms in one row of Postgres, and those it shares with the next: positions end at 16,383, of a term 256 are kept, and
all must fit 1 MB (its manual, 12.11).
"""
TIDYING = "search_tidying"
"""The fact that something was taken out of the index of SQLite, whose files keep its words until they are merged."""
TIDY_PAGES = 200
READ_AT_ONCE = 500
"""Messages; a statement takes so many parameters at most."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A message as its row has it."""

    id: int
    role: str
    text: str
    calls: str


@dataclass(frozen=True, slots=True)
class Said:
    """A message that is put into the index."""

    id: int
    role: str
    terms: Terms
    scope: int = 0


# --- in


def waiting(connection: Connection, most: int) -> list[int]:
    """Return messages that are not indexed yet, the newest first."""
    query = select(unindexed.c.message).order_by(unindexed.c.message.desc()).limit(most)
    return list(connection.execute(query).scalars())


def count_waiting(connection: Connection) -> int:
    """Return how many messages are not indexed yet."""
    return int(connection.execute(select(func.count()).select_from(unindexed)).scalar_one())


_SAID = (messages.c.id, messages.c.role, messages.c.text, messages.c.calls)
_READ = select(*_SAID).where(messages.c.id.in_(bindparam("ids", expanding=True)))


def read(connection: Connection, ids: Sequence[int], chars: int) -> list[Unread]:
    """Return messages to be indexed, and at most so many characters of them, but one at least."""
    lengths = select(messages.c.id, func.length(messages.c.text)).where(messages.c.id.in_(ids))
    chosen: list[int] = []
    for id, length in connection.execute(lengths.order_by(messages.c.id.desc())):
        chars -= length
        if chosen and chars < 0:
            break
        chosen.append(id)
    return [Unread(*row) for row in connection.execute(_READ, {"ids": chosen})]


def found_in(unread: Unread, redact: Callable[[str], str] = str) -> str:
    """Return what of a message can be found, as one reads it."""
    calls = orjson.loads(unread.calls) if unread.calls else ()
    return findable(unread.role, unread.text, ((name, arguments) for _, name, arguments in calls), redact)


def terms(unread: Unread) -> Said:
    """Return what is indexed of a message; takes its time for a long one."""
    return Said(unread.id, unread.role, terms_of(found_in(unread)))


def take(connection: Connection, ids: Sequence[int]) -> set[int]:
    """Take messages off the list of those that wait; return which were on it, and are the caller's to put in."""
    rid = delete(unindexed).where(unindexed.c.message.in_(ids)).returning(unindexed.c.message)
    return set(connection.execute(rid).scalars())


_PUT_SQLITE = text("INSERT INTO message_words (rowid, words, letters, scope) VALUES (:id, :words, :letters, :scope)")
_PUT_POSTGRES = text("INSERT INTO message_words (message, part, words) VALUES (:id, :part, CAST(:words AS tsvector))")


def put(connection: Connection, said: Iterable[Said]) -> None:
    """Put messages into the index; each must be in it once."""
    ordered = sorted(said, key=lambda one: one.id)  # the order in which FTS5 writes least
    if not ordered:
        return
    if connection.dialect.name == "sqlite":
        connection.execute(_PUT_SQLITE, [_columns(one) for one in ordered])
    else:
        connection.execute(_PUT_POSTGRES, [row for one in ordered for row in _parts(one)])


def _columns(said: Said) -> dict[str, Any]:
    words, letters = " ".join(said.terms.words), " ".join(said.terms.letters)
    return {"id": said.id, "words": words, "letters": letters, "scope": f"s{said.scope} {said.role}"}


def _parts(said: Said) -> Iterator[dict[str, Any]]:
    words, letters = said.terms.words, set(said.terms.letters)
    whose = (quoted(f"@{said.scope}"), quoted(f"={said.role}"))
    for part, first in enumerate(range(0, max(1, len(words)), PART_TERMS)):
        chosen = words[first : first + PART_TERMS + OVERLAP]
        placed = (f"{quoted(word)}:{place}" for place, word in enumerate(chosen, 1))
        # A letter is found as the beginning of its pairs; the last one of a run begins none.
        single = letters.intersection("".join(chosen)) - {word[0] for word in chosen}
        yield {"id": said.id, "part": part, "words": " ".join((*whose, *map(quoted, sorted(single)), *placed))}


# --- out


def indexed_of(connection: Connection, person: str) -> dict[int, Said]:
    """
    Return what is indexed of the conversations that are a person's alone, as far as `remove` has to be told.

    It takes its time for many messages, and so it has its place before the write that removes.
    """
    if connection.dialect.name != "sqlite":
        return {}
    of = select(*_SAID).join(sessions, sessions.c.id == messages.c.session_id).where(sessions.c.person == person)
    return {row.id: terms(Unread(*row)) for row in connection.execute(of)}


def remove(connection: Connection, session_id: str, told: Mapping[int, Said]) -> None:
    """Take a session's messages out of the index, before their rows go; what is not `told` of them is read."""
    if connection.dialect.name != "sqlite":
        return  # there the rows of the index go with the messages
    indexed = select(messages.c.id).where(messages.c.session_id == session_id)
    ids = connection.execute(indexed.where(messages.c.id.not_in(select(unindexed.c.message)))).scalars().all()
    if ids:
        scope = connection.execute(select(sessions.c.scope).where(sessions.c.id == session_id)).scalar_one()
        said = {**told, **_since(connection, [id for id in ids if id not in told])}
        connection.execute(_REMOVE, [_columns(replace(said[id], scope=scope)) for id in ids])
        row = upsert(connection, facts).values(name=TIDYING, value="begin")
        connection.execute(row.on_conflict_do_update(index_elements=["name"], set_={"value": "begin"}))


def _since(connection: Connection, ids: Sequence[int]) -> dict[int, Said]:
    pages = (ids[first : first + READ_AT_ONCE] for first in range(0, len(ids), READ_AT_ONCE))
    rows = (Unread(*row) for page in pages for row in connection.execute(_READ, {"ids": page}))
    return {row.id: terms(row) for row in rows}


# FTS5, "The 'delete' command": an index without a copy of the text has to be told what was in it.
_REMOVE = text(
    "INSERT INTO message_words (message_words, rowid, words, letters, scope)"
    " VALUES ('delete', :id, :words, :letters, :scope)"
)


def is_untidy(connection: Connection) -> bool:
    """Say whether words that were taken out are still in the files."""
    return connection.execute(select(facts.c.name).where(facts.c.name == TIDYING)).first() is not None


def tidy(connection: Connection) -> bool:
    """Rewrite a little of the index of SQLite without what was taken out; False where nothing is left to do."""
    state = connection.execute(select(facts.c.value).where(facts.c.name == TIDYING)).scalar()
    if state is None:
        return False
    # FTS5, "The 'merge' command": a negative number makes one level of all there is, and the merge then goes on.
    pages = -TIDY_PAGES if state == "begin" else TIDY_PAGES
    connection.execute(text("INSERT INTO message_words (message_words, rank) VALUES ('usermerge', 2)"))
    before = _changes(connection)
    connection.execute(
        text("INSERT INTO message_words (message_words, rank) VALUES ('merge', :pages)"), {"pages": pages}
    )
    if state == "begin":
        connection.execute(update(facts).where(facts.c.name == TIDYING).values(value="goes on"))
    elif _changes(connection) - before < 2:
        connection.execute(delete(facts).where(facts.c.name == TIDYING))
        return False
    return True


def _changes(connection: Connection) -> int:
    return int(connection.execute(text("SELECT total_changes()")).scalar_one())


def quoted(term: str) -> str:
    """Return a term as tsvector and tsquery take it literally."""
    doubled = term.replace("\\", "\\\\").replace("'", "''")
    return f"'{doubled}'"
