"""A cable to a server on this machine that can be cut, plugged in again, and hold up whatever goes through it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit


class Cable:
    """Listens at a port of its own and carries bytes both ways, while it is plugged in and not `held`."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._parts, self._far = parts, (parts.hostname, parts.port)
        self._port = 0
        self._server: asyncio.Server | None = None
        self._ends: set[asyncio.StreamWriter] = set()
        self._flows = asyncio.Event()
        self._flows.set()
        self.connections = 0
        """How often somebody connected."""

    @property
    def url(self) -> str:
        return self._parts._replace(netloc=f"127.0.0.1:{self._port}").geturl()

    async def __aenter__(self) -> Self:
        await self.plug()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.cut()

    async def plug(self) -> None:
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        if self._server is None:
            return
        server, self._server = self._server, None
        server.close()
        self._flows.set()
        for end in self._ends:
            end.transport.abort()
        await server.wait_closed()

    def hold(self) -> None:
        """Keep every connection open and carry nothing."""
        self._flows.clear()

    def let_go(self) -> None:
        self._flows.set()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(OSError):
            far_reader, far_writer = await asyncio.open_connection(*self._far)
            both = {writer, far_writer}
            self._ends |= both
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._pour(reader, far_writer))
                    group.create_task(self._pour(far_reader, writer))
            finally:
                self._ends -= both

    async def _pour(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                await self._flows.wait()
                writer.write(data)
                await writer.drain()
        writer.transport.abort()
