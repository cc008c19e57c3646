"""Platforms: whose settings there are, which accounts come of them, which of those run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, SecretStr

from gateway.config import Account, ConfigErrors
from gateway.config.loading import assemble
from gateway.config.platforms import Found, discover, with_ours
from gateway.home import Home
from tests.unit.config.conftest import Read, Wrong

TOKEN, OTHER = "123456:" + "a" * 35, "654321:" + "b" * 35


class Inner(BaseModel):
    """A section of a platform."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    secret: SecretStr = SecretStr("")
    """A secret further down."""


class Chat(BaseModel):
    """A platform of somebody else's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    password: SecretStr = SecretStr("")
    """What it logs in with."""
    room: str = "lobby"
    """Where it goes."""
    inner: Inner = Inner()
    """More."""


class Deaf(BaseModel):
    """A platform that decides by itself whether it runs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    routes: dict[str, str] = {}
    """What it needs to run."""

    @property
    def active(self) -> bool:
        return bool(self.routes)


def made(home: Path, text: str, **environ: str) -> dict[str, Account]:
    platforms = with_ours(Found({"chat": Chat, "deaf": Deaf}, {}))
    config = assemble(Home(home), flags={}, environ=environ, text=text, platforms=platforms)
    return {account.name: account for account in config.accounts}


def running(accounts: dict[str, Account]) -> list[str]:
    return [name for name, account in accounts.items() if account.enabled]


def settings(account: Account) -> dict[str, Any]:
    values: dict[str, Any] = account.settings.model_dump()
    return {key: value.get_secret_value() if isinstance(value, SecretStr) else value for key, value in values.items()}


def test_the_adapters_we_ship_are_found_and_their_sdks_are_not_imported() -> None:
    code = (
        "import sys; from gateway.config.platforms import discover; found = discover(set()); "
        "print(sorted(found.types), {'aiogram', 'discord', 'slack_bolt', 'aiohttp', 'fastapi'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names, _, imported = result.stdout.strip().partition("] ")
    assert "'telegram'" in names
    assert "'webchat'" in names
    assert imported == "set()"


def test_an_adapter_without_word_of_it_is_there_and_does_not_run(tmp_path: Path) -> None:
    accounts = made(tmp_path, "")
    assert set(accounts) == {"chat", "deaf", "webchat"}
    assert running(accounts) == ["webchat"]


def test_a_platform_runs_when_its_secret_is_set(tmp_path: Path) -> None:
    accounts = made(tmp_path, "platforms: {chat: {password: s3cret}}")
    assert running(accounts) == ["chat", "webchat"]
    assert isinstance(accounts["chat"].settings, Chat)
    assert settings(accounts["chat"])["password"] == "s3cret"


def test_a_platform_may_say_itself_whether_it_runs(tmp_path: Path) -> None:
    assert running(made(tmp_path, "platforms: {deaf: {routes: {a: b}}}")) == ["deaf", "webchat"]


@pytest.mark.parametrize(("enabled", "runs"), [("true", True), ("false", False), ("auto", True)])
def test_enabled_decides_where_it_is_said(tmp_path: Path, enabled: str, runs: bool) -> None:
    accounts = made(tmp_path, f"platforms: {{chat: {{password: s3cret, enabled: {enabled}}}}}")
    assert accounts["chat"].enabled is runs


def test_the_web_chat_can_be_switched_off(tmp_path: Path) -> None:
    assert running(made(tmp_path, "platforms: {webchat: {enabled: false}}")) == []


def test_every_platform_s_secrets_and_lists_have_a_variable(tmp_path: Path) -> None:
    accounts = made(tmp_path, "", CHAT_PASSWORD="from the environment")
    assert settings(accounts["chat"])["password"] == "from the environment"
    assert accounts["chat"].enabled


class TestAccounts:
    TEXT = """
platforms:
  chat:
    room: shared
    accounts:
      support: {password: one}
      ops: {password: two, room: ops}
"""

    def test_each_account_has_its_secrets_and_inherits_the_rest(self, tmp_path: Path) -> None:
        accounts = made(tmp_path, self.TEXT)
        assert running(accounts) == ["chat@support", "chat@ops", "webchat"]
        assert settings(accounts["chat@support"]) | {"inner": None} == {
            "password": "one",
            "room": "shared",
            "inner": None,
        }
        assert settings(accounts["chat@ops"])["room"] == "ops"
        assert (accounts["chat@ops"].platform, accounts["chat@ops"].account) == ("chat", "ops")

    def test_a_platform_with_a_secret_of_its_own_is_an_account_beside_them(self, tmp_path: Path) -> None:
        accounts = made(tmp_path, self.TEXT, CHAT_PASSWORD="main")
        assert running(accounts) == ["chat", "chat@support", "chat@ops", "webchat"]
        assert settings(accounts["chat"])["password"] == "main"

    def test_an_account_does_not_inherit_a_secret(self, tmp_path: Path) -> None:
        accounts = made(tmp_path, "platforms: {chat: {password: main, accounts: {a: {room: x}}}}")
        assert settings(accounts["chat@a"])["password"] == ""
        assert running(accounts) == ["chat", "webchat"]

    def test_an_account_can_be_switched_off(self, tmp_path: Path) -> None:
        accounts = made(tmp_path, "platforms: {chat: {accounts: {a: {password: x, enabled: false}, b: {password: y}}}}")
        assert running(accounts) == ["chat@b", "webchat"]

    def test_an_account_can_come_from_the_environment(self, tmp_path: Path) -> None:
        accounts = made(tmp_path, "", HERMES_GATEWAY__PLATFORMS__CHAT__ACCOUNTS__OPS__PASSWORD="x")
        assert running(accounts) == ["chat@ops", "webchat"]

    def test_a_platform_without_secrets_has_no_accounts(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigErrors, match=r"config\.yaml:1:20: platforms\.deaf\.accounts: unknown key"):
            made(tmp_path, "platforms: {deaf: {accounts: {a: {}}}}")

    def test_two_accounts_with_one_token_are_refused(self, wrong: Wrong) -> None:
        accounts = f"{{a: {{token: '{TOKEN}'}}, b: {{token: '{OTHER}'}}, c: {{token: '{TOKEN}'}}}}"
        (line,) = wrong(f"platforms:\n  telegram:\n    accounts: {accounts}")
        assert line.startswith("config.yaml:3:")
        assert line.endswith("platforms.telegram.accounts.c.token: the same token as that of telegram@a")

    def test_a_mistake_that_accounts_inherit_is_told_once(self, wrong: Wrong) -> None:
        accounts = f"{{a: {{token: '{TOKEN}'}}, b: {{token: '{OTHER}'}}}}"
        (line,) = wrong(f"platforms:\n  telegram:\n    mode: x\n    accounts: {accounts}")
        assert line.startswith("config.yaml:3:11: platforms.telegram.")
        assert "mode: expects one of polling" in line


def test_display_of_a_platform_lies_over_that_of_all(tmp_path: Path) -> None:
    text = "display: {tool_progress: all, footer: true}\nplatforms: {chat: {display: {tool_progress: new}}}"
    accounts = made(tmp_path, text)
    assert (accounts["chat"].display.tool_progress, accounts["chat"].display.footer) == ("new", True)
    assert (accounts["deaf"].display.tool_progress, accounts["deaf"].display.footer) == ("all", True)


def test_a_mistake_in_display_is_told_once(wrong: Wrong) -> None:
    (line,) = wrong("display: {tool_progress: x}")
    assert line.startswith("config.yaml:1:26: display.tool_progress: expects one of off, new, all")


def test_a_platform_whose_adapter_is_not_built_is_checked_and_does_not_run(read: Read, wrong: Wrong) -> None:
    config = read(environ={"DISCORD_BOT_TOKEN": "x"})
    assert "discord" not in {account.platform for account in config.accounts}
    assert config.warnings == (
        "environment DISCORD_BOT_TOKEN: platforms.discord.token: accepted, but not in effect in this version",
    )
    (line,) = wrong("platforms: {discord: {auto_thred: true}}")
    assert "did you mean auto_thread?" in line


def test_an_adapter_that_cannot_be_loaded_is_trouble_of_its_platform_only(tmp_path: Path) -> None:
    platforms = with_ours(Found({"chat": Chat}, {"sick": "No module named 'sdk'"}))
    config = assemble(Home(tmp_path), flags={}, environ={}, text="", platforms=platforms)
    assert config.warnings == ("platforms.sick: its adapter cannot be loaded: No module named 'sdk'",)
    with pytest.raises(
        ConfigErrors, match=r"^config\.yaml:1:13: platforms\.sick: its adapter cannot be loaded: No mod"
    ):
        assemble(Home(tmp_path), flags={}, environ={}, text="platforms: {sick: {}}", platforms=platforms)


def test_an_adapter_of_others_is_looked_for_where_it_is_named(read: Read) -> None:
    assert "matrix" not in discover({"matrix"}).types
    with pytest.raises(ConfigErrors, match=r"platforms\.matrix: unknown key"):
        read("platforms: {matrix: {}}")


def test_no_account_prints_its_secrets(tmp_path: Path) -> None:
    printed = repr(made(tmp_path, "platforms: {chat: {password: s3cret-s3cret, inner: {secret: also-s3cret}}}"))
    assert "s3cret" not in printed
