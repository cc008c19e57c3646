"""``run``: the gateway itself, in the foreground."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import click

from gateway.cli import exits
from gateway.cli.command import command
from gateway.cli.output import Output

LEVELS = ("", "debug", "debug")


@command("run")
@click.option("--host", default="", metavar="ADDRESS", help="Listen on this address (web.host).")
@click.option("--port", type=click.IntRange(0, 65_535), help="Listen on this port; 0 takes any free one (web.port).")
@click.option("--role", type=click.Choice(["all", "edge", "worker"]), help="Do only a part (gateway.role).")
def run(output: Output, *, host: str, port: int | None, role: str | None) -> int:
    """Run the gateway until it is told to stop by Ctrl-C or SIGTERM; running turns may end first."""
    gc.disable()  # until the rooms are open: a start makes much that stays, and a seventh of it was spent looking
    from gateway.config import load

    asked = output.options
    level = "warning" if asked.quiet else LEVELS[min(asked.verbose, 2)]
    asked_for = {"web.host": host, "web.port": port, "gateway.role": role, "log.level": level}
    flags = {key: str(value) for key, value in asked_for.items() if value not in {"", None}}
    config = load(Path(asked.home) if asked.home else None, flags=flags)

    from gateway.app.main import main
    from gateway.log.setup import configure

    config.home.create()
    color = asked.color if asked.color is not None else config.color
    with configure(config.settings.log, config.home, config.secrets, color=color):
        return asyncio.run(main(config)) or exits.OK
