"""Runs one process of the gateway, from its configuration to its end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import secrets
import signal
import socket
import sys
from collections.abc import Iterator
from functools import partial

from gateway.app.gateway import Gateway
from gateway.app.minds import Minds
from gateway.app.plan import plan_of
from gateway.app.platforms import make_adapters
from gateway.app.process import Duties, Plan
from gateway.app.ready import checks
from gateway.app.runs import hooks_of
from gateway.app.terminal import PLATFORM, CommandLine
from gateway.config import Config
from gateway.supervise import beside
from gateway.web.app import create_app
from gateway.web.chat.adapter import WebChat
from gateway.web.serve import listen, serve, url_of
from gateway.web.settings import read_password
from gateway.web.site import Site

log = logging.getLogger(__name__)

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
"""How a process ends that was told to stop; the second signal does not wait."""


async def main(config: Config) -> int:
    """Run until told to stop; return the exit code. Raises a `GatewayError` where the start fails."""
    for warning in config.warnings:
        log.warning(warning)
    plan = plan_of(config)
    with contextlib.ExitStack() as held:
        stopped = held.enter_context(_signals())
        if plan.alone:
            held.enter_context(config.home.lock())
        await _serve(config, plan, stopped)
        return CODES[stopped.by] if stopped.by is not None else 0


class _Stopped:
    """The first signal that asked us to stop."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.by: signal.Signals | None = None

    def hear(self, by: signal.Signals) -> None:
        """Begin the drain; at the second signal, end at once."""
        if self.by is not None:
            os._exit(CODES[by])
        self.by = by
        self.event.set()


@contextlib.contextmanager
def _signals() -> Iterator[_Stopped]:
    loop, stopped = asyncio.get_running_loop(), _Stopped()
    for name in CODES:
        loop.add_signal_handler(name, partial(stopped.hear, name))
    try:
        yield stopped
    finally:
        for name in CODES:
            loop.remove_signal_handler(name)


async def _serve(config: Config, plan: Plan, stopped: _Stopped) -> None:
    web = config.settings.web
    edge = Duties.EDGE in plan.duties
    password = read_password(web, config.home.path) if edge else ""
    listener = listen(web.host, web.port) if edge else None
    try:
        minds = Minds(config)
        adapters = make_adapters(config.accounts) | {PLATFORM: CommandLine()}
        chat = WebChat(lambda: gateway.hints) if _has_webchat(config) else None
        if chat is not None:
            adapters["webchat"] = chat
        gateway = Gateway(plan, adapters, minds.of)
        async with minds, gateway:
            gc.freeze()  # what is here now stays; the collector need never look at it
            gc.enable()
            await _run(config, gateway, stopped, Doors(listener, chat, password))
    finally:
        if listener is not None:
            listener.close()


class Doors:
    """What the server opens with: the port, the web chat, the password."""

    def __init__(self, listener: socket.socket | None, chat: WebChat | None, password: str) -> None:
        self.listener, self.chat, self.password = listener, chat, password


def _has_webchat(config: Config) -> bool:
    return any(account.enabled and account.platform == "webchat" for account in config.accounts)


async def _run(config: Config, gateway: Gateway, stopped: _Stopped, doors: Doors) -> None:
    """Serve HTTP where this process is an edge, and run the rooms until told to stop."""
    ended = asyncio.Event()

    async def wait() -> None:
        await stopped.event.wait()
        log.info("stopping: running turns may take up to %g s", gateway.plan.turns.drain_seconds)
        gateway.stop()

    async def http(listener: socket.socket) -> None:
        token = secrets.token_urlsafe(32)
        site = Site(
            settings=config.settings.web.model_copy(update={"port": listener.getsockname()[1]}),
            database=gateway.database,
            hints=gateway.hints,
            metrics=gateway.metrics,
            stopping=ended,
            version=gateway.plan.version,
            password=doors.password,
            owner_token=token,
            joined=gateway.joined,
            lane=gateway.lane_of_browser,
            model=lambda visitor: gateway.model_at(gateway.lane_of_browser(visitor)),
            chat=doors.chat,
            hooks=hooks_of(gateway),
            checks=checks(gateway),
            draining=lambda: gateway.stopping,
        )
        _greet(url_of(listener), token if doors.chat is not None else "")
        await serve(create_app(site), config.settings.web.host, config.settings.web.port, ended, listener=listener)

    async with beside(wait(), *([http(doors.listener)] if doors.listener is not None else [])) as (_, *serving):
        await gateway.run()
        ended.set()
        for server in serving:
            await server


def _greet(url: str, token: str) -> None:
    """Say on the terminal where the page is, and which link makes a browser the owner's."""
    sys.stdout.write(f"The gateway runs. Web chat: {url}\n")
    if token:
        sys.stdout.write(f"You, the owner, use this link once: {url}owner?token={token}\n")
    sys.stdout.flush()
