"""A gateway's home and the processes that live on it: started, killed, started again."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from tests.crash.nursery import Nursery
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.telegram_server import TelegramServer
from tests.services import Account

PATIENCE = 60.0
"""Seconds in which a process that was told to end does."""
CONFIG = """
model: {{base_url: "{model.base_url}", api_key: "{model.key}", context_length: 1000000}}
platforms:
  telegram: {{token: "{telegram.token}", api_base: "{telegram.url}", require_mention: false}}
  webchat: {{enabled: false}}
access: {{owners: [{owners}]}}
workspace: {{per: fixed, dir: "{workspace}"}}
gateway: {{database: "{database}", bus: "{bus}"}}
web: {{port: 0}}
"""
LOST = re.compile(r"lost \d+ shards")
TRACEBACK = "Traceback (most recent call last)"


class Process(Protocol):
    """One process of the gateway."""

    role: str

    def kill(self) -> float:
        """Kill it, and return when it was dead."""

    def stop(self) -> None:
        """Tell it to end."""

    def code(self) -> int | None:
        """Return its exit code once it has ended."""


@dataclass(slots=True)
class Forked:
    """A process out of the nursery: the command line without the time of its imports."""

    nursery: Nursery
    id: int
    role: str

    def kill(self) -> float:
        self.nursery.signal(self.id, signal.SIGKILL)
        self.nursery.code(self.id, wait=True)
        return time.monotonic()

    def stop(self) -> None:
        self.nursery.signal(self.id, signal.SIGTERM)

    def code(self) -> int | None:
        return self.nursery.code(self.id, wait=False)


@dataclass(slots=True)
class Executed:
    """A process as it is started in earnest."""

    process: subprocess.Popen[bytes]
    role: str

    def kill(self) -> float:
        self.process.kill()
        self.process.wait()
        return time.monotonic()

    def stop(self) -> None:
        self.process.terminate()

    def code(self) -> int | None:
        return self.process.poll()


@dataclass(slots=True)
class Site:
    """`forks` says how processes are started: out of the nursery, or by the program."""

    folder: Path
    forks: bool
    _held: ExitStack = field(default_factory=ExitStack)
    _nursery: Nursery | None = None

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def log(self) -> Path:
        return self.folder / "output.log"

    @property
    def calls(self) -> list[str]:
        """What the calls of the tool have left behind."""
        file = self.folder / "workspace" / "count"
        return file.read_text().split() if file.exists() else []

    def furnish(
        self, model: OpenAIServer, telegram: TelegramServer, *, owners: list[int], database: str, bus: str
    ) -> None:
        """Write the configuration."""
        workspace = self.folder / "workspace"
        workspace.mkdir()
        self.home.mkdir()
        named = ", ".join(f'"telegram:{user}"' for user in owners)
        text = CONFIG.format(
            model=model, telegram=telegram, owners=named, workspace=workspace, database=database, bus=bus
        )
        (self.home / "config.yaml").write_text(text)

    def start(self, role: str = "all") -> Process:
        arguments = ["--home", str(self.home), "run", "--role", role]
        if self.forks:
            if self._nursery is None:
                self._nursery = Nursery(self._environment())
                self._held.callback(self._nursery.close)
            return Forked(self._nursery, self._nursery.start(arguments, self.log), role)
        program = str(Path(sys.executable).with_name("hermes-gateway"))
        account = Account(os.geteuid(), os.getegid())
        with self.log.open("ab") as output:
            process = subprocess.Popen(
                account.command(program, *arguments), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env=self._environment(), cwd=self.folder,
            )  # fmt: skip
        return Executed(process, role)

    def _environment(self) -> Mapping[str, str]:
        kept = {"PATH", "LANG", "PYTHONPATH", "TMPDIR"} & os.environ.keys()
        return {name: os.environ[name] for name in kept} | {"HOME": str(self.folder)}

    async def end(self, process: Process) -> int:
        """Let a process drain, and return its exit code."""
        process.stop()
        async with asyncio.timeout(PATIENCE):
            while (code := process.code()) is None:
                await asyncio.sleep(0.02)
        return code

    def close(self) -> None:
        self._held.close()

    def losses(self) -> list[float]:
        """Return when a living process found that it had lost shards, on the monotonic clock."""
        ahead = time.time() - time.monotonic()
        lines = self.log.read_text(errors="replace").splitlines()
        entries = [json.loads(line) for line in lines if line.startswith("{") and LOST.search(line)]
        return [datetime.fromisoformat(entry["timestamp"]).timestamp() - ahead for entry in entries]

    def tracebacks(self) -> list[str]:
        """Return the last line of every traceback in the log."""
        return [part[:600] for part in self.log.read_text(errors="replace").split(TRACEBACK)[1:]]
