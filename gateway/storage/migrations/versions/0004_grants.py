"""Whether an account has its person's role by itself, or belongs to it only while the settings say so."""

import sqlalchemy as sa
from alembic import op

revision = "0004_grants"
down_revision = "0003_faults"


def upgrade() -> None:
    """Add the column; so far only browsers have proved it, by the owner's link."""
    op.add_column("identities", sa.Column("grants", sa.Boolean(), server_default=sa.text("false"), nullable=False))
    op.execute("UPDATE identities SET grants = true WHERE account LIKE 'webchat:%'")
