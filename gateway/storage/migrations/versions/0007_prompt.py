"""The outline of a session's prompt, and the personality that a chat has chosen."""

import sqlalchemy as sa
from alembic import op

revision = "0007_prompt"
down_revision = "0006_search"


def upgrade() -> None:
    """Say what each part of a prompt was made from; prompts that are there have no outline."""
    op.add_column("sessions", sa.Column("outline", sa.Text(), server_default="", nullable=False))
    op.add_column("lanes", sa.Column("personality", sa.Text(), server_default="", nullable=False))
