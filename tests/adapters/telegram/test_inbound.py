"""From updates to events."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from adapters.telegram import inbound
from adapters.telegram.inbound import Bot
from adapters.telegram.payload import Update
from gateway.types import Address, ChatType, Event, EventKind, Media, Quote, Sender
from tests.adapters.telegram.recorded import (
    ANN,
    CHANNEL,
    DATE,
    FORUM,
    GROUP,
    ME,
    OURS,
    PHOTO,
    PRIVATE,
    Json,
    entity,
    message,
    units,
    update,
)


def translate(payload: dict[str, Any], bot: Bot = ME) -> Event | None:
    return inbound.translate(Update.model_validate(payload), bot)


def event_of(payload: dict[str, Any], bot: Bot = ME) -> Event:
    event = translate(payload, bot)
    assert event is not None
    return event


# --- who, where, when


def test_a_private_message_is_told_whole() -> None:
    assert event_of(update(**message("Grüße 👋"))) == Event(
        id="42:7",
        origin=Address(platform="telegram", chat="42"),
        sender=Sender("42", "Ann Ōta"),
        text="Grüße 👋",
        chat_type=ChatType.DM,
        at=datetime.fromtimestamp(DATE, UTC),
    )


def test_the_account_is_part_of_the_address() -> None:
    event = event_of(update(**message("hi")), replace(ME, account="support"))
    assert event.origin.adapter == "telegram@support"


@pytest.mark.parametrize(
    ("more", "kind", "thread"),
    [
        ({"chat": GROUP}, ChatType.GROUP, ""),
        ({"chat": GROUP, "message_thread_id": 3}, ChatType.GROUP, ""),
        ({"chat": FORUM, "message_thread_id": 3, "is_topic_message": True}, ChatType.FORUM, "3"),
        ({"chat": FORUM}, ChatType.GROUP, ""),
        ({"message_thread_id": 9, "is_topic_message": True}, ChatType.DM, "9"),
    ],
    ids=["group", "reply in a group", "topic", "general topic", "private topic"],
)
def test_only_a_topic_is_a_thread(more: dict[str, Any], kind: ChatType, thread: str) -> None:
    event = event_of(update(**message("hi") | more))
    assert (event.chat_type, event.origin.thread) == (kind, thread)


def test_a_channel_post_is_the_channels() -> None:
    event = event_of(update("channel_post", **message("hi", CHANNEL, None)))
    assert (event.chat_type, event.sender) == (ChatType.CHANNEL, Sender("-1009876543210", "News"))
    assert not event.addressed


def test_an_anonymous_administrator_is_the_group_they_speak_for() -> None:
    bot = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
    event = event_of(update(**message("hi", GROUP, bot, sender_chat=GROUP)))
    assert event.sender == Sender("-1001234567890", "Kitchen")


def test_another_bot_is_told_as_one() -> None:
    assert event_of(update(**message("hi", GROUP, {"id": 5, "is_bot": True, "first_name": "B"}))).sender.bot


def test_what_we_wrote_ourselves_is_no_event() -> None:
    assert translate(update(**message("hi", GROUP, OURS))) is None


# --- what is no message


@pytest.mark.parametrize("kind", ["edited_message", "edited_channel_post"])
def test_an_edit_runs_nothing_again(kind: str) -> None:
    assert translate(update(kind, **message("/new", edit_date=DATE))) is None


@pytest.mark.parametrize(
    "service",
    [
        {"new_chat_members": [OURS]},
        {"migrate_to_chat_id": -1001},
        {"pinned_message": message("old", GROUP)},
        {"forum_topic_created": {"name": "x", "icon_color": 1}, "message_thread_id": 3, "is_topic_message": True},
        {"text": ""},
    ],
    ids=lambda service: next(iter(service)),
)
def test_a_service_message_is_no_event(service: dict[str, Any]) -> None:
    assert translate(update(**message("", GROUP) | service)) is None


def test_a_kind_of_update_that_is_not_known_is_no_event() -> None:
    assert translate({"update_id": 1, "message_teleported": {"x": 1}}) is None


# --- commands


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("/new", "/new"),
        ("/new@mybot", "/new"),
        ("/new@MYBOT extra", "/new extra"),
        ("/new@mybot\nextra", "/new\nextra"),
        ("/new@otherbot", None),
        ("/new@otherbot extra", None),
        ("/new@mybot2", None),
        ("/etc/passwd is a file", "/etc/passwd is a file"),
    ],
)
@pytest.mark.parametrize("chat", [PRIVATE, GROUP], ids=["private", "group"])
def test_a_command_is_ours_without_a_name_or_with_ours(said: str, heard: str | None, chat: dict[str, Any]) -> None:
    """TG-17: of two bots in a group the one that is meant obeys."""
    event = translate(update(**message(said, chat, entities=[entity("bot_command", said, said.split(maxsplit=1)[0])])))
    assert (event.text if event else None) == heard


def test_a_command_in_a_group_speaks_to_us_and_a_path_does_not() -> None:
    assert event_of(update(**message("/new", GROUP))).addressed
    assert not event_of(update(**message("/etc/passwd", GROUP))).addressed


def test_a_command_in_a_caption_is_a_command() -> None:
    assert (
        event_of(update(**message("", GROUP, caption="/ask@MyBot what is this?", **PHOTO))).text == "/ask what is this?"
    )


# --- mentions


@pytest.mark.parametrize(
    ("said", "name", "heard"),
    [
        ("@mybot what is this?", "@mybot", "what is this?"),
        ("@MyBot what is this?", "@MyBot", "what is this?"),
        ("👨‍👩‍👧 東京 @mybot tell", "@mybot", "👨‍👩‍👧 東京 tell"),
        ("tell me, @mybot", "@mybot", "tell me,"),
        ("@mybot", "@mybot", "@mybot"),
    ],
)
def test_a_mention_speaks_to_us_and_is_no_part_of_the_question(said: str, name: str, heard: str) -> None:
    """TG-15: the prompt is what was asked, without our name."""
    event = event_of(update(**message(said, GROUP, entities=[entity("mention", said, name)])))
    assert (event.addressed, event.text) == (True, heard)


def test_a_mention_in_a_caption_speaks_to_us() -> None:
    said = "🐍 @mybot what is this?"
    event = event_of(
        update(**message("", GROUP, caption=said, caption_entities=[entity("mention", said, "@mybot")], **PHOTO))
    )
    assert (event.addressed, event.text) == (True, "🐍 what is this?")


def test_a_link_to_us_is_a_mention() -> None:
    said = "Hermes, are you there?"
    event = event_of(update(**message(said, GROUP, entities=[entity("text_mention", said, "Hermes", user=OURS)])))
    assert event.addressed


@pytest.mark.parametrize(
    ("said", "entities"),
    [
        ("@mybot2 hi", [entity("mention", "@mybot2 hi", "@mybot2")]),
        ("mail me@mybot.com", [entity("email", "mail me@mybot.com", "me@mybot.com")]),
        ("Ann, hi", [entity("text_mention", "Ann, hi", "Ann", user=ANN)]),
        ("`@mybot`", [entity("code", "`@mybot`", "@mybot")]),
        ("hi", [{"type": "mention", "offset": 900, "length": 6}]),
    ],
    ids=["another name", "an address", "another person", "code", "out of the text"],
)
def test_what_only_looks_like_a_mention_is_none(said: str, entities: list[dict[str, Any]]) -> None:
    """TG-15: neither a longer name nor a mail address is ours."""
    event = event_of(update(**message(said, GROUP, entities=entities)))
    assert (event.addressed, event.text) == (False, said)


def test_a_group_may_be_free_of_mentions() -> None:
    chatter = update(**message("hi all", GROUP))
    assert not event_of(chatter).addressed
    assert event_of(chatter, replace(ME, require_mention=False)).addressed
    assert event_of(chatter, replace(ME, free_chats=frozenset({"-1001234567890"}))).addressed


# --- replies


def test_an_answer_to_us_speaks_to_us_and_carries_what_it_answers() -> None:
    asked = message("Which one?", GROUP, OURS, message_id=5)
    event = event_of(update(**message("the red one", GROUP, reply_to_message=asked)))
    assert event.reply_to == Quote("5", "Which one?", "Hermes", ours=True)
    assert event.addressed


def test_an_answer_to_somebody_else_does_not_speak_to_us() -> None:
    event = event_of(update(**message("yes", GROUP, reply_to_message=message("Tea?", GROUP, ANN, message_id=5))))
    assert event.reply_to == Quote("5", "Tea?", "Ann Ōta")
    assert not event.addressed


def test_a_quoted_stretch_stands_for_the_whole() -> None:
    long = message("a long story about a red fox", message_id=5)
    event = event_of(update(**message("why red?", reply_to_message=long, quote={"text": "red fox", "position": 21})))
    assert event.reply_to is not None
    assert event.reply_to.text == "red fox"


def test_a_long_quote_is_cut() -> None:
    event = event_of(update(**message("why?", reply_to_message=message("狐" * 4000, message_id=5))))
    assert event.reply_to is not None
    assert event.reply_to.text == "狐" * 499 + "…"


def test_a_photo_is_quoted_by_its_caption() -> None:
    event = event_of(update(**message("why?", reply_to_message=message("", message_id=5, caption="Tokyo", **PHOTO))))
    assert event.reply_to == Quote("5", "Tokyo", "Ann Ōta")


def test_a_message_in_a_topic_answers_nobody_for_that() -> None:
    opening = message("", FORUM, OURS, message_id=3, forum_topic_created={"name": "Tea"})
    topic: Json = {"message_thread_id": 3, "is_topic_message": True, "reply_to_message": opening}
    event = event_of(update(**message("hi all", FORUM, **topic)))
    assert event.reply_to is None
    assert not event.addressed


def test_a_quote_of_another_chat_is_told() -> None:
    elsewhere = {"origin": {"type": "channel"}, "chat": CHANNEL, "message_id": 88}
    event = event_of(update(**message("true?", external_reply=elsewhere, quote={"text": "it rains", "position": 0})))
    assert event.reply_to == Quote("88", "it rains", "News")


# --- attachments and bursts


def test_a_photo_with_a_caption_is_one_event_with_its_largest_size() -> None:
    event = event_of(update(**message("", caption="What is this?", **PHOTO)))
    assert event.text == "What is this?"
    assert [(each.kind, each.ref) for each in event.attachments] == [(Media.IMAGE, "large")]


@pytest.mark.parametrize(
    ("field", "kind", "mime"),
    [
        ("voice", Media.AUDIO, "audio/ogg"),
        ("audio", Media.AUDIO, "audio/mpeg"),
        ("video", Media.VIDEO, "video/mp4"),
        ("video_note", Media.VIDEO, "video/mp4"),
        ("document", Media.FILE, "application/pdf"),
    ],
)
def test_a_file_alone_is_an_event(field: str, kind: Media, mime: str) -> None:
    file = {"file_id": "f", "file_unique_id": "u", "file_name": "報告.pdf"} | (
        {"mime_type": mime} if field != "video_note" else {}
    )
    event = event_of(update(**message("", **{field: file})))
    assert [(each.kind, each.ref, each.mime) for each in event.attachments] == [(kind, "f", mime)]
    assert event.attachments[0].name == "報告.pdf"


def test_an_animation_is_not_told_twice() -> None:
    file = {"file_id": "f", "file_unique_id": "u"}
    event = event_of(update(**message("", animation=file, document=file)))
    assert [each.kind for each in event.attachments] == [Media.VIDEO]


def test_a_sticker_says_what_it_shows() -> None:
    assert event_of(update(**message("", sticker={"file_id": "f", "emoji": "👍"}))).text == "👍"


def test_an_album_is_one_burst() -> None:
    one, two = (update(**message("", message_id=number, media_group_id="13", **PHOTO)) for number in (7, 8))
    assert event_of(one).burst == event_of(two).burst != ""
    assert event_of(one).id != event_of(two).id


@pytest.mark.parametrize("text", ["x" * 4096, "🍀" * 2048, "/ask " + "x" * 4091])
def test_a_text_as_long_as_a_client_sends_may_go_on(text: str) -> None:
    assert units(text) == 4096
    assert event_of(update(**message(text))).burst == "paste:42:42"


def test_a_short_text_waits_for_nothing() -> None:
    assert event_of(update(**message("🍀" * 1000))).burst == ""


# --- buttons


def test_a_button_is_an_action_bound_to_its_message_and_its_person() -> None:
    asked = message("Run it?", GROUP, OURS, message_id=5)
    query = {"id": "99", "from": ANN, "chat_instance": "1", "data": "allow:3", "message": asked}
    event = event_of(update("callback_query", **query))
    assert (event.kind, event.id, event.text) == (EventKind.ACTION, "callback:99", "allow:3")
    assert event.sender.id == "42"
    assert event.reply_to == Quote("5", "Run it?", "Hermes", ours=True)
    assert event.origin.chat == "-1001234567890"


def test_a_button_of_a_message_that_is_gone_is_no_event() -> None:
    assert translate(update("callback_query", id="99", **{"from": ANN}, chat_instance="1", data="x")) is None


# --- hostile


def test_halves_of_characters_and_nul_do_not_get_in() -> None:
    said = "a\ud83d @mybot b\0c"
    event = event_of(update(**message(said, GROUP, entities=[{"type": "mention", "offset": 3, "length": 6}])))
    assert (event.text, event.addressed) == ("a\ufffd bc", True)


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"update_id": "x"},
        {"update_id": 1, "message": 5},
        {"update_id": 1, "message": {"message_id": 1}},
        update(**message("x") | {"date": 10**20}),
        update(**message("x", entities=[{"type": "mention", "offset": -1, "length": 3}])),
    ],
)
def test_what_is_no_update_is_refused_as_such(broken: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        translate(broken)


spans = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["mention", "bot_command", "bold", "text_mention"]),
        "offset": st.integers(0, 50),
        "length": st.integers(0, 50),
    }
)


@given(st.text(st.characters(), min_size=1, max_size=60), st.lists(spans, max_size=5))
def test_any_text_with_any_entities_is_told_or_left(text: str, entities: list[dict[str, Any]]) -> None:
    event = translate(update(**message(text, GROUP, entities=entities)))
    if event is not None:
        event.text.encode()
        assert "\0" not in event.text
