"""A conversation has one key, and no two conversations share one."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.sessions.keys import new_session_id, private_key, session_key
from gateway.sessions.settings import SharingSettings
from gateway.types import Address, ChatType, Event, Sender, escape, unescape

SHARINGS = [
    SharingSettings(group_sessions_per_user=a, thread_sessions_per_user=b) for a in (False, True) for b in (False, True)
]
NASTY = st.one_of(
    st.text(alphabet=":/@%.2Fa", max_size=3),
    st.sampled_from(
        ["..", ".", "a:b", "b:c", "a%3Ab", "é", "e\u0301", "東京", "\u202e", "\ud800", "\0", " ", "\n", "~"]
    ),
    st.text(max_size=3),
)
SOME = NASTY.filter(lambda text: bool(text.strip()))


@st.composite
def events(draw: st.DrawFn) -> Event:
    origin = Address(platform=draw(SOME), account=draw(NASTY), team=draw(NASTY), chat=draw(SOME), thread=draw(NASTY))
    return Event(id="1", origin=origin, sender=Sender(draw(SOME)), chat_type=draw(st.sampled_from(ChatType)))


def whose(event: Event, sharing: SharingSettings) -> tuple[object, ...]:
    """Whose conversation it is, as the settings are documented."""
    place = event.origin
    if event.chat_type in {ChatType.DM, ChatType.WEBHOOK}:
        return (event.chat_type, place)
    if place.thread:
        kind = ChatType.FORUM if event.chat_type is ChatType.FORUM else ChatType.THREAD
        return (kind, place, event.sender.id if sharing.thread_sessions_per_user else None)
    if event.chat_type is ChatType.CHANNEL:
        return (ChatType.CHANNEL, place)
    return (ChatType.GROUP, place, event.sender.id if sharing.group_sessions_per_user else None)


@given(events(), events(), st.sampled_from(SHARINGS), st.sampled_from(SHARINGS))
def test_two_events_have_one_key_if_and_only_if_they_are_one_conversation(
    one: Event, two: Event, sharing: SharingSettings, other: SharingSettings
) -> None:
    same = whose(one, sharing) == whose(two, other)
    assert (session_key(one, sharing) == session_key(two, other)) is same


@given(events(), st.data(), st.sampled_from(SHARINGS))
def test_events_that_differ_in_one_field_have_one_key_only_if_that_field_does_not_matter(
    event: Event, data: st.DataObject, sharing: SharingSettings
) -> None:
    name = data.draw(st.sampled_from(["platform", "account", "team", "chat", "thread"]))
    value = data.draw(SOME if name in {"platform", "chat"} else NASTY)
    changed = replace(event.origin)
    object.__setattr__(changed, name, value)
    other = replace(event, origin=changed)
    same = whose(event, sharing) == whose(other, sharing)
    assert (session_key(event, sharing) == session_key(other, sharing)) is same


@given(events(), st.sampled_from(SHARINGS))
def test_a_key_is_one_line_of_plain_letters(event: Event, sharing: SharingSettings) -> None:
    assert re.fullmatch(r"agent:main:[A-Za-z0-9%~._/@:-]+", str(session_key(event, sharing)))


@given(events(), st.sampled_from(SHARINGS))
def test_no_part_of_a_key_leads_out_of_a_folder(event: Event, sharing: SharingSettings) -> None:
    parts = str(session_key(event, sharing)).split("/")
    assert len(parts) <= 2
    assert not {"", ".", ".."} & set(parts)


@pytest.mark.parametrize(
    ("event", "key"),
    [
        (
            Event(id="1", origin=Address(platform="telegram", chat="42"), sender=Sender("7")),
            "agent:main:telegram:dm:42",
        ),
        (
            Event(
                id="1",
                origin=Address(platform="telegram", chat="-100", thread="5"),
                sender=Sender("7"),
                chat_type=ChatType.FORUM,
            ),
            "agent:main:telegram:forum:-100:5",
        ),
        (
            Event(
                id="1",
                origin=Address(platform="discord", account="ops", team="9", chat="3"),
                sender=Sender("7"),
                chat_type=ChatType.GROUP,
            ),
            "agent:main:discord@ops/9:group:3:7",
        ),
        (
            Event(
                id="1",
                origin=Address(platform="slack", team="T1", chat="C1", thread="1.2"),
                sender=Sender("U"),
                chat_type=ChatType.CHANNEL,
            ),
            "agent:main:slack/T1:thread:C1:1.2",
        ),
        (
            Event(
                id="1",
                origin=Address(platform="webhook", chat="issues", thread="d:1"),
                sender=Sender(""),
                chat_type=ChatType.WEBHOOK,
            ),
            "agent:main:webhook:webhook:issues:d%3A1",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_key_can_be_read(event: Event, key: str) -> None:
    assert str(session_key(event, SharingSettings())) == key


# --- cases


def webhook(chat: str, thread: str, user: str = "u") -> Event:
    origin = Address(platform="webhook", chat=chat, thread=thread)
    return Event(id="1", origin=origin, sender=Sender(user), chat_type=ChatType.WEBHOOK)


def test_ids_that_hold_our_separator_do_not_collide() -> None:
    """SESS-01."""
    assert session_key(webhook("a:b", "c"), SharingSettings()) != session_key(webhook("a", "b:c"), SharingSettings())
    assert session_key(webhook("a", "b%3Ac"), SharingSettings()) != session_key(webhook("a", "b:c"), SharingSettings())


@pytest.mark.parametrize(
    "sharing", SHARINGS, ids=lambda sharing: f"{sharing.group_sessions_per_user}-{sharing.thread_sessions_per_user}"
)
def test_two_members_are_kept_apart_exactly_as_configured(sharing: SharingSettings) -> None:
    """SESS-03: a group and a thread of it, for each combination."""
    group = Address(platform="telegram", chat="G")
    for place, kind, apart in (
        (group, ChatType.GROUP, sharing.group_sessions_per_user),
        (replace(group, thread="T"), ChatType.GROUP, sharing.thread_sessions_per_user),
        (replace(group, thread="T"), ChatType.THREAD, sharing.thread_sessions_per_user),
        (replace(group, thread="T"), ChatType.FORUM, sharing.thread_sessions_per_user),
    ):
        keys = {
            session_key(Event(id="1", origin=place, sender=Sender(who), chat_type=kind), sharing) for who in ("A", "B")
        }
        assert len(keys) == (2 if apart else 1)


def test_two_topics_of_a_forum_are_two_conversations() -> None:
    """TG-18."""
    topics = [
        Event(
            id="1",
            origin=Address(platform="telegram", chat="-1", thread=thread),
            sender=Sender("7"),
            chat_type=ChatType.FORUM,
        )
        for thread in ("5", "9", "")
    ]
    assert len({session_key(topic, SharingSettings()) for topic in topics}) == 3


def test_one_channel_id_in_two_workspaces_is_two_conversations() -> None:
    """SLACK-10."""
    for kind in (ChatType.CHANNEL, ChatType.DM, ChatType.GROUP):
        keys = {
            session_key(
                Event(
                    id="1", origin=Address(platform="slack", team=team, chat="C123"), sender=Sender("U"), chat_type=kind
                ),
                SharingSettings(),
            )
            for team in ("T1", "T2", "")
        }
        assert len(keys) == 3


@pytest.mark.parametrize("chat", ["", " ", "\n\t"])
def test_an_event_without_a_chat_is_refused(chat: str) -> None:
    with pytest.raises(ValueError, match="names no chat"):
        session_key(Event(id="1", origin=Address(platform="x", chat=chat), sender=Sender("1")), SharingSettings())


@pytest.mark.parametrize("sender", ["", " "])
def test_an_event_without_a_sender_is_refused_only_where_each_member_has_a_session(sender: str) -> None:
    event = Event(id="1", origin=Address(platform="x", chat="1"), sender=Sender(sender), chat_type=ChatType.GROUP)
    with pytest.raises(ValueError, match="names no sender"):
        session_key(event, SharingSettings(group_sessions_per_user=True))
    session_key(event, SharingSettings(group_sessions_per_user=False))
    session_key(replace(event, chat_type=ChatType.DM), SharingSettings())


@given(events())
def test_the_key_of_a_private_chat_is_that_of_its_messages(event: Event) -> None:
    private = replace(event, chat_type=ChatType.DM)
    assert private_key(event.origin) == session_key(private, SharingSettings())


def test_another_namespace_is_another_key() -> None:
    event = Event(id="1", origin=Address(platform="x", chat="1"), sender=Sender("1"))
    assert session_key(event, SharingSettings(), "a:b") != session_key(event, SharingSettings())


def test_session_ids_tell_their_time_and_differ() -> None:
    at = datetime.fromisoformat("2026-11-29T23:05:07+01:00")
    ids = {new_session_id(at) for _ in range(1000)}
    assert len(ids) == 1000
    assert all(re.fullmatch(r"20261129_230507_[0-9a-f]{8}", id) for id in ids)


# --- addresses


@given(events())
def test_an_address_reads_back_as_it_was_written(event: Event) -> None:
    address = event.origin
    assert Address.parse(str(address)) == address
    assert Address.parse(f"  {address}\n") == address


@given(events(), events())
def test_two_addresses_are_written_alike_only_if_they_are_one(one: Event, two: Event) -> None:
    assert (str(one.origin) == str(two.origin)) is (one.origin == two.origin)


@given(st.text())
def test_whatever_reads_as_an_address_is_written_as_one(text: str) -> None:
    with suppress(ValueError):
        address = Address.parse(text)
        assert address.platform
        assert address.chat
        assert Address.parse(str(address)) == address


@pytest.mark.parametrize("text", ["", "telegram", "telegram:", ":42", "@a:1", "a:b:c:d", "/T:1", "telegram::5"])
def test_a_text_that_names_no_chat_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="not an address"):
        Address.parse(text)


@given(events())
def test_all_threads_of_a_chat_share_a_queue(event: Event) -> None:
    assert event.origin.queue == replace(event.origin, thread="another").queue
    assert Address.parse(event.origin.queue).thread == ""


@given(st.text(st.characters(exclude_categories=())))
def test_what_was_escaped_can_be_unescaped(text: str) -> None:
    assert unescape(escape(text)) == text
