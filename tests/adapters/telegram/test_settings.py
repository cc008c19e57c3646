"""The settings of a bot."""

from __future__ import annotations

import pytest
from pydantic import SecretStr, ValidationError

from adapters.telegram import Settings
from gateway.config.describe import descriptions

INTERFACE = {
    "enabled": "auto",
    "token": "123456789:AAF-secret_part",
    "api_base": "http://127.0.0.1:8081/",
    "mode": "polling",
    "webhook": {"url": "", "secret": ""},
    "allowed_users": ["42"],
    "allowed_chats": [],
    "require_mention": True,
    "mention_patterns": [],
    "free_chats": ["-1001"],
    "keep_unmentioned": False,
    "reply_to": "first",
    "rich_messages": False,
}


def test_every_documented_key_is_taken_and_no_other() -> None:
    Settings.model_validate(INTERFACE)
    assert Settings.model_fields.keys() == INTERFACE.keys()
    with pytest.raises(ValidationError):
        Settings.model_validate(INTERFACE | {"alowed_users": []})


def test_every_key_explains_itself() -> None:
    assert Settings.model_fields.keys() <= descriptions(Settings).keys()


def test_a_bot_runs_when_it_has_a_token() -> None:
    assert not Settings().active
    assert Settings(token=SecretStr("1:x")).active
    assert not Settings(token=SecretStr("1:x"), enabled=False).active


def test_the_root_is_kept_without_the_slash_behind_it() -> None:
    assert Settings.model_validate(INTERFACE).api_base == "http://127.0.0.1:8081"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("token", "secret-without-number"),
        ("token", "１２:secret"),
        ("token", "12: secret"),
        ("token", "12:a/b"),
        ("token", ":"),
        ("api_base", "127.0.0.1:8081"),
        ("api_base", "http://h/{token}"),
        ("mode", "webhook"),
        ("mention_patterns", ["(a+)+"]),
        ("keep_unmentioned", True),
        ("rich_messages", True),
        ("reply_to", "some"),
    ],
)
def test_what_cannot_work_is_refused_without_showing_it(key: str, value: object) -> None:
    with pytest.raises(ValidationError) as refused:
        Settings.model_validate(INTERFACE | {key: value})
    assert [error["loc"] for error in refused.value.errors()] == [(key,)]
    if key == "token":
        assert "secret" not in str(refused.value).replace("a colon and a secret", "")
