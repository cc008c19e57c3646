"""What a command says: its data to stdout, the rest to stderr; with ``--json`` one document, whatever happens."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import click

from gateway.cli import exits
from gateway.errors import ConfigError, GatewayError


@dataclass(slots=True)
class Options:
    """What every command takes, wherever it stood on the command line."""

    home: str = ""
    json: bool = False
    quiet: bool = False
    verbose: int = 0
    debug: bool = False
    color: bool | None = None


class Failure(Exception):
    """A command did not do what it was asked. The text is one sentence; `hint` says what to do."""

    def __init__(self, text: str, *, code: int = exits.FAILURE, hint: str = "") -> None:
        super().__init__(text)
        self.text, self.code, self.hint = text, code, hint


@dataclass(frozen=True, slots=True)
class Output:
    options: Options

    def answer(self, document: Any, lines: Iterable[str]) -> None:
        """Say the result: the document for programs, the lines for people."""
        if self.options.json:
            print(json.dumps(document, ensure_ascii=True, indent=2))
            return
        for line in lines:
            print(_printable(line, sys.stdout.encoding))

    def note(self, text: str) -> None:
        """Say something that is not the result."""
        if not self.options.quiet and not self.options.json:
            print(_printable(text, sys.stderr.encoding), file=sys.stderr)

    def warn(self, warnings: Iterable[str]) -> None:
        for warning in warnings:
            self.note(f"warning: {warning}")


def _printable(text: str, encoding: str | None) -> str:
    encoding = encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def fail(error: BaseException, options: Options) -> int:
    """Say what went wrong and return the exit code."""
    leaf = _leaf(error)
    code, text, hint = _said(leaf)
    if options.json:
        described: dict[str, Any] = {"type": exits.NAMES[code], "message": text, "hint": hint}
        if isinstance(leaf, ConfigError):
            described["problems"] = [_described(problem) for problem in _problems(leaf)]
        print(json.dumps({"ok": False, "error": described}, indent=2))
    else:
        # A place in a file begins its line, so that editors and people find it.
        who = "" if isinstance(leaf, ConfigError) else "hermes-gateway: "
        print(_printable(f"{who}{text}{hint and f'; {hint}'}", sys.stderr.encoding), file=sys.stderr)
    return code


def _leaf(error: BaseException) -> BaseException:
    """Of several errors at once, return the first whose exit code says most."""
    leaves = list(_leaves(error))
    return next((leaf for leaf in leaves if _said(leaf)[0] != exits.FAILURE), leaves[0])


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _leaves(one)
    else:
        yield error


def _said(error: BaseException) -> tuple[int, str, str]:
    """Return the code, the sentence and the hint of an error."""
    if isinstance(error, Failure):
        return error.code, error.text, error.hint
    if isinstance(error, click.Abort | KeyboardInterrupt):
        return exits.INTERRUPTED, "interrupted", ""
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        where = context.command_path if context else "hermes-gateway"
        return (
            error.exit_code,
            error.format_message().rstrip("."),
            f"see {where} --help" if error.exit_code == exits.USAGE else "",
        )
    if isinstance(error, GatewayError):
        return exits.code_of(error), str(error), ""
    if isinstance(error, OSError):
        named = f"{error.filename}: " if error.filename else ""
        return exits.FAILURE, f"{named}{error.strerror or error}", ""
    return exits.FAILURE, f"an error of the gateway itself ({type(error).__name__})", "run it again with --debug"


def _problems(error: ConfigError) -> tuple[ConfigError, ...]:
    problems: tuple[ConfigError, ...] = getattr(error, "problems", (error,))
    return problems


def _described(error: ConfigError) -> dict[str, Any]:
    return {
        "file": error.file,
        "line": error.line,
        "column": error.column,
        "message": error.text,
        "hint": error.hint,
    }
