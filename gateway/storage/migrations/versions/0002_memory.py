"""The tables of memory: notes, what passes the scan, writes that wait, counters of the review; whose a session is."""

import sqlalchemy as sa
from alembic import op

revision = "0002_memory"
down_revision = "0001_start"


def upgrade() -> None:
    """Make the tables, and say whose alone a session is."""
    op.add_column("sessions", sa.Column("person", sa.Text(), server_default="", nullable=False))
    op.create_index(op.f("ix_sessions_person"), "sessions", ["person"], unique=False)
    op.create_table(
        "notes",
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), server_default="", nullable=False),
        sa.Column("updated", sa.Double(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("owner", "target"),
        comment="MEMORY.md and USER.md of each owner, where many machines share them; on one machine they are files",
    )
    op.create_table(
        "notes_allowed",
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), server_default="", nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "digest"),
        comment="entries that the threat scan found something in, and that their owner lets pass all the same",
    )
    op.create_table(
        "pending",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("subsystem", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), server_default="", nullable=False),
        sa.Column("summary", sa.Text(), server_default="", nullable=False),
        sa.Column("origin", sa.Text(), server_default="", nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default="waiting", nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("decided", sa.Double(), server_default="0", nullable=False),
        sa.Column("by", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id"),
        comment="writes of the agent that wait for a person: waiting → approved or rejected",
    )
    op.create_index("pending_owner", "pending", ["owner", "state"], unique=False)
    op.create_table(
        "nudges",
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("turns", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("steps", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("unsaved", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("session_id"),
        comment="per session: turns since memory was reviewed, tool steps since skills were, turns not saved",
    )
