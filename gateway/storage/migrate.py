"""Brings a database to the newest schema, by the Alembic revisions in `migrations/versions`, each run once."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from gateway.errors import StorageError

FOLDER = Path(str(files("gateway.storage"))) / "migrations"


def migrate(connection: Connection) -> None:
    """Upgrade inside the caller's transaction. A schema we do not know, because it is newer, raises `StorageError`."""
    known = sorted(path.stem for path in (FOLDER / "versions").glob("[0-9]*.py"))
    at = current(connection)
    if at == known[-1]:
        return
    if at and at not in known:
        raise StorageError(
            f"the database has schema {at}, newer than this version's {known[-1]}; update hermes-gateway"
            " or restore a backup made before the other version ran"
        )
    _upgrade(connection)


def current(connection: Connection) -> str:
    """Return the revision the database is at; empty where it has none."""
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar() or ""


def _upgrade(connection: Connection) -> None:
    # Alembic takes half a second to import, and nearly every start finds the newest schema.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
