"""``config``: the settings, shown, checked and changed. Nothing here shows a secret."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gateway.cli import exits
from gateway.cli.command import Group, command
from gateway.cli.output import Failure, Output

if TYPE_CHECKING:
    from gateway.config import Config
    from gateway.home import Home

HERE = "gateway.cli.config:"

config = Group(
    "config",
    {
        "validate": (f"{HERE}validate", "Check the settings; exit code 4 where something is wrong."),
        "show": (f"{HERE}show", "Print the settings in effect, without secrets."),
        "get": (f"{HERE}get", "Print one setting."),
        "set": (f"{HERE}set_", "Change one setting in config.yaml."),
        "unset": (f"{HERE}unset", "Take one setting out of config.yaml."),
        "schema": (f"{HERE}schema", "Print the JSON Schema of config.yaml."),
        "path": (f"{HERE}path", "Print where everything lies."),
    },
    help="Show, check and change the settings.",
)


def _load(output: Output) -> Config:
    from gateway.config import load

    loaded = load(_given(output))
    output.warn(loaded.warnings)
    return loaded


def _home(output: Output) -> Home:
    from gateway.config import find_home

    return find_home(_given(output))


def _given(output: Output) -> Path | None:
    return Path(output.options.home) if output.options.home else None


@command("validate")
def validate(output: Output) -> None:
    """Check config.yaml, .env and the environment, and those of all profiles, and list everything that is wrong."""
    loaded = _load(output)
    file = loaded.home.config_file
    text = f"{file} is valid" if file.exists() else f"there is no {file}; the defaults are valid"
    profiles = {name: str(own.home.path) for name, own in loaded.profiles.items()}
    document = {"ok": True, "file": str(file), "profiles": profiles, "warnings": list(loaded.warnings)}
    output.answer(document, [text, *(f"the profile {name} in {home} is valid" for name, home in profiles.items())])


@command("show")
@click.option("--origin", is_flag=True, help="Say where each value comes from.")
@click.option("--example", is_flag=True, help="Print a file with every setting at its default, and what it means.")
def show(output: Output, *, origin: bool, example: bool) -> None:
    """Print the settings in effect. Secrets are shown as ***."""
    from gateway.config import describe, present
    from gateway.config.loading import shape_of

    if example:
        text = describe.example(shape_of(set()))
        output.answer({"example": text}, [text.rstrip("\n")])
        return
    loaded = _load(output)
    document = present.origins(loaded) if origin else present.values(loaded)
    output.answer(document, present.lines(loaded, origins=origin))


@command("get")
@click.argument("key")
def get(output: Output, key: str) -> None:
    """Print the setting KEY, as in web.port. A section is printed whole, a secret as ***."""
    from gateway.config import present
    from gateway.config.describe import written

    path = _path(key)
    loaded = _load(output)
    try:
        value = present.value(loaded, path)
    except KeyError:
        raise _unknown(key, path) from None
    shown = value if isinstance(value, str) else written(value)
    output.answer({"key": key, "value": value}, [shown])


@command("set")
@click.argument("key")
@click.argument("value", required=False)
@click.option("--from-file", type=click.File("r", encoding="utf-8"), help="Read the value from a file; - is stdin.")
def set_(output: Output, key: str, value: str | None, from_file: Any) -> None:
    """
    Set KEY to VALUE in config.yaml, if the result is valid. Comments stay, the file before it goes to backups/.

    A list is written a,b or [a, b]. A secret is not taken from the command line: leave VALUE out to be asked for it.
    """
    path = _path(key)
    text = _text(key, path, value, from_file)
    _change(output, key, text)


@command("unset")
@click.argument("key")
def unset(output: Output, key: str) -> None:
    """Take KEY out of config.yaml, so that its default holds."""
    _change(output, key, None)


def _change(output: Output, key: str, text: str | None) -> None:
    from gateway.config import change

    path = _path(key)
    home = _home(output)
    try:
        changed = change(home, key, text)
    except KeyError:
        if text is None:
            raise Failure(f"{key} is not set in {home.config_file}", code=exits.NOT_FOUND) from None
        raise _unknown(key, path) from None
    output.warn(changed.warnings)
    origin = changed.origins.get(key)
    if text is not None and origin is not None and origin.file != home.config_file.name:
        output.note(f"warning: {key} is set in {home.config_file.name}, but {origin} wins over it")
    output.answer({"ok": True, "key": key, "file": str(home.config_file)}, [f"{home.config_file}: {key} is changed"])


def _text(key: str, path: tuple[str, ...], value: str | None, from_file: Any) -> str:
    """Return the value wherever it was given; a secret not on the command line, which others can read."""
    from gateway.config.loading import shape_of
    from gateway.config.shape import find

    slot = find(shape_of({*path[1:2]}), path)
    if value is not None and from_file is not None:
        raise Failure("give either a value or a file", code=exits.USAGE)
    if value is not None and slot is not None and slot.secret:
        hint = "leave the value out to be asked for it, pipe it in, or name a file with --from-file"
        raise Failure(f"{key} is a secret, and others can read the command line", code=exits.USAGE, hint=hint)
    if value is not None:
        return value
    if from_file is not None:
        return str(from_file.read()).rstrip("\r\n")
    if not sys.stdin.isatty():
        return sys.stdin.read().rstrip("\r\n")
    return str(click.prompt(key, hide_input=bool(slot and slot.secret), err=True))


@command("schema")
def schema(output: Output) -> None:
    """Print the JSON Schema of config.yaml, for editors and other programs."""
    from gateway.config.describe import json_schema
    from gateway.config.loading import shape_of

    document = json_schema(shape_of(set()))
    output.answer(document, [json.dumps(document, indent=2, ensure_ascii=False)])


@command("path")
def path(output: Output) -> None:
    """Print where the home is and what lies where in it."""
    home = _home(output)
    names = ("config_file", "env_file", "soul_file", "memories", "skills", "plugins", "state_db", "gateway_db")
    more = ("workspaces", "cache", "log_file", "lock_file", "pending", "backups")
    places = {"home": str(home.path), **{name: str(getattr(home, name)) for name in (*names, *more)}}
    width = max(map(len, places))
    output.answer(places, [f"{name:<{width}}  {place}" for name, place in places.items()])


def _path(key: str) -> tuple[str, ...]:
    from gateway.config.node import split

    try:
        return split(key)
    except ValueError as error:
        raise Failure(f"{key!r} is no key", code=exits.USAGE, hint=str(error)) from None


def _unknown(key: str, path: tuple[str, ...]) -> Failure:
    from gateway.config.loading import shape_of
    from gateway.config.sentences import did_you_mean
    from gateway.config.shape import nearest

    hint = did_you_mean((), nearest(shape_of(set()), path))
    return Failure(f"there is no setting {key}", code=exits.NOT_FOUND, hint=hint)
