"""From the options of a command to the configuration and the rooms of its home."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gateway.cli import exits
from gateway.cli.logged import redact_log
from gateway.cli.output import Failure, Output

if TYPE_CHECKING:
    from gateway.config import Config
    from gateway.rooms import Rooms

T = TypeVar("T")
FEW = 3
"""Warnings that every command repeats; a home of hermes-agent may have fifty."""


def load_config(output: Output) -> Config:
    """Read the configuration of the home that was named, and pass its warnings on, or their number."""
    from gateway.config import load
    from gateway.log.redact import Redactor

    config = load(Path(output.options.home) if output.options.home else None)
    redact_log(Redactor(config.secrets))
    many = f"{len(config.warnings)} warnings about the settings: hermes-gateway config validate lists them"
    output.warn(config.warnings if len(config.warnings) <= FEW else [many])
    return config


def of_profile(config: Config, profile: str) -> Config:
    """Return the settings of a profile; none, or `main`, is the gateway's own home."""
    from gateway.sessions.keys import NAMESPACE

    if profile in {"", NAMESPACE}:
        return config
    if profile not in config.profiles:
        there = ", ".join(config.profiles) or "none but the main one"
        raise Failure(f"there is no profile {profile}", code=exits.NOT_FOUND, hint=f"there are {there}")
    return config.profiles[profile]


def in_rooms(output: Output, work: Callable[[Rooms], Awaitable[T]]) -> T:
    """Open the rooms of the home, and do the work there."""
    return asyncio.run(_in_rooms(load_config(output), work))


async def _in_rooms(config: Config, work: Callable[[Rooms], Awaitable[T]]) -> T:
    from gateway.rooms import NoDatabase, open_rooms

    try:
        async with open_rooms(config) as rooms:
            return await work(rooms)
    except NoDatabase as error:
        raise Failure(str(error), code=exits.NOT_FOUND, hint="name another home with --home") from None
