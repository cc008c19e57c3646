"""Alembic's folder: `env` runs inside a connection of ours; `versions` holds one file per revision."""
