"""The command line as such: help, exit codes, what goes to stdout and what to stderr."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gateway.cli import exits, main, root
from gateway.cli.command import Group, command
from gateway.cli.output import Failure, Output
from gateway.errors import (
    AuthFailed,
    ConfigError,
    GatewayError,
    ModelBusy,
    StorageError,
    Throttled,
    TokenRefused,
    Unreachable,
)
from gateway.home import HomeInUse

HEAVY = ("aiogram", "openai", "fastapi", "sqlalchemy", "structlog", "pydantic", "ruamel", "rich", "asyncio")


def run(*arguments: str, code: str = "from gateway.cli import main; main()") -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arguments", [["--help"], ["config", "--help"], ["run", "--help"], ["version"]])
def test_help_imports_nothing_that_takes_its_time(arguments: list[str]) -> None:
    code = (
        "import atexit, sys; from gateway.cli import main\n"
        f"atexit.register(lambda: print(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr))\n"
        "main()"
    )
    result = run(*arguments, code=code)
    assert (result.returncode, result.stderr) == (0, "[]\n" if arguments != ["run", "--help"] else "['asyncio']\n")
    assert result.stdout


def test_help_lists_every_command_with_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["--help"])
    assert raised.value.code == 0
    shown = capsys.readouterr().out
    for name, (_, line) in root.lazy.items():
        assert f"  {name} " in shown
        assert line[:40] in shown


@pytest.mark.parametrize("name", list(root.lazy))
def test_every_command_that_is_listed_is_there_and_takes_the_options_of_all(name: str) -> None:
    found = root.get_command(click.Context(root), name)
    assert isinstance(found, click.Command)
    assert found.name == name
    assert {"home", "json", "quiet", "verbose", "debug", "no_color"} <= {parameter.name for parameter in found.params}


def test_without_a_command_there_is_help_and_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main([])
    assert raised.value.code == exits.USAGE
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("Usage: hermes-gateway")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["configg"], "hermes-gateway: there is no command configg; did you mean config?\n"),
        (["zzz"], "hermes-gateway: there is no command zzz; see hermes-gateway --help\n"),
        (["config", "shw"], "hermes-gateway: there is no command shw; did you mean show?\n"),
        (["version", "x"], "hermes-gateway: Got unexpected extra argument (x); see hermes-gateway version --help\n"),
        (["version", "--zzz"], "hermes-gateway: No such option '--zzz'; see hermes-gateway version --help\n"),
        (["config", "get"], "hermes-gateway: Missing argument 'KEY'; see hermes-gateway config get --help\n"),
    ],
)
def test_what_is_not_understood_is_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    assert raised.value.code == exits.USAGE
    assert capsys.readouterr() == ("", said)


@pytest.mark.parametrize("arguments", [["configg", "--json"], ["--json", "version", "x"], ["config", "--json", "get"]])
def test_with_json_a_mistake_is_a_document_too(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    assert raised.value.code == exits.USAGE
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert document["ok"] is False
    assert document["error"]["type"] == "usage"
    assert set(document["error"]) == {"type", "message", "hint"}
    assert captured.err == ""


@pytest.mark.parametrize("arguments", [["--json", "version"], ["version", "--json"]])
def test_an_option_of_all_may_stand_anywhere(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    assert raised.value.code == 0
    assert set(json.loads(capsys.readouterr().out)) == {"version", "python", "platform"}


def test_the_version_names_the_gateway_and_what_it_runs_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["version"])
    assert capsys.readouterr().out.startswith("hermes-gateway 0.")


ERRORS = {
    "config": (ConfigError("wrong", file="config.yaml", line=1, column=2), 4, "config.yaml:1:2: wrong"),
    "in-use": (HomeInUse("another gateway runs on this home: pid 1"), 75, "hermes-gateway: another gateway runs on"),
    "auth": (AuthFailed("the key is wrong"), 6, "hermes-gateway: the key is wrong"),
    "token": (TokenRefused("the token is refused"), 6, "hermes-gateway: the token is refused"),
    "throttled": (Throttled(3), 75, "hermes-gateway: the platform asks to wait 3 s"),
    "busy": (ModelBusy("busy"), 5, "hermes-gateway: busy"),
    "unreachable": (Unreachable("no answer"), 5, "hermes-gateway: no answer"),
    "storage": (StorageError("the database is locked"), 75, "hermes-gateway: the database is locked"),
    "other": (GatewayError("something"), 1, "hermes-gateway: something"),
    "port": (OSError(98, "Address already in use"), 1, "hermes-gateway: Address already in use"),
    "file": (PermissionError(13, "Permission denied", "/x"), 1, "hermes-gateway: /x: Permission denied"),
    "asked": (Failure("not there", code=exits.NOT_FOUND, hint="look"), 3, "hermes-gateway: not there; look"),
    "stopped": (KeyboardInterrupt(), 130, "hermes-gateway: interrupted"),
    "group": (
        ExceptionGroup(
            "", [OSError(98, "Address already in use"), ExceptionGroup("", [AuthFailed("the key is wrong")])]
        ),
        6,
        "hermes-gateway: the key is wrong",
    ),
}


@command("fail")
@click.argument("how")
def failing(output: Output, how: str) -> None:
    """Fail as asked."""
    raise ERRORS[how][0]


@command("say")
def saying(output: Output) -> int:
    """Say something."""
    output.note("by the way")
    output.warn(["careful"])
    output.answer({"text": "🤖 \ud83d"}, ["🤖 \ud83d"])
    return exits.FAILURE


@command("break")
def breaking(output: Output) -> None:
    """Break."""
    raise ZeroDivisionError("secret-s3cret")


@command("task")
def tasking(output: Output) -> None:
    """Fail in a task."""

    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            await group.create_task(asyncio.sleep(0))
            raise ConfigError("wrong")

    asyncio.run(work())


COMMANDS = {
    name: (f"{__name__}:{attribute}", "x")
    for name, attribute in {"fail": "failing", "say": "saying", "break": "breaking", "task": "tasking"}.items()
}


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> Group:
    """A command line with commands of these tests."""
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    monkeypatch.setattr(root, "lazy", {**root.lazy, **COMMANDS})
    return root


@pytest.mark.usefixtures("others")
class TestAnswers:
    @pytest.mark.parametrize("how", list(ERRORS))
    def test_every_error_has_its_exit_code_and_one_line(self, how: str, capsys: pytest.CaptureFixture[str]) -> None:
        _, code, said = ERRORS[how]
        with pytest.raises(SystemExit) as raised:
            main(["fail", how])
        assert raised.value.code == code
        captured = capsys.readouterr()
        assert captured.out == ""
        shown = captured.err.removeprefix("\n") if how == "stopped" else captured.err  # click ends the line of ^C
        assert shown.startswith(said)
        assert shown.count("\n") == 1

    @pytest.mark.parametrize("how", list(ERRORS))
    def test_with_json_every_error_is_one_document(self, how: str, capsys: pytest.CaptureFixture[str]) -> None:
        _, code, _ = ERRORS[how]
        with pytest.raises(SystemExit) as raised:
            main(["fail", how, "--json"])
        assert raised.value.code == code
        captured = capsys.readouterr()
        document = json.loads(captured.out)
        assert document["ok"] is False
        assert document["error"]["type"] == exits.NAMES[code]
        assert captured.err.strip() == ""
        if how == "config":
            assert document["error"]["problems"] == [
                {"file": "config.yaml", "line": 1, "column": 2, "message": "wrong", "hint": ""}
            ]

    def test_an_error_of_a_task_is_that_error(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as raised:
            main(["task"])
        assert raised.value.code == exits.CONFIG
        assert capsys.readouterr().err == "wrong\n"

    def test_debug_shows_where(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            main(["fail", "auth", "--debug"])
        shown = capsys.readouterr().err
        assert "Traceback (most recent call last)" in shown
        assert shown.endswith("hermes-gateway: the key is wrong\n")

    def test_results_go_to_stdout_and_the_rest_to_stderr(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as raised:
            main(["say"])
        assert raised.value.code == exits.FAILURE
        assert capsys.readouterr() == ("🤖 \\ud83d\n", "by the way\nwarning: careful\n")

    def test_quiet_says_the_result_only(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            main(["-q", "say"])
        assert capsys.readouterr() == ("🤖 \\ud83d\n", "")

    def test_json_is_exactly_one_document(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            main(["say", "--json"])
        captured = capsys.readouterr()
        assert json.loads(captured.out) == {"text": "🤖 \ud83d"}
        assert captured.out.isascii()
        assert captured.err == ""


BREAKING = (
    "import sys; sys.path.insert(0, '.'); from gateway.cli import main, root\n"
    "root.lazy = {'break': ('tests.unit.cli.test_command_line:breaking', 'x')}\nmain()"
)


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_an_error_of_our_own_shows_no_traceback(more: list[str]) -> None:
    result = run("break", *more, code=BREAKING)
    assert result.returncode == exits.FAILURE
    assert "Traceback" not in result.stderr + result.stdout
    assert "s3cret" not in result.stderr + result.stdout
    if more:
        assert json.loads(result.stdout)["error"]["message"] == "an error of the gateway itself (ZeroDivisionError)"
    else:
        assert result.stderr == (
            "hermes-gateway: an error of the gateway itself (ZeroDivisionError); run it again with --debug\n"
        )


def test_with_debug_an_error_of_our_own_does() -> None:
    result = run("break", "--debug", code=BREAKING)
    assert result.returncode == exits.FAILURE
    assert "ZeroDivisionError" in result.stderr
    assert "Traceback" in result.stderr


def test_it_can_be_run_as_a_module(tmp_path: Path) -> None:
    arguments = [sys.executable, "-m", "gateway.cli", "config", "path", "--json", "--home", str(tmp_path)]
    result = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert json.loads(result.stdout)["home"] == str(tmp_path)
