"""
Starts gateways quickly: a process that has imported everything forks one whenever it is told to.

What the child runs is the command line itself, with its arguments and a log of its own; only the two seconds of imports
are spared. Orders come as JSON lines on standard input, answers go to standard output; when the input ends, so do all
children.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

PRELOADED = (
    "gateway.cli.run",
    "gateway.app.main",
    "gateway.bus.redis",
    "gateway.llm.openai",
    "gateway.log.setup",
    "gateway.storage.migrate",
    "gateway.storage.postgres",
    "gateway.storage.sqlite",
    "adapters.telegram.adapter",
    "adapters.webhook",
    "alembic.command",
    "psycopg_pool",
    "sqlalchemy.dialects.postgresql.psycopg",
    "uvicorn.protocols.http.h11_impl",
)


class Nursery:
    """The client side; `start` returns a process id."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(environment),
            cwd=Path(__file__).resolve().parents[2],
        )
        self._answer()

    def start(self, arguments: Sequence[str], log: Path) -> int:
        return int(self._order(start=list(arguments), log=str(log)))

    def signal(self, process: int, number: signal.Signals) -> None:
        self._order(signal=process, number=int(number))

    def code(self, process: int, *, wait: bool) -> int | None:
        """Return how a process ended, negative for a signal; None while it runs."""
        answer = self._order(code=process, wait=wait)
        return None if answer is None else int(answer)

    def close(self) -> None:
        self._process.communicate()

    def _order(self, **order: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the nursery ended with {self._process.wait()}")
        return json.loads(line)


def main() -> None:
    for module in PRELOADED:
        import_module(module)
    assert threading.active_count() == 1, "a fork takes one thread along"
    running: set[int] = set()
    tell(0)
    for line in sys.stdin.buffer:
        order = json.loads(line)
        if "start" in order:
            child = os.fork()
            if not child:
                become(order["start"], order["log"])
                return
            running.add(child)
            tell(child)
        elif "signal" in order:
            os.kill(order["signal"], order["number"])
            tell(0)
        else:
            ended, status = os.waitpid(order["code"], 0 if order["wait"] else os.WNOHANG)
            running.discard(ended)
            tell(os.waitstatus_to_exitcode(status) if ended else None)
    for child in running:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


def tell(answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def become(arguments: Sequence[str], log: str) -> None:
    """Be a gateway."""
    from gateway.cli import main as command_line

    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    command_line(arguments)


if __name__ == "__main__":
    main()
