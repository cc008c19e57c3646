"""Which agent an event is for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.sessions.keys import agent_of, namespace_of, place_of, private_key, session_key
from gateway.sessions.profiles import Route, private_lane, profile_of
from gateway.sessions.settings import SharingSettings
from gateway.types import Address, ChatType, Event, Sender

PLACE = Address(platform="telegram", account="ops", chat="-100", thread="7")
EVENT = Event(id="1", origin=PLACE, sender=Sender("42"), chat_type=ChatType.FORUM)
WHOLE = {"platform": "telegram", "account": "ops", "chat": "-100", "thread": "7", "person": "telegram:42"}


def test_the_first_rule_that_fits_decides() -> None:
    routes = (Route("a", chat="other"), Route("b", platform="telegram"), Route("c", chat="-100"))
    assert profile_of(EVENT, routes) == "b"


def test_what_no_rule_fits_is_the_gateways_own() -> None:
    assert profile_of(EVENT, ()) == "main"
    assert profile_of(EVENT, [Route("a", platform="slack")]) == "main"


def test_a_rule_that_names_nothing_fits_everything() -> None:
    assert profile_of(EVENT, [Route("a")]) == "a"


def test_an_event_has_to_be_all_that_a_rule_names() -> None:
    assert Route("a", **WHOLE).fits(EVENT)


@pytest.mark.parametrize("name", WHOLE)
def test_a_rule_that_names_one_thing_more_does_not_fit(name: str) -> None:
    assert not Route("a", **(WHOLE | {name: "another"})).fits(EVENT)


@pytest.mark.parametrize(("name", "written"), [("chat", "-0100"), ("platform", "Telegram"), ("person", "42")])
def test_what_a_rule_names_is_compared_as_it_is_written(name: str, written: str) -> None:
    assert not Route("a", **{name: written}).fits(EVENT)


def test_a_route_is_that_of_a_webhook_and_no_chat_of_that_name() -> None:
    place = Address(platform="webhook", chat="issues", thread="d1")
    call = Event(id="1", origin=place, sender=Sender("issues"), chat_type=ChatType.WEBHOOK)
    chat = Event(id="1", origin=place, sender=Sender("issues"))
    assert (Route("a", route="issues").fits(call), Route("a", route="issues").fits(chat)) == (True, False)


def test_a_rule_for_a_key_fits_nothing_that_comes_without_one() -> None:
    assert not Route("a", key="mine").fits(EVENT)


@given(st.text(min_size=1), st.sampled_from(ChatType))
def test_the_key_of_a_lane_says_whose_it_is_whatever_the_profile_is_called(name: str, kind: ChatType) -> None:
    event = Event(id="1", origin=PLACE, sender=Sender("42"), chat_type=kind)
    key, main = (session_key(event, SharingSettings(), of) for of in (name, "main"))
    assert (namespace_of(key), place_of(str(key))) == (name, place_of(str(main)))
    assert str(key).startswith(agent_of(str(key)))
    assert (key == main) == (name == "main")


def test_an_address_is_a_place_by_itself() -> None:
    assert place_of(str(PLACE)) == str(PLACE)


def test_a_private_chat_is_found_without_an_event() -> None:
    at = Address(platform="webchat", chat="ann")
    assert private_lane(at, "ann", [Route("coder", person="webchat:ann")]) == private_key(at, "coder")
    assert private_lane(at, "bob", [Route("coder", person="webchat:ann")]) == private_key(at)
