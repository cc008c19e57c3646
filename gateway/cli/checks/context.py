"""Checks of what a conversation has room for, and of the engine that makes long ones shorter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING

from gateway.cli.checks import Finding
from gateway.errors import GatewayError

if TYPE_CHECKING:
    from gateway.config import Config

SECONDS = 15.0
"""How long the endpoint may take to say how large its model's window is."""
STANDS_IN = "the gateway runs, and the compressor stands in"


async def check_window(config: Config) -> AsyncIterator[Finding]:
    """Check that the prompt and the tools leave a conversation room; where that cannot be known, nothing is said."""
    from gateway.agent.context.settings import ContextSettings
    from gateway.app.fits import foreseen
    from gateway.log.redact import Redactor
    from gateway.rooms import Rooms
    from gateway.storage import open_database

    ours = config.settings.model_copy(update={"context": ContextSettings()})  # a plugin is looked at on its own
    try:
        database = open_database(config.settings.gateway.database, config.home.path)
        async with asyncio.timeout(SECONDS):
            problem = await foreseen(Rooms(replace(config, settings=ours), database, Redactor(config.secrets)))
    except (TimeoutError, GatewayError):
        return  # told by the checks of the model and of the settings
    if problem:
        what, mend = problem
        yield Finding("window", what, "a conversation has no room to be compressed to", mend)


async def check_engine(config: Config) -> AsyncIterator[Finding]:
    """Check that there is the context engine that is chosen, and that it can be made."""
    from gateway.agent.context.compressor import Compressor
    from gateway.agent.context.engines import Chosen, open_engine

    settings, found = config.settings, list[Finding]()
    chosen = Chosen(settings.context.engine, settings.compression, config.home.path, settings.plugins.allow)

    def warn(what: str, mend: str) -> None:
        found.append(Finding("context engine", what, STANDS_IN, mend))

    def work() -> None:
        open_engine(chosen, lambda: Compressor(settings.compression, str), warn)()

    await asyncio.to_thread(work)
    for finding in found:
        yield finding
