"""Where a value comes from, which source wins, and that all sources mean the same by a key."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from gateway.config import Config, Source, load
from tests.unit.config.conftest import Read, Wrong

PORT = "HERMES_GATEWAY__WEB__PORT"


def at(config: Config, path: str) -> Any:
    value: Any = config.settings
    for part in path.split("."):
        value = getattr(value, part)
    return value.get_secret_value() if isinstance(value, SecretStr) else value


def test_without_any_file_the_defaults_hold(read: Read, tmp_path: Path) -> None:
    config = read()
    assert config.home.path == tmp_path
    assert (config.settings.web.host, config.settings.web.port) == ("127.0.0.1", 8642)
    assert config.settings.gateway.database == "sqlite:///state.db"
    assert (config.origins, config.warnings, config.secrets) == ({}, (), frozenset())
    assert [account.name for account in config.accounts if account.enabled] == ["webchat"]


def test_reading_writes_nothing_and_needs_no_home(tmp_path: Path) -> None:
    load(tmp_path / "none", environ={})
    assert list(tmp_path.iterdir()) == []


def test_the_environment_names_the_home(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("web: {port: 1}")
    assert load(environ={"HERMES_HOME": str(tmp_path)}).settings.web.port == 1


def test_the_real_environment_is_the_one_that_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, PORT, "9")
    assert load(tmp_path).settings.web.port == 9


def test_a_flag_beats_the_environment_which_beats_dotenv_which_beats_the_file(read: Read) -> None:
    text, dotenv = "web: {port: 1}", f"{PORT}=2"
    config = read(text)
    assert (config.settings.web.port, str(config.origins["web.port"])) == (1, "config.yaml:1:13")
    config = read(text, dotenv=dotenv)
    assert (config.settings.web.port, config.origins["web.port"].source) == (2, Source.DOTENV)
    config = read(text, dotenv=dotenv, environ={PORT: "3"})
    assert (config.settings.web.port, config.origins["web.port"].source) == (3, Source.ENVIRONMENT)
    config = read(text, dotenv=dotenv, environ={PORT: "3"}, flags={"web.port": "4"})
    assert (config.settings.web.port, config.origins["web.port"].source) == (4, Source.FLAG)


@pytest.mark.parametrize(
    ("name", "text", "path", "meant"),
    [
        ("WEB__METRICS", "false", "web.metrics", False),
        ("WEB__METRICS", "No", "web.metrics", False),
        ("WEB__METRICS", "1", "web.metrics", True),
        ("STREAMING__EDIT_INTERVAL_SECONDS", " 2.5 ", "streaming.edit_interval_seconds", 2.5),
        ("GATEWAY__MAX_QUEUE", "0x10", "gateway.max_queue", 16),
        ("MODEL__DEFAULT", "4711", "model.default", "4711"),
        ("MODEL__DEFAULT", "null", "model.default", "null"),
        ("MODEL__MAX_TOKENS", "null", "model.max_tokens", None),
        ("MODEL__MAX_TOKENS", "", "model.max_tokens", None),
        ("MODEL__MAX_TOKENS", "5", "model.max_tokens", 5),
        ("ACCESS__OWNERS", "telegram:1, slack:U2", "access.owners", ["telegram:1", "slack:U2"]),
        ("ACCESS__OWNERS", "[telegram:1, 'a:b, c']", "access.owners", ["telegram:1", "a:b, c"]),
        ("ACCESS__OWNERS", "", "access.owners", []),
        ("COMPRESSION__MODEL_THRESHOLDS", '{"GLM-5.2": 0.4}', "compression.model_thresholds", {"GLM-5.2": 0.4}),
        ("COMPRESSION__MODEL_THRESHOLDS__GPT", "0.4", "compression.model_thresholds", {"gpt": 0.4}),
        ("DISPLAY__TOOL_PROGRESS", "off", "display.tool_progress", "off"),
        ("AGENT__PERSONALITIES", "{kind: 'Be kind, 🤖'}", "agent.personalities", {"kind": "Be kind, 🤖"}),
    ],
)
def test_a_variable_is_read_as_its_key_wants_it(read: Read, name: str, text: str, path: str, meant: object) -> None:
    value = at(read(environ={f"HERMES_GATEWAY__{name}": text}), path)
    assert value == meant
    assert type(value) is type(meant)


def test_a_whole_section_can_be_a_variable(read: Read) -> None:
    config = read("web: {port: 1}", environ={"HERMES_GATEWAY__WEB": "{port: 2, metrics: false}", PORT: "3"})
    assert (config.settings.web.port, config.settings.web.metrics) == (3, False)


def test_everything_can_be_configured_by_the_environment_alone(read: Read) -> None:
    config = read(
        environ={
            "TELEGRAM_BOT_TOKEN": "123456:" + "a" * 35,
            "TELEGRAM_ALLOWED_USERS": "1,2",
            "OPENAI_API_KEY": "sk-of-mine",
            "OPENAI_BASE_URL": "http://localhost:1/v1",
            "DATABASE_URL": "postgresql://u:pass%20word@h/d",
            "REDIS_URL": "redis://:redispass@h:1/0",
            "HERMES_GATEWAY__PLATFORMS__TELEGRAM__REQUIRE_MENTION": "false",
        }
    )
    assert at(config, "model.api_key") == "sk-of-mine"
    assert config.settings.model.base_url == "http://localhost:1/v1"
    assert config.settings.gateway.database == "postgresql://u:pass%20word@h/d"
    assert config.settings.gateway.bus == "redis://:redispass@h:1/0"
    telegram = next(account for account in config.accounts if account.platform == "telegram")
    assert telegram.enabled
    assert telegram.settings.model_dump()["allowed_users"] == ("1", "2")
    assert telegram.settings.model_dump()["require_mention"] is False
    assert config.secrets >= {"sk-of-mine", "pass word", "pass%20word", "redispass", "123456:" + "a" * 35}


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "OPENAI_BASE_URL", "DATABASE_URL", "REDIS_URL", "SLACK_BOT_TOKEN"])
def test_an_empty_variable_that_everybody_has_is_none(read: Read, name: str) -> None:
    config = read("gateway: {database: 'sqlite:///mine.db'}", environ={name: ""})
    assert config.settings.gateway.database == "sqlite:///mine.db"
    assert not config.warnings


def test_within_one_source_the_long_name_beats_the_short(read: Read) -> None:
    names = {"DATABASE_URL": "postgresql://short/d", "HERMES_GATEWAY__GATEWAY__DATABASE": "postgresql://long/d"}
    assert read(environ=names).settings.gateway.database == "postgresql://long/d"


def test_a_short_name_of_the_environment_beats_a_long_one_of_dotenv(read: Read) -> None:
    config = read(
        dotenv="HERMES_GATEWAY__GATEWAY__DATABASE=postgresql://dotenv/d",
        environ={"DATABASE_URL": "postgresql://environment/d"},
    )
    assert config.settings.gateway.database == "postgresql://environment/d"


def test_a_key_given_with_its_endpoint_is_not_replaced_by_another_endpoint_s(read: Read) -> None:
    lying_about = {"OPENAI_API_KEY": "sk-of-openai"}
    mine = "model: {base_url: 'http://localhost:1', api_key: sk-local}"
    assert at(read(mine, environ=lying_about), "model.api_key") == "sk-local"
    assert at(read("model: {api_key: sk-file}", environ=lying_about), "model.api_key") == "sk-of-openai"
    assert at(read("model: {base_url: 'http://localhost:1'}", environ=lying_about), "model.api_key") == "sk-of-openai"
    explicit = {"HERMES_GATEWAY__MODEL__API_KEY": "sk-explicit"}
    assert at(read(mine, environ=explicit), "model.api_key") == "sk-explicit"


def test_a_variable_named_in_the_file_is_read_as_the_key_wants_it(read: Read) -> None:
    text = "web: {port: '${PORT}'}\naccess: {owners: '${OWNERS}'}\nmodel: {max_tokens: '${GONE}'}\n"
    config = read(text, environ={"PORT": "7", "OWNERS": "a:1,b:2"})
    assert config.settings.web.port == 7
    assert config.settings.access.owners == ["a:1", "b:2"]
    assert config.settings.model.max_tokens is None


def test_the_file_may_name_variables_of_dotenv(read: Read) -> None:
    assert at(read("model: {api_key: '${MINE}'}", dotenv="MINE=sk-dotenv"), "model.api_key") == "sk-dotenv"


class TestSecretsInFiles:
    @pytest.mark.parametrize("content", ["s3cret", "s3cret\n", "s3cret\r\n", "\ufeffs3cret\n"])
    def test_a_secret_is_the_content_without_its_line_end(self, read: Read, tmp_path: Path, content: str) -> None:
        (tmp_path / "key").write_bytes(content.encode())
        config = read("model: {api_key_file: key}")
        assert at(config, "model.api_key") == "s3cret"
        assert "s3cret" in config.secrets
        assert str(config.origins["model.api_key"]) == "config.yaml:1:23 (key)"

    def test_every_way_of_naming_the_file_leads_to_it(self, read: Read, tmp_path: Path) -> None:
        file = tmp_path / "elsewhere"
        file.write_text("postgresql://u:pw123456@h/d\n")
        for name in ("HERMES_GATEWAY__GATEWAY__DATABASE_FILE", "DATABASE_URL_FILE"):
            config = read(environ={name: str(file)})
            assert config.settings.gateway.database == "postgresql://u:pw123456@h/d"
            assert "pw123456" in config.secrets

    def test_the_password_of_the_pages_is_a_secret_like_any_other(self, read: Read, tmp_path: Path) -> None:
        (tmp_path / "admin_password").write_text("open sesame\n")
        assert "open sesame" in read("web: {admin_password_file: admin_password}").secrets
        assert read("web: {admin_password_file: nowhere}").secrets == frozenset()

    def test_secrets_of_platforms_and_lists_have_files_too(self, read: Read, tmp_path: Path) -> None:
        (tmp_path / "token").write_text("123456:" + "a" * 35)
        (tmp_path / "key").write_text("sk-fallback")
        config = read(
            "fallback_providers: [{name: b, model: m, base_url: 'http://h', api_key_file: key}]",
            environ={"TELEGRAM_BOT_TOKEN_FILE": "token"},
        )
        assert config.settings.fallback_providers[0].api_key.get_secret_value() == "sk-fallback"
        assert [account.name for account in config.accounts if account.enabled] == ["telegram", "webchat"]

    def test_a_stronger_source_replaces_the_file_of_a_weaker(self, read: Read, tmp_path: Path) -> None:
        (tmp_path / "key").write_text("from the file")
        text = "model: {api_key_file: key}"
        assert at(read(text, environ={"OPENAI_API_KEY": "from the environment"}), "model.api_key") == (
            "from the environment"
        )
        (tmp_path / "config.yaml").unlink()
        text = "model: {api_key: written}"
        assert at(read(text, environ={"OPENAI_API_KEY_FILE": "key"}), "model.api_key") == "from the file"

    def test_an_empty_name_is_no_file(self, read: Read) -> None:
        assert at(read("model: {api_key_file: ''}"), "model.api_key") == ""

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            (
                "model: {api_key_file: gone}",
                "config.yaml:1:23: model.api_key_file: the file cannot be used: No such file",
            ),
            (
                "model: {api_key_file: empty}",
                "config.yaml:1:23: model.api_key_file: the file cannot be used: it is empty",
            ),
            (
                "model: {api_key_file: bytes}",
                "config.yaml:1:23: model.api_key_file: the file cannot be used: it is not",
            ),
            (
                "model: {api_key_file: large}",
                "config.yaml:1:23: model.api_key_file: the file cannot be used: it is too",
            ),
            (
                "model: {api_key_file: .}",
                "config.yaml:1:23: model.api_key_file: the file cannot be used: Is a directory",
            ),
            ("model: {api_key_file: [a]}", "config.yaml:1:9: model.api_key_file: expects the name of a file"),
            ("model: {api_key: a, api_key_file: k}", "config.yaml:1:35: model.api_key_file: api_key is set as well"),
            ("model: {base_url_file: k}", "config.yaml:1:9: model.base_url_file: unknown key; did you mean base_url?"),
        ],
    )
    def test_a_file_that_cannot_be_used_is_one_sentence(
        self, wrong: Wrong, tmp_path: Path, text: str, said: str
    ) -> None:
        (tmp_path / "empty").write_text("\n")
        (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
        (tmp_path / "large").write_bytes(b"x" * 70_000)
        (line,) = wrong(text)
        assert line.startswith(said)

    def test_a_variable_that_names_no_file_is_named(self, wrong: Wrong) -> None:
        (line,) = wrong(environ={"OPENAI_API_KEY_FILE": "/gone"})
        assert line == ("OPENAI_API_KEY_FILE: model.api_key_file: the file cannot be used: No such file or directory")


def test_settings_cannot_be_changed(read: Read) -> None:
    settings = read().settings
    with pytest.raises(ValidationError):
        settings.web.port = 1  # type: ignore[misc]
    with pytest.raises(ValidationError):
        settings.agent.max_turns = 1  # type: ignore[misc]


def test_a_configuration_can_be_printed_without_its_secrets(read: Read) -> None:
    config = read(
        "model: {api_key: hunter2hunter2}\nmcp_servers: {x: {command: c, env: {K: hunter3hunter3}}}\n"
        "gateway: {database: 'postgresql://u:hunter4hunter4@h/d'}",
        environ={"TELEGRAM_BOT_TOKEN": "123456:" + "a" * 35},
    )
    assert config.secrets >= {"hunter2hunter2", "hunter3hunter3", "hunter4hunter4"}
    printed = (
        repr(config.settings.model) + repr(config.accounts) + repr(config.settings.mcp_servers) + repr(config.home)
    )
    assert "hunter" not in printed
    assert "aaaa" not in printed


def test_secrets_of_the_environment_are_known_even_where_nothing_uses_them(read: Read) -> None:
    config = read(dotenv="SOME_API_KEY=abcdefgh1", environ={"GH_TOKEN": "abcdefgh2", "DB_PASSWORD": "abcdefgh3"})
    assert config.secrets == {"abcdefgh1", "abcdefgh2", "abcdefgh3"}


@pytest.mark.parametrize(
    ("environ", "color"),
    [
        ({}, None),
        ({"NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_the_environment_says_whether_there_is_colour(read: Read, environ: dict[str, str], color: bool | None) -> None:
    assert read(environ=environ).color is color
