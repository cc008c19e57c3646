"""Where rows live. `open_database` is the only place that knows there are two kinds."""

from __future__ import annotations

from pathlib import Path

from gateway.errors import ConfigError
from gateway.storage.database import Database
from gateway.storage.sqlite import BUSY_SECONDS, SQLite, choose_file


def open_database(url: str, home: Path, *, patience: float = BUSY_SECONDS) -> Database:
    """
    Return the database of a URL, not yet entered.

    ``sqlite:///state.db`` is relative to the home, ``sqlite:////var/x.db`` absolute; ``postgresql://user@host/name``.
    `patience`: the seconds that another program may keep a SQLite file locked.
    """
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return SQLite(choose_file(home / rest[1:], patience), busy_seconds=patience)
    if scheme in {"postgres", "postgresql"}:
        from gateway.storage.postgres import Postgres

        return Postgres(url)
    # The URL itself is not repeated: it may hold a password.
    raise ConfigError(
        "gateway.database: this is not a database we know",
        hint="write sqlite:///state.db or postgresql://user@host/name",
    )
