"""Compressions: what each did, the views that they made, and what is known of a session's context."""

import sqlalchemy as sa
from alembic import op

revision = "0005_compressions"
down_revision = "0004_grants"


def upgrade() -> None:
    """Let a view show rows as something else and stand a summary between them, and a session follow another."""
    op.add_column("sessions", sa.Column("parent_session_id", sa.Text(), server_default="", nullable=False))
    op.add_column("sessions", sa.Column("end_reason", sa.Text(), server_default="", nullable=False))
    op.add_column("sessions", sa.Column("guards", sa.Text(), server_default="", nullable=False))
    op.add_column("turns", sa.Column("read_tokens", sa.BigInteger(), server_default="0", nullable=False))
    op.add_column("views", sa.Column("summary", sa.Text(), server_default="", nullable=False))
    op.add_column("views", sa.Column("after", sa.BigInteger(), server_default="0", nullable=False))
    op.add_column("view_rows", sa.Column("shown", sa.Text(), server_default="", nullable=False))
    op.create_table(
        "compressions",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("view", sa.BigInteger(), nullable=True),
        sa.Column("turn", sa.Text(), server_default="", nullable=False),
        sa.Column("occasion", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("engine", sa.Text(), server_default="", nullable=False),
        sa.Column("model", sa.Text(), server_default="", nullable=False),
        sa.Column("writer", sa.Text(), server_default="", nullable=False),
        sa.Column("focus", sa.Text(), server_default="", nullable=False),
        sa.Column("tokens_before", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("tokens_after", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("messages_before", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("messages_after", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("completion_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("seconds", sa.Double(), server_default="0", nullable=False),
        sa.Column("score", sa.Double(), nullable=True),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("guards", sa.Text(), server_default="", nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("undone", sa.Double(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"]),
        sa.ForeignKeyConstraint(["view"], ["views.id"]),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
        comment="every compression that was tried: when, why, what it did and what it cost; its view is undone with it",
    )
    op.create_index("compressions_session", "compressions", ["session_id", "id"], unique=False)
    op.create_index("compressions_view", "compressions", ["view"], unique=False)
