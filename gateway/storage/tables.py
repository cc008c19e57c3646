"""
Every table, once for both databases. The migrations make them; a test holds the two together.

Times are seconds since 1970 by the database's clock. Keys, ids and JSON are text. What each state means:

inbox   waiting → claimed → done; discarded by /stop, /new or a cancel; dead after three attempts
turns   open while its journal is being written → done, stopped or failed
calls   started → done: the journal of tool calls
outbox  waiting → sending → sent; refused where the platform never will
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    literal_column,
    text,
)

from gateway.storage.clock import now
from gateway.types import clean

# The revisions give the indexes of open rows the same condition on Postgres; to name it here would import that dialect.
metadata = MetaData()


class CleanText(TypeDecorator[str]):
    """Text that any database takes: NUL and lone surrogates never reach a driver."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else clean(value)


def _id() -> Column[int]:
    """Rises with every insert and is never used again."""
    return Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True)


def _words(name: str, **options: Any) -> Column[str]:
    return Column(name, CleanText, nullable=False, **options)


def _later(name: str, *, index: bool = False) -> Column[str]:
    """Text that is empty until something fills it."""
    return Column(name, CleanText, nullable=False, server_default="", index=index)


def _count(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default="0")


def _flag(name: str) -> Column[bool]:
    return Column(name, Boolean, nullable=False, server_default=text("false"))


def _time(name: str) -> Column[float]:
    return Column(name, Double, nullable=False, server_default="0")


def _created() -> Column[float]:
    return Column("created", Double, nullable=False, default=now())


def _among(column: Column[str], *states: str) -> ColumnElement[bool]:
    """Say it without parameters: SQLite uses a partial index only where a query repeats its condition word for word."""
    words: list[ColumnElement[str]] = [literal_column(f"'{state}'") for state in states]
    return column.in_(words) if len(words) > 1 else column == words[0]


facts = Table(
    "facts",
    metadata,
    _words("name", primary_key=True),
    _words("value"),
    comment="what holds for the whole database, such as the number of shards",
)

lanes = Table(
    "lanes",
    metadata,
    _words("key", primary_key=True),
    Column("shard", Integer, nullable=False, index=True),
    _later("session_id"),
    _count("generation"),
    _count("version"),
    _count("discard_upto"),
    _later("model"),
    _later("personality"),
    comment="one row per session key; generation is the fence",
)

inbox = Table(
    "inbox",
    metadata,
    _id(),
    Column("lane", CleanText, ForeignKey("lanes.key"), nullable=False),
    _words("event_key", unique=True),
    _words("event"),
    _words("role"),
    _flag("command"),
    _flag("burst"),
    _words("state", server_default="waiting"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    _time("not_before"),
    _created(),
    _later("turn"),
    _later("reason"),
    sqlite_autoincrement=True,
)
INBOX_OPEN = _among(inbox.c.state, "waiting", "claimed")
INBOX_DEAD = _among(inbox.c.state, "dead")
Index("inbox_open", inbox.c.lane, inbox.c.id, sqlite_where=INBOX_OPEN)
Index("inbox_lane", inbox.c.lane, inbox.c.id)
Index("inbox_dead", inbox.c.id, sqlite_where=INBOX_DEAD)

sessions = Table(
    "sessions",
    metadata,
    _words("id", primary_key=True),
    _words("lane", index=True),
    _later("home"),
    _later("title"),
    _later("prompt"),
    _later("outline"),
    _later("person", index=True),
    _created(),
    _time("ended"),
    _later("parent_session_id"),
    _later("end_reason"),
    _later("guards"),
    _count("scope"),
)

messages = Table(
    "messages",
    metadata,
    _id(),
    Column("session_id", CleanText, ForeignKey("sessions.id"), nullable=False),
    _later("turn"),
    _words("role"),
    _later("text"),
    Column("api_content", CleanText),
    _later("calls"),
    _later("call_id"),
    _later("name"),
    _created(),
    Index("messages_session", "session_id", "id"),
    sqlite_autoincrement=True,
)

views = Table(
    "views",
    metadata,
    _id(),
    Column("session_id", CleanText, ForeignKey("sessions.id"), nullable=False, index=True),
    _words("kind"),
    _created(),
    _time("undone"),
    _later("summary"),
    _count("after"),
    sqlite_autoincrement=True,
    comment="messages are never rewritten; a view hides some of them until it is undone",
)

COMPRESSION = "compression"
"""The kind of a view that only keeps what was said from the model; all others take it back."""

view_rows = Table(
    "view_rows",
    metadata,
    Column("view", BigInteger, ForeignKey("views.id"), primary_key=True, autoincrement=False),
    Column("message", BigInteger, ForeignKey("messages.id"), primary_key=True, autoincrement=False),
    _later("shown"),
    Index("view_rows_message", "message"),
)

participants = Table(
    "participants",
    metadata,
    Column("session_id", CleanText, ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    _words("account", primary_key=True),
    Index("participants_account", "account"),
    comment="who spoke in a session that is nobody's alone",
)

unindexed = Table(
    "unindexed",
    metadata,
    Column(
        "message",
        BigInteger,
        ForeignKey("messages.id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    comment="messages that the search does not know yet; a trigger puts in every new one",
)

compressions = Table(
    "compressions",
    metadata,
    _id(),
    Column("session_id", CleanText, ForeignKey("sessions.id"), nullable=False),
    Column("view", BigInteger, ForeignKey("views.id")),
    _later("turn"),
    _words("occasion"),
    _words("outcome"),
    _later("engine"),
    _later("model"),
    _later("writer"),
    _later("focus"),
    _count("tokens_before"),
    _count("tokens_after"),
    _count("messages_before"),
    _count("messages_after"),
    _count("prompt_tokens"),
    _count("completion_tokens"),
    _time("seconds"),
    Column("score", Double),
    _later("reason"),
    _later("guards"),
    _created(),
    _time("undone"),
    Index("compressions_session", "session_id", "id"),
    Index("compressions_view", "view"),
    sqlite_autoincrement=True,
    comment="every compression that was tried: when, why, what it did and what it cost; its view is undone with it",
)

turns = Table(
    "turns",
    metadata,
    _words("id", primary_key=True),
    _words("lane"),
    _words("session_id"),
    _words("state", server_default="open"),
    _later("model"),
    _count("prompt_tokens"),
    _count("completion_tokens"),
    _count("cached_tokens"),
    _count("read_tokens"),
    _count("calls"),
    _later("problem"),
    _later("fault"),
    _created(),
    _time("ended"),
    Index("turns_lane", "lane", "created"),
)

calls = Table(
    "calls",
    metadata,
    _words("turn", primary_key=True),
    _words("call_id", primary_key=True),
    _words("state", server_default="started"),
)

outbox = Table(
    "outbox",
    metadata,
    _id(),
    _words("queue"),
    Column("shard", Integer, nullable=False),
    _words("address"),
    _later("turn"),
    _words("part"),
    _later("edits"),
    _words("state", server_default="waiting"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    _time("not_before"),
    Column("doubts", Integer, nullable=False, server_default="0"),
    _flag("plain"),
    _later("receipt"),
    _later("reason"),
    _created(),
    _time("sent"),
    Index("outbox_address", "address", "id"),
    Index("outbox_turn", "turn"),
    sqlite_autoincrement=True,
)
OUTBOX_OPEN = _among(outbox.c.state, "waiting", "sending")
OUTBOX_REFUSED = _among(outbox.c.state, "refused")
Index("outbox_open", outbox.c.shard, outbox.c.id, sqlite_where=OUTBOX_OPEN)
Index("outbox_refused", outbox.c.id, sqlite_where=OUTBOX_REFUSED)

live = Table(
    "live",
    metadata,
    _words("turn", primary_key=True),
    _words("address", primary_key=True),
    _later("message_id"),
    _later("shown"),
    _created(),
)

leases = Table(
    "leases",
    metadata,
    _words("name", primary_key=True),
    _words("owner"),
    _count("epoch"),
    _time("until"),
)

workers = Table(
    "workers",
    metadata,
    _words("id", primary_key=True),
    _words("host"),
    Column("pid", Integer, nullable=False),
    _words("role"),
    _created(),
    _time("until"),
)

people = Table(
    "people",
    metadata,
    _words("id", primary_key=True),
    _later("name"),
    _words("role"),
    _created(),
)

identities = Table(
    "identities",
    metadata,
    _words("account", primary_key=True),
    Column("person", CleanText, ForeignKey("people.id"), nullable=False, index=True),
    # Whether the account has proved whose it is, and has the person's role whatever the settings say.
    _flag("grants"),
    _created(),
)

browsers = Table(
    "browsers",
    metadata,
    _words("token_hash", primary_key=True),
    _words("visitor"),
    _created(),
    _time("seen"),
    UniqueConstraint("visitor", name="browsers_visitor"),
)

notes = Table(
    "notes",
    metadata,
    _words("owner", primary_key=True),
    _words("target", primary_key=True),
    _later("text"),
    _time("updated"),
    comment="MEMORY.md and USER.md of each owner, where many machines share them; on one machine they are files",
)

notes_allowed = Table(
    "notes_allowed",
    metadata,
    _words("owner", primary_key=True),
    _words("digest", primary_key=True),
    _later("by"),
    _created(),
    comment="entries that the threat scan found something in, and that their owner lets pass all the same",
)

pending = Table(
    "pending",
    metadata,
    _words("id", primary_key=True),
    _words("subsystem"),
    _words("owner"),
    _later("person"),
    _later("summary"),
    _later("origin"),
    _words("payload"),
    _words("state", server_default="waiting"),
    _created(),
    _time("decided"),
    _later("by"),
    Index("pending_owner", "owner", "state"),
    comment="writes of the agent that wait for a person: waiting → approved or rejected",
)

nudges = Table(
    "nudges",
    metadata,
    _words("session_id", primary_key=True),
    _count("turns"),
    _count("steps"),
    _count("unsaved"),
    comment="per session: turns since memory was reviewed, tool steps since skills were, turns not saved",
)
