"""Commands that take the options of all, before or after their own, and groups that import a command when it is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from gateway.cli import exits
from gateway.cli.output import Failure, Options, Output


class GlobalOption(click.Option):
    """An option of every command; its value goes to `Options`."""


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if not value or parameter.name is None:
        return
    options = context.find_root().obj
    if parameter.name == "no_color":
        options.color = False
    else:
        setattr(options, parameter.name, value)


def _global_options() -> list[click.Parameter]:
    def option(*names: str, help: str, **kind: Any) -> click.Parameter:
        return GlobalOption(names, help=help, expose_value=False, callback=_remember, **kind)

    return [
        option("--home", metavar="DIRECTORY", help="The home, in place of HERMES_HOME and ~/.hermes."),
        option("--json", is_flag=True, help="Print one JSON document."),
        option("-q", "--quiet", is_flag=True, help="Print the result only."),
        option("-v", "--verbose", count=True, help="Say more; twice: everything."),
        option("--debug", is_flag=True, help="Show where in the program an error arose."),
        option("--no-color", is_flag=True, help="No colours."),
    ]


class _Described:
    """Shows the options of every command apart from its own."""

    params: list[click.Parameter]

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        options = [parameter for parameter in self.params if isinstance(parameter, click.Option)]
        own = [option for option in options if not isinstance(option, GlobalOption)]
        shared = [option for option in options if isinstance(option, GlobalOption)]
        for title, listed in (("Options", own), ("Options of every command", shared)):
            if records := [record for option in listed if (record := option.get_help_record(context))]:
                with formatter.section(title):
                    formatter.write_dl(records)


class Command(_Described, click.Command):
    """A command."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.params += _global_options()


class Group(_Described, click.Group):
    """Commands by name, each with the line of help that is shown before it is imported."""

    def __init__(self, name: str, commands: Mapping[str, tuple[str, str]], **settings: Any) -> None:
        super().__init__(name, no_args_is_help=True, **settings)
        self.params += _global_options()
        self.lazy = commands

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self.lazy)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self.lazy:
            near = get_close_matches(name, self.lazy, n=1)
            hint = f"did you mean {near[0]}?" if near else f"see {context.command_path} --help"
            raise Failure(f"there is no command {name}", code=exits.USAGE, hint=hint)
        module, _, attribute = self.lazy[name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_) for name, (_, help_) in self.lazy.items()])
        super().format_options(context, formatter)


def command(name: str) -> Callable[[Callable[..., Any]], Command]:
    """Make a command of a function whose first parameter is the `Output`."""

    def made(function: Callable[..., Any]) -> Command:
        def run(*arguments: Any, **values: Any) -> Any:
            return function(Output(options()), *arguments, **values)

        run.__doc__ = function.__doc__
        run.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
        return click.command(name, cls=Command)(run)

    return made


def options() -> Options:
    """Return the options of every command, as given so far."""
    found: Options = click.get_current_context().find_root().obj
    return found
