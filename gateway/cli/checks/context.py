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
        what, _, mend = problem.rpartition(": ")
        yield Finding("window", what, "a conversation has no room to be compressed to", mend)


async def check_engine(config: Config) -> AsyncIterator[Finding]:
    """Check that there is the context engine that is chosen, and that it can be made."""
    from gateway.agent.context.compressor import Compressor
    from gateway.agent.context.engines import INSTEAD, Chosen, open_engine

    settings, told = config.settings, list[str]()
    chosen = Chosen(settings.context.engine, settings.compression, config.home.path, settings.plugins.allow)

    def work() -> None:
        open_engine(chosen, lambda: Compressor(settings.compression, str), told.append)()

    await asyncio.to_thread(work)
    for problem in told:
        what, _, mend = problem.replace(INSTEAD, "").rpartition("; ")
        yield Finding("context engine", what or mend, STANDS_IN, mend if what else f"mend the plugin {chosen.name}")
