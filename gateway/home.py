"""A home directory and what lies in it.

In: the directory named by ``--home``, by ``HERMES_HOME`` or by nobody (``~/.hermes``). Out: the path of each thing in
it, the check that it can be written, and the lock that keeps a second gateway off it. The layout is the reference's.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from gateway.errors import ConfigError, GatewayError

DEFAULT = "~/.hermes"


class HomeInUse(GatewayError):
    """Another gateway holds the lock of this home: come back when it is gone (exit code 75)."""


@dataclass(frozen=True, slots=True)
class Home:
    """The names of everything in a home; nothing here says that it exists."""

    path: Path

    @classmethod
    def find(cls, given: Path | str | None, environ: Mapping[str, str]) -> Self:
        """Choose the home: the one given, else ``HERMES_HOME``, else ``~/.hermes``."""
        name = str(given or "") or environ.get("HERMES_HOME", "") or DEFAULT
        if "\0" in name:
            raise ConfigError("the name of the home holds a NUL character")
        try:
            return cls(Path(os.path.abspath(Path(name).expanduser())))
        except (RuntimeError, OSError) as error:
            raise ConfigError(f"no home: {error}", hint="name one with --home or HERMES_HOME") from error

    @property
    def config_file(self) -> Path:
        return self.path / "config.yaml"

    @property
    def env_file(self) -> Path:
        return self.path / ".env"

    @property
    def soul_file(self) -> Path:
        return self.path / "SOUL.md"

    @property
    def memories(self) -> Path:
        return self.path / "memories"

    @property
    def skills(self) -> Path:
        return self.path / "skills"

    @property
    def plugins(self) -> Path:
        return self.path / "plugins"

    @property
    def state_db(self) -> Path:
        return self.path / "state.db"

    @property
    def gateway_db(self) -> Path:
        """What is used where `state_db` is another program's; `gateway.storage` decides."""
        return self.path / "gateway.db"

    @property
    def workspaces(self) -> Path:
        return self.path / "workspaces"

    @property
    def cache(self) -> Path:
        return self.path / "cache"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def log_file(self) -> Path:
        return self.logs / "agent.log"

    @property
    def lock_file(self) -> Path:
        return self.path / "gateway.lock"

    @property
    def pending(self) -> Path:
        return self.path / "pending"

    @property
    def backups(self) -> Path:
        return self.path / "backups"

    def check(self) -> None:
        """Raise `ConfigError` where the home is something else than a directory; it need not exist."""
        if os.path.exists(self.path) and not os.path.isdir(self.path):
            raise ConfigError(
                f"the home {self.path} is a file, not a directory",
                hint="name a directory with --home or HERMES_HOME",
            )

    def create(self) -> None:
        """Make the directory, for its owner only; raise `ConfigError` where it cannot be written."""
        self.check()
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.path):
                pass
        except OSError as error:
            raise ConfigError(
                f"the home {self.path} cannot be written: {error.strerror or error}",
                hint="give it to this user, or name another with --home or HERMES_HOME",
            ) from error

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other gateways off this home; raise `HomeInUse` at once where one is there. Ends with the process."""
        lock = FileLock(self.lock_file, timeout=0, mode=0o600, thread_local=False)
        try:
            lock.acquire()
        except Timeout as error:
            raise HomeInUse(f"another gateway runs on this home: {_holder(self.lock_file)}") from error
        except OSError as error:
            raise ConfigError(f"{self.lock_file} cannot be locked: {error.strerror or error}") from error
        try:
            _sign(self.lock_file)
            yield
        finally:
            lock.release()


def _sign(file: Path) -> None:
    """Say in the file who holds the lock; on a full disk it is held all the same."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    with suppress(OSError):
        file.write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "started": started}), "utf-8")


def _holder(file: Path) -> str:
    """Say who signed a lock file; another program's may say anything."""
    try:
        signed = json.loads(file.read_bytes())
        return f"pid {int(signed['pid'])} on {signed['host']} since {signed['started']} ({file})"
    except (OSError, ValueError, KeyError, TypeError):
        return f"{file} is locked"
