"""Checks of this machine: the settings as a whole, the home, the disk, the database, the port, the sandbox."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.cli.checks import Finding, of_config
from gateway.errors import ConfigError, GatewayError, StorageError
from gateway.home import Home

if TYPE_CHECKING:
    from gateway.cli.status import Standing
    from gateway.config import Config
    from gateway.storage.inspection import Inspection

MEGABYTE = 1024 * 1024
ROOM = 200 * MEGABYTE
"""Free space below which a day of talk may fill the disk."""


async def check_plan(config: Config) -> AsyncIterator[Finding]:
    """Check what no single setting can say: whether they fit together."""
    from gateway.app.plan import plan_of
    from gateway.web.settings import read_password

    why = "the gateway does not start"
    for read in (lambda: plan_of(config), lambda: read_password(config.settings.web, config.home.path)):
        try:
            read()
        except ConfigError as error:
            for finding in of_config(error, "configuration", why):
                yield finding


async def check_home(home: Home) -> AsyncIterator[Finding]:
    """Check that the home can be written, and that nobody else can read it."""
    there = _nearest(home.path)
    if not there.is_dir():
        yield Finding("home", f"{there} is not a directory", "everything is kept there", f"mv {there} {there}.old")
        return
    if not os.access(there, os.W_OK | os.X_OK):
        why = "settings, conversations and logs are kept there"
        yield Finding("home", f"{there} cannot be written by this user", why, f"sudo chown $(id -un) {there}")
    if there == home.path and stat.S_IMODE(there.stat().st_mode) & 0o077:
        files = (home.env_file, home.config_file, home.state_db, home.gateway_db)
        if open_files := [file.name for file in files if _readable(file)]:
            problem = f"other users of this machine can read {', '.join(open_files)}"
            yield Finding("home", problem, "keys and conversations are in there", f"chmod 700 {home.path}")


async def check_disk(home: Home) -> AsyncIterator[Finding]:
    """Check that there is room for what will be said."""
    free = shutil.disk_usage(_nearest(home.path)).free
    if free < ROOM:
        problem = f"the disk that holds {home.path} has {free // MEGABYTE} MB left"
        yield Finding("disk", problem, "on a full disk no message is taken", f"free some space; du -sh {home.path}/*")


async def check_database(config: Config) -> AsyncIterator[Finding]:
    """Check that the database can be read, is whole, and is none of a later version."""
    why = "without it no message is taken"
    try:
        found = await _inspected(config)
    except ConfigError as error:
        for finding in of_config(error, "database", why):
            yield finding
        return
    except StorageError as error:
        problem, _, mend = str(error).partition("; ")
        yield Finding("database", problem, why, mend or "restore a backup, or set gateway.database to another place")
        return
    if found.newer:
        problem = f"{found.place} has schema {found.schema}, newer than this version's {found.newest}"
        yield Finding("database", problem, why, "update hermes-gateway, or restore a backup made before it ran")
    file = found.place.removeprefix("sqlite:///")
    if found.exists and file != found.place and not os.access(file, os.W_OK):
        yield Finding("database", f"{file} cannot be written by this user", why, f"sudo chown $(id -un) {file}*")


async def check_given_up(standing: Standing | None) -> AsyncIterator[Finding]:
    """Check that nothing was given up: an answer that a platform refused, a message that no turn could deal with."""
    from gateway.cli.listing import counted

    figures = standing.figures if standing else None
    if figures and figures.refused:
        problem = f"{counted(figures.refused, 'part')} of answers could not be delivered and will not be tried again"
        mend = "hermes-gateway deliveries list --dead; then deliveries retry or discard, with the numbers"
        yield Finding("deliveries", problem, "somebody waits for an answer that does not come", mend)
    if figures and figures.dead:
        problem = f"{counted(figures.dead, 'message')} could not be dealt with and will not be tried again"
        mend = "hermes-gateway deliveries list --in --dead; then deliveries retry or discard --in, with the numbers"
        yield Finding("messages", problem, "somebody waits for an answer that does not come", mend)


async def look(config: Config) -> Standing | None:
    """Return what the rows say; None where they cannot be read, which the check of the database tells."""
    from gateway.cli.status import standing_of

    try:
        return await asyncio.to_thread(standing_of, config)
    except GatewayError:
        return None


async def check_port(config: Config, standing: Standing | None) -> AsyncIterator[Finding]:
    """Check that the port is free, where no gateway can be there to use it."""
    from gateway.web.serve import listen

    web = config.settings.web
    if config.settings.gateway.role == "worker" or web.port == 0 or standing is None or standing.gateways:
        return
    try:
        listen(web.host, web.port).close()
    except ConfigError as error:
        for finding in of_config(error, "web", "the gateway does not start"):
            yield finding


async def check_terminal(config: Config) -> AsyncIterator[Finding]:
    """Check that commands of the agent can be run in their sandbox."""
    from gateway.agent.tools.shell import Terminal

    settings = config.settings.terminal
    if settings.backend == "none":
        return
    if problem := await Terminal(settings).problem():
        what, _, mend = problem.partition(": ")
        mend = f"{mend}; or " if mend else ""
        why = "the agent refuses to run commands"
        yield Finding("terminal", what, why, f"{mend}hermes-gateway config set terminal.backend none")


async def _inspected(config: Config) -> Inspection:
    from gateway.storage.inspection import inspect

    return await asyncio.to_thread(inspect, config.settings.gateway.database, config.home.path, thorough=True)


def _nearest(path: Path) -> Path:
    """Return the path, or what there is of the way to it."""
    return next(place for place in (path, *path.parents) if os.path.exists(place))


def _readable(file: Path) -> bool:
    try:
        return bool(file.stat().st_mode & 0o044)
    except OSError:
        return False
