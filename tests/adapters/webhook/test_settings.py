"""The settings of routes."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from adapters.webhook import Settings
from adapters.webhook.deliver import addresses
from adapters.webhook.settings import Route
from gateway.config.describe import descriptions
from gateway.types import Address

AUTH = {"scheme": "github", "secret": "s"}
DOCUMENTED: dict[str, Any] = {
    "auth": AUTH,
    "events": ["issues"],
    "prompt": "Issue {issue.title} by {sender.login}: {issue.body}",
    "deliver": "telegram:42",
    "mode": "agent",
    "session": "delivery",
    "toolset": "webhook",
    "owner": "",
    "skip_memory": True,
    "rate": "30/m",
}


def made(**route: Any) -> Settings:
    return Settings.model_validate({"routes": {"r": {"auth": AUTH} | route}})


def test_the_documented_route_is_taken() -> None:
    route = made(**DOCUMENTED).routes["r"]
    assert route.allowance == (30, 60.0)
    assert made().routes["r"].allowance is None


def test_every_key_explains_itself() -> None:
    for model in (Settings, Route):
        assert model.model_fields.keys() <= descriptions(model).keys()


def test_it_runs_when_there_is_a_route() -> None:
    assert not Settings().active
    assert made().active
    assert not Settings.model_validate({"routes": {"r": {"auth": AUTH}}, "enabled": False}).active


@pytest.mark.parametrize(
    "route",
    [
        {"auth": {"scheme": "github", "secret": ""}},
        {"auth": {"scheme": "github", "secret": "  "}},
        {"auth": {"scheme": "github"}},
        {"auth": {"scheme": "hmac", "secret": "s"}},
        {"auth": {"scheme": "hmac", "secret": "s", "header": "X Sign"}},
        {"auth": {"scheme": "hmac", "secret": "s", "header": "x", "algorithm": "md5"}},
        {"auth": {"scheme": "none", "secret": "s"}},
        {"auth": {"scheme": "magic", "secret": "s"}},
        {"mode": "notify"},
        {"owner": "telegram:42"},
        {"skip_memory": False},
        {"toolset": "default"},
        {"model": "gpt-9"},
        {"max_turns": 5},
        {"quiet_mode": True},
        {"deliver": "telegram"},
        {"deliver": ""},
        {"deliver": "telegram:"},
        {"deliver": ["origin", "nowhere"]},
        {"rate": "0/m"},
        {"rate": "30"},
        {"rate": "30 / m"},
        {"prompts": "x"},
    ],
    ids=str,
)
def test_what_cannot_work_is_refused(route: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        made(**route)


@pytest.mark.parametrize("name", ["", "a/b", ".hidden", "ünï", "x" * 65, "a b", "a\n"])
def test_a_route_has_a_name_that_can_stand_in_an_address(name: str) -> None:
    with pytest.raises(ValidationError):
        Settings.model_validate({"routes": {name: {"auth": AUTH}}})


def test_a_route_that_is_switched_off_needs_no_secret() -> None:
    Settings.model_validate({"enabled": False, "routes": {"r": {"auth": AUTH | {"secret": ""}}}})


@pytest.mark.parametrize(
    ("deliver", "places"),
    [
        ("origin", ()),
        ("local", ()),
        (["local", "origin"], ()),
        ("telegram:-100:7", (Address(platform="telegram", chat="-100", thread="7"),)),
        ("slack@work/T1:C1", (Address(platform="slack", account="work", team="T1", chat="C1"),)),
        (["telegram:42", "origin", "telegram:42"], (Address(platform="telegram", chat="42"), None)),
    ],
)
def test_answers_go_where_the_words_say(deliver: str | list[str], places: tuple[Address | None, ...]) -> None:
    assert addresses(deliver) == places
