"""`config`: the settings shown, checked and changed from the command line."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Protocol

import pytest

from gateway.cli import exits, main

SECRET = "hunter2-hunter2"


class Run(Protocol):
    def __call__(self, *arguments: str, typed: str | None = None) -> tuple[int, str, str]: ...


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command on a home of its own; return the exit code, stdout and stderr."""
    monkeypatch.setitem(os.environ, "HERMES_HOME", str(tmp_path))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "DATABASE_URL", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)

    def running(*arguments: str, typed: str | None = None) -> tuple[int, str, str]:
        if typed is not None:
            monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        with pytest.raises(SystemExit) as raised:
            main(["config", *arguments])
        captured = capsys.readouterr()
        assert isinstance(raised.value.code, int)
        return raised.value.code, captured.out, captured.err

    return running


def written(home: Path, text: str) -> Path:
    file = home / "config.yaml"
    file.write_text(text, "utf-8")
    return file


class TestValidate:
    def test_a_file_that_is_right_is_said_to_be(self, run: Run, tmp_path: Path) -> None:
        file = written(tmp_path, "web: {port: 1}\n")
        assert run("validate") == (0, f"{file} is valid\n", "")

    def test_without_a_file_the_defaults_are(self, run: Run, tmp_path: Path) -> None:
        assert run("validate") == (0, f"there is no {tmp_path / 'config.yaml'}; the defaults are valid\n", "")

    def test_the_homes_of_profiles_are_checked_and_named(self, run: Run, tmp_path: Path) -> None:
        file, home = written(tmp_path, "profiles: [{home: coder, match: {chat: a}}]\n"), tmp_path / "coder"
        home.mkdir()
        assert run("validate") == (0, f"{file} is valid\nthe profile coder in {home} is valid\n", "")
        assert json.loads(run("validate", "--json")[1])["profiles"] == {"coder": str(home)}
        written(home, "agent: {max_turns: x}\n")
        code, _, err = run("validate")
        assert (code, err) == (
            exits.CONFIG,
            "coder/config.yaml:1:20: agent.max_turns: expects a whole number, got text\n",
        )

    def test_warnings_are_no_errors(self, run: Run, tmp_path: Path) -> None:
        written(tmp_path, "model: gpt-5\n")
        code, out, err = run("validate")
        assert (code, err) == (0, "warning: config.yaml:1:1: model: NAME is now model.default\n")
        assert "valid" in out
        code, out, err = run("validate", "--json")
        assert json.loads(out)["warnings"] == ["config.yaml:1:1: model: NAME is now model.default"]
        assert err == ""

    def test_every_mistake_is_a_line_that_begins_with_its_place(self, run: Run, tmp_path: Path) -> None:
        written(tmp_path, "platforms:\n  telegram:\n    alowed_users: [1]\nweb: {port: x}\n")
        assert run("validate") == (
            exits.CONFIG,
            "",
            "config.yaml:3:5: platforms.telegram.alowed_users: unknown key; did you mean allowed_users?\n"
            "config.yaml:4:13: web.port: expects a whole number, got text\n",
        )

    def test_mistakes_are_data_for_programs(self, run: Run, tmp_path: Path) -> None:
        written(tmp_path, "web: {prot: 1}\n")
        code, out, err = run("validate", "--json")
        assert (code, err) == (exits.CONFIG, "")
        error = json.loads(out)["error"]
        assert error["type"] == "config"
        assert error["problems"] == [
            {
                "file": "config.yaml",
                "line": 1,
                "column": 7,
                "message": "web.prot: unknown key",
                "hint": "did you mean port?",
            }
        ]

    def test_a_file_that_is_no_yaml_is_one_line(self, run: Run, tmp_path: Path) -> None:
        written(tmp_path, f"model: {{api_key: {SECRET}")
        code, out, err = run("validate")
        assert (code, out) == (exits.CONFIG, "")
        assert err == "config.yaml:1:33: not YAML: a bracket that does not end\n"

    def test_another_home_can_be_named(self, run: Run, tmp_path: Path) -> None:
        other = tmp_path / "other home"
        other.mkdir()
        written(other, "web: 1\n")
        assert run("validate", "--home", str(other))[0] == exits.CONFIG
        assert run("validate")[0] == 0


class TestShow:
    def test_the_settings_in_effect_are_shown_without_secrets(self, run: Run, tmp_path: Path) -> None:
        written(tmp_path, f"model: {{default: gpt-5, api_key: {SECRET}}}\n")
        code, out, err = run("show")
        assert (code, err) == (0, "")
        assert "  default: gpt-5\n" in out
        assert '  api_key: "***"\n' in out
        assert SECRET not in out
        assert SECRET not in run("show", "--json")[1]

    def test_origins_are_shown_on_demand(self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        written(tmp_path, "web: {port: 1}\n")
        monkeypatch.setitem(os.environ, "HERMES_GATEWAY__AGENT__MAX_TURNS", "7")
        lines = run("show", "--origin")[1].splitlines()
        assert "  port: 1  # config.yaml:1:13" in lines
        assert "  max_turns: 7  # environment HERMES_GATEWAY__AGENT__MAX_TURNS" in lines
        assert '  host: "127.0.0.1"  # default' in lines
        flat = json.loads(run("show", "--origin", "--json")[1])
        assert flat["web.port"] == {"value": 1, "origin": "config.yaml:1:13"}

    def test_the_example_is_a_file_that_loads_even_where_ours_does_not(self, run: Run, tmp_path: Path) -> None:
        written(tmp_path, "web: 1\n")
        code, out, _ = run("show", "--example")
        assert code == 0
        written(tmp_path, out)
        assert run("validate")[0] == 0


class TestGet:
    @pytest.mark.parametrize(
        ("key", "shown"),
        [("web.port", "8642"), ("gateway.busy", "queue"), ("access.owners", "[]"), ("model.api_key", "***")],
    )
    def test_one_value_is_one_line(self, run: Run, tmp_path: Path, key: str, shown: str) -> None:
        written(tmp_path, f"model: {{api_key: {SECRET}}}\n")
        assert run("get", key) == (0, f"{shown}\n", "")

    def test_for_programs_it_has_a_type(self, run: Run) -> None:
        assert json.loads(run("get", "web.port", "--json")[1]) == {"key": "web.port", "value": 8642}

    @pytest.mark.parametrize(
        ("key", "said"),
        [
            ("web.prot", "there is no setting web.prot; did you mean web.port?"),
            (
                "require_mention",
                "there is no setting require_mention; did you mean platforms.telegram.require_mention?",
            ),
            ("zzz.zzz.zzz", "there is no setting zzz.zzz.zzz"),
        ],
    )
    def test_a_key_that_is_none_is_not_found(self, run: Run, key: str, said: str) -> None:
        assert run("get", key) == (exits.NOT_FOUND, "", f"hermes-gateway: {said}\n")

    def test_what_is_no_key_is_a_mistake_of_usage(self, run: Run) -> None:
        assert run("get", "a..b")[0] == exits.USAGE


class TestSet:
    def test_a_value_is_written_and_said(self, run: Run, tmp_path: Path) -> None:
        file = written(tmp_path, "# mine\nweb: {port: 1}  # here\n")
        assert run("set", "web.port", "2") == (0, f"{file}: web.port is changed\n", "")
        assert file.read_text() == "# mine\nweb: {port: 2}  # here\n"

    @pytest.mark.parametrize("arguments", [["set", "web.port", "x"], ["set", "gateway.busy", "stear"]])
    def test_a_wrong_value_is_refused(self, run: Run, tmp_path: Path, arguments: list[str]) -> None:
        file = written(tmp_path, "agent: {max_turns: 3}\n")
        code, out, err = run(*arguments)
        assert (code, out) == (exits.CONFIG, "")
        assert "expects" in err
        assert file.read_text() == "agent: {max_turns: 3}\n"

    def test_an_unknown_key_is_not_found(self, run: Run, tmp_path: Path) -> None:
        code, _, err = run("set", "web.prot", "2")
        assert (code, err) == (
            exits.NOT_FOUND,
            "hermes-gateway: there is no setting web.prot; did you mean web.port?\n",
        )
        assert not (tmp_path / "config.yaml").exists()

    def test_a_secret_is_not_taken_from_the_command_line(self, run: Run, tmp_path: Path) -> None:
        code, out, err = run("set", "model.api_key", SECRET)
        assert (code, out) == (exits.USAGE, "")
        assert err.startswith("hermes-gateway: model.api_key is a secret, and others can read the command line; leave")
        assert SECRET not in err
        assert not (tmp_path / "config.yaml").exists()

    def test_a_secret_is_taken_from_stdin(self, run: Run, tmp_path: Path) -> None:
        code, out, err = run("set", "model.api_key", typed=f"{SECRET}\n")
        assert code == 0
        assert SECRET not in out + err
        assert (tmp_path / "config.yaml").read_text() == f"model:\n  api_key: {SECRET}\n"
        assert run("get", "model.api_key")[1] == "***\n"

    def test_a_secret_is_taken_from_a_file(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "key").write_text(f"{SECRET}\n")
        assert run("set", "model.api_key", "--from-file", str(tmp_path / "key"))[0] == 0
        assert SECRET in (tmp_path / "config.yaml").read_text()

    def test_two_values_are_one_too_many(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "key").write_text("1")
        assert run("set", "web.port", "1", "--from-file", str(tmp_path / "key"))[0] == exits.USAGE

    def test_a_value_that_the_environment_overrides_is_warned_of(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(os.environ, "HERMES_GATEWAY__WEB__PORT", "7")
        code, _, err = run("set", "web.port", "2")
        assert code == 0
        assert err == (
            "warning: web.port is set in config.yaml, but environment HERMES_GATEWAY__WEB__PORT wins over it\n"
        )

    def test_a_home_that_cannot_be_written_is_one_line(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        code, _, err = run("set", "web.port", "2", "--home", str(tmp_path / "file" / "home"))
        assert code == exits.CONFIG
        assert err.startswith(f"the home {tmp_path / 'file' / 'home'} cannot be written: Not a directory; ")
        assert err.count("\n") == 1


class TestUnset:
    def test_a_key_is_taken_out(self, run: Run, tmp_path: Path) -> None:
        file = written(tmp_path, "web: {port: 1, metrics: false}\n")
        assert run("unset", "web.port")[0] == 0
        assert file.read_text() == "web: {metrics: false}\n"

    def test_a_key_that_is_not_set_is_not_found(self, run: Run, tmp_path: Path) -> None:
        assert run("unset", "web.port") == (
            exits.NOT_FOUND,
            "",
            f"hermes-gateway: web.port is not set in {tmp_path / 'config.yaml'}\n",
        )


def test_the_schema_is_printed_even_where_the_file_is_wrong(run: Run, tmp_path: Path) -> None:
    written(tmp_path, "web: 1\n")
    code, out, _ = run("schema")
    assert code == 0
    assert json.loads(out)["title"] == "hermes-gateway"


def test_every_path_is_printed(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("path")
    assert code == 0
    places = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert places["home"] == str(tmp_path)
    assert places["config_file"] == str(tmp_path / "config.yaml")
    assert places["log_file"] == str(tmp_path / "logs" / "agent.log")
    assert json.loads(run("path", "--json")[1]) == places
