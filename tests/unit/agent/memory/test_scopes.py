"""Whose notes a conversation uses, and where they lie."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.memory.scopes import HOME, Kind, Owner, owner_of
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


@given(st.sampled_from(Kind), st.text(min_size=1, max_size=400))
def test_an_owner_is_written_and_read_and_lies_inside_the_folder(kind: Kind, id: str) -> None:
    owner = HOME if kind is Kind.HOME else Owner(kind, id)
    assert Owner.parse(str(owner)) == owner
    folder = owner.folder(Path("/m"))
    assert folder == Path("/m") or (folder.parent.parent == Path("/m") and folder.name not in {".", ".."})
    assert len(folder.name.encode()) <= 255


@given(st.text(min_size=1, max_size=300), st.text(min_size=1, max_size=300))
def test_two_owners_never_share_a_folder(one: str, other: str) -> None:
    folders = {Owner(kind, id).folder(Path("/m")) for kind in (Kind.PERSON, Kind.CHAT) for id in (one, other)}
    assert len(folders) == (2 if one == other else 4)


@pytest.mark.parametrize("text", ["", "home:x", "person", "person:", "robot:1"])
def test_anything_else_is_no_owner(text: str) -> None:
    with pytest.raises(ValueError, match="owner|Kind"):
        Owner.parse(text)
