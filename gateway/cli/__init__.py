"""``hermes-gateway``: the command line. In: arguments. Out: data on stdout, diagnostics on stderr, an exit code.

Nothing is imported here beyond click: a command brings what it needs when it runs.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from functools import partial
from types import TracebackType
from typing import NoReturn

import click

from gateway.cli import exits
from gateway.cli.command import Group
from gateway.cli.logged import Logged
from gateway.cli.output import Failure, Options, fail
from gateway.errors import GatewayError

COMMANDS = {
    "run": ("gateway.cli.run:run", "Run the gateway, until it is told to stop."),
    "chat": ("gateway.cli.chat:chat", "Talk with the agent in this terminal."),
    "status": ("gateway.cli.status:status", "Show how the gateway stands."),
    "health": ("gateway.cli.health:health", "Ask a running gateway whether it is well."),
    "doctor": ("gateway.cli.doctor:doctor", "Find what keeps the gateway from working, and how to mend it."),
    "sessions": ("gateway.cli.sessions:sessions", "List conversations, read them and search them."),
    "compaction": ("gateway.cli.compaction:compaction", "Show how conversations were compressed, and undo it."),
    "context": ("gateway.cli.context:context", "Show what fills the window of a conversation's model."),
    "context-files": ("gateway.cli.context_files:context_files", "Show what context files tell the agent."),
    "memory": ("gateway.cli.memory:memory", "Show, correct and erase what the agent remembers."),
    "skills": ("gateway.cli.skills:skills", "Show what the agent has learned to do, and decide on it."),
    "deliveries": ("gateway.cli.deliveries:deliveries", "List, retry and discard what was not delivered."),
    "config": ("gateway.cli.config:config", "Show, check and change the settings."),
    "version": ("gateway.cli.version:version", "Print the version."),
}

root = Group("hermes-gateway", COMMANDS, help="A self-hosted chat gateway: one agent session per conversation.")


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and leave with its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # Also what cannot be parsed is answered as it was asked.
    options = Options(json="--json" in given, debug="--debug" in given)
    sys.excepthook = partial(_unexpected, options)
    logging.lastResort = Logged()
    sys.exit(_run(given, options))


def _run(arguments: list[str], options: Options) -> int:
    try:
        code = root.main(arguments, prog_name="hermes-gateway", standalone_mode=False, obj=options)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        return exits.USAGE
    except (click.ClickException, click.Abort, KeyboardInterrupt, Failure, GatewayError, OSError) as error:
        if options.debug and not isinstance(error, click.ClickException):
            sys.__excepthook__(type(error), error, error.__traceback__)
        return fail(error, options)
    except BaseExceptionGroup as group:
        expected, others = group.split((KeyboardInterrupt, Failure, GatewayError, OSError))
        if others is not None or expected is None:
            raise
        return fail(expected, options)
    return code if isinstance(code, int) else exits.OK


def _unexpected(options: Options, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Take the place of the traceback, which is for those who ask for it."""
    if options.debug:
        sys.__excepthook__(kind, error, trace)
    fail(error, options)
