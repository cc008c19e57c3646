"""What makes an event one that was kept before."""

from __future__ import annotations

from gateway.intake import event_key
from gateway.types import Address, Event, Sender


def key(id: str, **place: str) -> str:
    return event_key(Event(id=id, origin=Address(platform="slack", chat="C1", **place), sender=Sender("u")))


def test_the_same_id_in_two_workspaces_or_of_two_bots_is_two_events() -> None:
    keys = {
        key("1"),
        key("1", team="T1"),
        key("1", team="T2"),
        key("1", account="ops"),
        key("1", account="ops", team="T1"),
    }
    assert len(keys) == 5


def test_no_team_is_spelt_like_another_account_or_id() -> None:
    assert key("1", team="T1:x") != key("x:1", team="T1")
    assert key("2:1", team="T1") != key("1", team="T1:2")
