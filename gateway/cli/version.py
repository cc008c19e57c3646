"""``version``: which gateway this is, and on what it runs."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

from gateway.cli.command import command
from gateway.cli.output import Output


@command("version")
def version(output: Output) -> None:
    """Print the version of the gateway, of Python and of the system."""
    try:
        number = installed("hermes-gateway")
    except PackageNotFoundError:
        number = "unknown"
    python, system = platform.python_version(), f"{platform.system()} {platform.machine()}"
    output.answer(
        {"version": number, "python": python, "platform": system},
        [f"hermes-gateway {number} (Python {python}, {system})"],
    )
