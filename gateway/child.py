"""A child process that is spoken with in lines of JSON over its pipes."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

KILLED = 2.0
"""Seconds that the pipes of a killed child may take to close."""
KEPT = 2_000
"""Bytes of what the child last complained of."""


class Child(asyncio.SubprocessProtocol, ABC):
    """One run of the process, as asyncio's `subprocess_exec` makes it."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self._line = bytearray()
        self._words = b""
        self._transport: asyncio.SubprocessTransport | None = None

    @abstractmethod
    def said(self, line: dict[str, Any]) -> None:
        """Hear a line that the child wrote."""

    @abstractmethod
    def ended(self) -> None:
        """Tell whoever waits that the process has ended; all it said was heard."""

    @property
    def running(self) -> bool:
        return not self.gone.is_set()

    @property
    def pid(self) -> int | None:
        return self._transport.get_pid() if self._transport is not None else None

    @property
    def complaint(self) -> str:
        """The last line the child wrote to stderr, "" for none."""
        return self._words.decode("utf-8", "replace").strip().rpartition("\n")[2]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        assert isinstance(data, bytes)
        if fd == 2:
            self._words = (self._words + data)[-KEPT:]
            return
        self._line += data
        *lines, self._line = self._line.split(b"\n")
        for line in lines:
            self.said(json.loads(line))

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()
        self.ended()

    def send(self, line: Mapping[str, Any]) -> None:
        """Write a line, which is lost where the process is ending."""
        pipe = self._transport.get_pipe_transport(0) if self._transport is not None else None
        if isinstance(pipe, asyncio.WriteTransport):
            pipe.write(json.dumps(line).encode() + b"\n")

    async def stop(self, patience: float = 0) -> None:
        """Close what it reads from and let it finish for so many seconds, then kill it."""
        if self._transport is None:
            return
        pipe = self._transport.get_pipe_transport(0)
        if patience and pipe is not None:
            pipe.close()
        try:
            async with asyncio.timeout(patience):
                await self.gone.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):  # it has ended, and its pipes have something left to say
                self._transport.kill()
            with suppress(TimeoutError):  # of its own children one may hold the pipes
                async with asyncio.timeout(KILLED):
                    await self.gone.wait()
        finally:
            self._transport.close()
