"""Whose notes a conversation uses, and where they lie."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.memory.scopes import HOME, Kind, Owner, is_home, owner_of
from gateway.types import Address, ChatType, Event, Sender

BOB = Owner(Kind.PERSON, "b0b")


def event(kind: ChatType, chat: str = "c", thread: str = "") -> Event:
    return Event(id="1", origin=Address(platform="p", chat=chat, thread=thread), sender=Sender("u"), chat_type=kind)


def test_a_private_chat_uses_the_persons_notes() -> None:
    assert owner_of(event(ChatType.DM), "person", BOB) == BOB
    assert owner_of(event(ChatType.DM), "person", HOME) == HOME


@pytest.mark.parametrize("kind", [ChatType.GROUP, ChatType.FORUM, ChatType.THREAD, ChatType.CHANNEL])
def test_whatever_several_people_hear_uses_the_chats_notes_in_all_its_threads(kind: ChatType) -> None:
    assert owner_of(event(kind, thread="t"), "person", BOB) == Owner(Kind.CHAT, "p:c")


def test_a_webhook_uses_nobodys() -> None:
    assert owner_of(event(ChatType.WEBHOOK), "person", BOB) is None
    assert owner_of(event(ChatType.WEBHOOK), "home", BOB) is None


def test_one_store_for_all_is_the_homes() -> None:
    assert {owner_of(event(kind), "home", BOB) for kind in (ChatType.DM, ChatType.GROUP)} == {HOME}


def test_a_profile_has_notes_of_its_own_of_the_same_people_and_chats() -> None:
    bob = BOB.within("coder")
    assert owner_of(event(ChatType.DM), "person", bob) == bob
    assert owner_of(event(ChatType.GROUP), "person", bob) == Owner(Kind.CHAT, "p:c", "coder")
    assert owner_of(event(ChatType.GROUP), "home", bob) == HOME.within("coder")


def test_the_gateways_own_notes_are_written_as_they_were_before_there_were_profiles() -> None:
    assert [str(owner) for owner in (HOME, BOB, Owner(Kind.CHAT, "p:c"))] == ["home", "person:b0b", "chat:p:c"]
    assert [str(owner.within("a:b")) for owner in (HOME, BOB)] == ["profile:a%3Ab:home", "profile:a%3Ab:person:b0b"]


@given(st.sampled_from(Kind), st.text(min_size=1), st.text(min_size=1), st.text(min_size=1))
def test_no_two_profiles_write_an_owner_alike(kind: Kind, id: str, one: str, other: str) -> None:
    owner = HOME if kind is Kind.HOME else Owner(kind, id)
    assert len({str(owner), str(owner.within(one)), str(owner.within(other))}) == (2 if one == other else 3)


def test_the_home_of_any_profile_is_a_home_and_nothing_else_is() -> None:
    assert all(map(is_home, ("home", "profile:coder:home")))
    assert not any(map(is_home, ("person:home", "chat:home", "profile:coder:chat:home", "profile:home", "")))


@given(st.sampled_from(Kind), st.text(min_size=1, max_size=400), st.text())
def test_an_owner_is_written_and_read_and_lies_inside_the_folder(kind: Kind, id: str, profile: str) -> None:
    owner = HOME.within(profile) if kind is Kind.HOME else Owner(kind, id, profile)
    assert Owner.parse(str(owner)) == owner
    folder = owner.folder(Path("/m"))
    assert folder == Path("/m") or (folder.parent.parent == Path("/m") and folder.name not in {".", ".."})
    assert len(folder.name.encode()) <= 255


@given(st.text(min_size=1, max_size=300), st.text(min_size=1, max_size=300))
def test_two_owners_never_share_a_folder(one: str, other: str) -> None:
    folders = {Owner(kind, id).folder(Path("/m")) for kind in (Kind.PERSON, Kind.CHAT) for id in (one, other)}
    assert len(folders) == (2 if one == other else 4)


@pytest.mark.parametrize(
    "text",
    ["", "home:x", "person", "person:", "robot:1", "profile:", "profile::home", "profile:coder", "profile:coder:"],
)
def test_anything_else_is_no_owner(text: str) -> None:
    with pytest.raises(ValueError, match="not an owner of notes"):
        Owner.parse(text)
