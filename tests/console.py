"""A command as a person runs it: arguments and standard input in, exit code and both outputs out. In this process."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from gateway.cli import main
from gateway.storage import open_database
from gateway.storage.database import Connection, Database

T = TypeVar("T")
VARIABLES = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "DATABASE_URL", "REDIS_URL", "TELEGRAM_BOT_TOKEN", "NO_COLOR")


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document there must be."""
        return json.loads(self.out)


@dataclass
class Console:
    """A terminal at a home of its own."""

    home: Path
    capture: pytest.CaptureFixture[str]
    patch: pytest.MonkeyPatch
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str, stdin: bytes = b"") -> Ran:
        self.capture.readouterr()
        with self.patch.context() as patch:
            for name in VARIABLES:
                patch.delenv(name, raising=False)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8"))
            patch.setattr(sys, "excepthook", sys.excepthook)
            with pytest.raises(SystemExit) as left:
                main(["--home", str(self.home), *arguments])
        said = self.capture.readouterr()
        assert isinstance(left.value.code, int)
        assert "Traceback" not in said.out + said.err
        return Ran(left.value.code, said.out, said.err)

    def configure(self, text: str) -> None:
        """Write config.yaml."""
        self.home.mkdir(mode=0o700, exist_ok=True)
        (self.home / "config.yaml").write_text(text, "utf-8")

    def write(self, job: Callable[[Connection], T]) -> T:
        """Change the rows as a gateway would."""
        return self.within(lambda database: database.write(job))

    def read(self, job: Callable[[Connection], T]) -> T:
        return self.within(lambda database: database.read(job))

    def within(self, work: Callable[[Database], Awaitable[T]]) -> T:
        async def do() -> T:
            async with open_database("sqlite:///state.db", self.home) as database:
                return await work(database)

        self.home.mkdir(mode=0o700, exist_ok=True)
        return asyncio.run(do())
