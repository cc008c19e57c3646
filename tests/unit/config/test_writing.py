"""The file changed by `config set`: checked first, replaced whole, the one before it kept."""

from __future__ import annotations

import multiprocessing
import stat
from pathlib import Path
from typing import Any

import pytest

from gateway.config import ConfigErrors, change
from gateway.config.writing import KEPT, replace
from gateway.errors import ConfigError
from gateway.home import Home


def edit(home: Path, key: str, text: str | None, **environ: str) -> Any:
    return change(Home(home), key, text, environ=environ).settings


@pytest.mark.parametrize(
    ("key", "text", "line"),
    [
        ("web.port", "1234", "port: 1234"),
        ("web.metrics", "off", "metrics: false"),
        ("model.default", "4711", 'default: "4711"'),
        ("model.temperature", "null", "temperature: null"),
        ("access.owners", "telegram:1,slack:2", 'owners: ["telegram:1", "slack:2"]'),
        ("compression.model_thresholds", "{a: 0.4, b: 0.5}", "model_thresholds: {a: 0.4, b: 0.5}"),
        ('compression.model_thresholds."glm-5.2"', "0.4", "glm-5.2: 0.4"),
        ("agent.personalities.kind", "Be kind.\nالسلام 🤖", 'kind: "Be kind.\\nالسلام 🤖"'),
        ("platforms.telegram.accounts.ops.require_mention", "no", "require_mention: false"),
    ],
)
def test_a_text_is_written_as_its_key_wants_it(tmp_path: Path, key: str, text: str, line: str) -> None:
    edit(tmp_path, key, text)
    assert line in [written.strip() for written in (tmp_path / "config.yaml").read_text("utf-8").splitlines()]


def test_the_result_is_what_is_in_effect(tmp_path: Path) -> None:
    assert edit(tmp_path, "web.port", "1234").web.port == 1234
    assert edit(tmp_path, "web.port", None).web.port == 8642


def test_the_file_is_for_its_owner_and_the_one_before_it_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("# mine\nweb: {port: 1}\n")
    file.chmod(0o644)
    edit(tmp_path, "web.port", "2")
    assert file.read_text() == "# mine\nweb: {port: 2}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    (backup,) = (tmp_path / "backups").iterdir()
    assert backup.read_text() == "# mine\nweb: {port: 1}\n"
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600


def test_a_first_file_has_none_before_it(tmp_path: Path) -> None:
    edit(tmp_path / "new home", "web.port", "2")
    assert (tmp_path / "new home" / "config.yaml").read_text() == "web:\n  port: 2\n"
    assert not (tmp_path / "new home" / "backups").exists()


def test_only_so_many_are_kept(tmp_path: Path) -> None:
    for port in range(KEPT + 4):
        edit(tmp_path, "web.port", str(port))
    kept = sorted(file.read_text() for file in (tmp_path / "backups").iterdir())
    assert kept == sorted(f"web:\n  port: {port}\n" for port in range(3, KEPT + 3))


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        ("web.port", "many", "config.yaml:1:13: web.port: expects a whole number, got text"),
        ("web.port", "70000", "config.yaml:1:13: web.port: must be at most 65535"),
        ("gateway.busy", "stear", "config.yaml:3:9: gateway.busy: expects one of queue, steer, interrupt"),
        ("access.owners", "[a", "not YAML: a bracket that does not end"),
        ("web", "{prot: 1}", "config.yaml:1:7: web.prot: unknown key; did you mean port?"),
    ],
)
def test_a_change_that_would_not_load_changes_nothing(tmp_path: Path, key: str, text: str, said: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("web: {port: 1}\n")
    with pytest.raises(ConfigErrors) as raised:
        edit(tmp_path, key, text)
    assert said in str(raised.value)
    assert file.read_text() == "web: {port: 1}\n"
    assert not (tmp_path / "backups").exists()


def test_a_file_that_is_wrong_already_is_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("web: [port\n")
    with pytest.raises(ConfigError, match="a bracket that does not end"):
        edit(tmp_path, "agent.max_turns", "3")
    assert file.read_text() == "web: [port\n"


@pytest.mark.parametrize(("key", "text"), [("web.prot", "1"), ("zzz", "1"), ("web.port.x", "1"), ("web.port", None)])
def test_a_key_that_is_none_is_a_key_error(tmp_path: Path, key: str, text: str | None) -> None:
    with pytest.raises(KeyError):
        edit(tmp_path, key, text)
    assert not (tmp_path / "config.yaml").exists()


def test_a_link_stays_one(tmp_path: Path) -> None:
    elsewhere = tmp_path / "dotfiles" / "bot.yaml"
    elsewhere.parent.mkdir()
    elsewhere.write_text("web: {port: 1}\n")
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").symlink_to(elsewhere)
    edit(home, "web.port", "2")
    assert (home / "config.yaml").is_symlink()
    assert elsewhere.read_text() == "web: {port: 2}\n"


def test_variables_in_the_file_stay_variables(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("model: {api_key: '${MY_KEY}'}\nweb: {port: 1}\n")
    settings = edit(tmp_path, "web.port", "2", MY_KEY="sk-secret")
    assert settings.model.api_key.get_secret_value() == "sk-secret"
    assert file.read_text() == "model: {api_key: '${MY_KEY}'}\nweb: {port: 2}\n"


def test_nothing_is_left_behind_where_the_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").mkdir()
    with pytest.raises(ConfigError, match="config.yaml cannot be written: Is a directory"):
        replace(tmp_path / "config.yaml", "x")
    assert [file.name for file in tmp_path.iterdir()] == ["config.yaml"]


def set_port(home: Path, key: str) -> None:
    edit(home, key, "7")


def test_changes_at_the_same_time_all_take_place(tmp_path: Path) -> None:
    keys = ["web.port", "agent.max_turns"]
    processes = multiprocessing.get_context("spawn")
    running = [processes.Process(target=set_port, args=(tmp_path, key)) for key in keys]
    for process in running:
        process.start()
    for process in running:
        process.join()
    settings = edit(tmp_path, "log.level", "debug")
    assert (settings.web.port, settings.agent.max_turns) == (7, 7)
