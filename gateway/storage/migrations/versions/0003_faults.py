"""Which error left a turn without an answer, for the exit code of a command."""

import sqlalchemy as sa
from alembic import op

revision = "0003_faults"
down_revision = "0002_memory"


def upgrade() -> None:
    """Add the column."""
    op.add_column("turns", sa.Column("fault", sa.Text(), server_default="", nullable=False))
