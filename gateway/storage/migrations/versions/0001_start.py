"""The tables of the first version."""

import sqlalchemy as sa
from alembic import op

revision = "0001_start"
down_revision = None

ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make every table."""
    op.create_table(
        "browsers",
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("visitor", sa.Text(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("seen", sa.Double(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("token_hash"),
        sa.UniqueConstraint("visitor", name="browsers_visitor"),
    )
    op.create_table(
        "calls",
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default="started", nullable=False),
        sa.PrimaryKeyConstraint("turn", "call_id"),
    )
    op.create_table(
        "facts",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
        comment="what holds for the whole database, such as the number of shards",
    )
    op.create_table(
        "lanes",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("shard", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.Text(), server_default="", nullable=False),
        sa.Column("generation", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("version", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("discard_upto", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("model", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("key"),
        comment="one row per session key; generation is the fence",
    )
    op.create_index(op.f("ix_lanes_shard"), "lanes", ["shard"], unique=False)
    op.create_table(
        "leases",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("until", sa.Double(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "live",
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Text(), server_default="", nullable=False),
        sa.Column("shown", sa.Text(), server_default="", nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("turn", "address"),
    )
    op.create_table(
        "outbox",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("shard", sa.Integer(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("turn", sa.Text(), server_default="", nullable=False),
        sa.Column("part", sa.Text(), nullable=False),
        sa.Column("edits", sa.Text(), server_default="", nullable=False),
        sa.Column("state", sa.Text(), server_default="waiting", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("not_before", sa.Double(), server_default="0", nullable=False),
        sa.Column("doubts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("plain", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("receipt", sa.Text(), server_default="", nullable=False),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("sent", sa.Double(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("outbox_address", "outbox", ["address", "id"], unique=False)
    op.create_index(
        "outbox_open",
        "outbox",
        ["shard", "id"],
        unique=False,
        sqlite_where=sa.text("state IN ('waiting', 'sending')"),
        postgresql_where=sa.text("state IN ('waiting', 'sending')"),
    )
    op.create_index(
        "outbox_refused",
        "outbox",
        ["id"],
        unique=False,
        sqlite_where=sa.text("state = 'refused'"),
        postgresql_where=sa.text("state = 'refused'"),
    )
    op.create_index("outbox_turn", "outbox", ["turn"], unique=False)
    op.create_table(
        "people",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "sessions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("lane", sa.Text(), nullable=False),
        sa.Column("home", sa.Text(), server_default="", nullable=False),
        sa.Column("title", sa.Text(), server_default="", nullable=False),
        sa.Column("prompt", sa.Text(), server_default="", nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("ended", sa.Double(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_sessions_lane"), "sessions", ["lane"], unique=False)
    op.create_table(
        "turns",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("lane", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default="open", nullable=False),
        sa.Column("model", sa.Text(), server_default="", nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("completion_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("cached_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("calls", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("problem", sa.Text(), server_default="", nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("ended", sa.Double(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("turns_lane", "turns", ["lane", "created"], unique=False)
    op.create_table(
        "workers",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("until", sa.Double(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "identities",
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["person"],
            ["people.id"],
        ),
        sa.PrimaryKeyConstraint("account"),
    )
    op.create_index(op.f("ix_identities_person"), "identities", ["person"], unique=False)
    op.create_table(
        "inbox",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("lane", sa.Text(), nullable=False),
        sa.Column("event_key", sa.Text(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("command", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("burst", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("state", sa.Text(), server_default="waiting", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("not_before", sa.Double(), server_default="0", nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("turn", sa.Text(), server_default="", nullable=False),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(
            ["lane"],
            ["lanes.key"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("event_key"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "inbox_dead",
        "inbox",
        ["id"],
        unique=False,
        sqlite_where=sa.text("state = 'dead'"),
        postgresql_where=sa.text("state = 'dead'"),
    )
    op.create_index("inbox_lane", "inbox", ["lane", "id"], unique=False)
    op.create_index(
        "inbox_open",
        "inbox",
        ["lane", "id"],
        unique=False,
        sqlite_where=sa.text("state IN ('waiting', 'claimed')"),
        postgresql_where=sa.text("state IN ('waiting', 'claimed')"),
    )
    op.create_table(
        "messages",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("turn", sa.Text(), server_default="", nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), server_default="", nullable=False),
        sa.Column("api_content", sa.Text(), nullable=True),
        sa.Column("calls", sa.Text(), server_default="", nullable=False),
        sa.Column("call_id", sa.Text(), server_default="", nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["sessions.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("messages_session", "messages", ["session_id", "id"], unique=False)
    op.create_table(
        "views",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("undone", sa.Double(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["sessions.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        comment="messages are never rewritten; a view hides some of them until it is undone",
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_views_session_id"), "views", ["session_id"], unique=False)
    op.create_table(
        "view_rows",
        sa.Column("view", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("message", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(
            ["message"],
            ["messages.id"],
        ),
        sa.ForeignKeyConstraint(
            ["view"],
            ["views.id"],
        ),
        sa.PrimaryKeyConstraint("view", "message"),
    )
