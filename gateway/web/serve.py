"""Runs the server inside our own loop: an application and an address in, requests served until we are told to stop."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from gateway.errors import ConfigError

GRACE_SECONDS = 5
"""How long requests under way may take once the server stops; streams end at once."""

REASONS = {
    errno.EADDRINUSE: "is in use by another program",
    errno.EACCES: "may not be opened by this user",
    errno.EADDRNOTAVAIL: "is not an address of this machine",
}


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone: they are the gateway's."""
        yield


def listen(host: str, port: int) -> socket.socket:
    """Open the port, before anything else is started, or raise `ConfigError` with the reason."""
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"web.host: {host} is not an address", hint="write one like 127.0.0.1") from error
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        reason = REASONS.get(error.errno or 0, error.strerror or "cannot be opened")
        hint = "stop it, or choose another port in web.port" if error.errno == errno.EADDRINUSE else ""
        raise ConfigError(f"web.port: {place} {reason}", hint=hint) from error
    listener.setblocking(False)  # noqa: FBT003 - as the standard library has it
    return listener


def url_of(listener: socket.socket) -> str:
    """Return the address of the page, as a browser on this machine takes it."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


async def serve(
    app: ASGIApp, host: str, port: int, stopping: asyncio.Event, *, listener: socket.socket | None = None
) -> None:
    """
    Serve until `stopping` is set, then let requests under way end.

    `listener` is the port where `listen` has opened it before; it is closed in the end. Raises `ConfigError` where the
    port cannot be opened.
    """
    opened = listener or listen(host, port)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,  # who the peer is decides what it may do
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = _Server(config)
    try:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(server.serve([opened]))
            try:
                await stopping.wait()
            finally:
                stopping.set()  # also where we are cancelled: streams end, and requests under way get their answer
                server.should_exit = True
                await asyncio.wait((running,))
    finally:
        opened.close()
