"""From an update of the Bot API to an `Event`. Pure: nothing is fetched, kept or decided here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from adapters.telegram.payload import CallbackQuery, Chat, Entity, File, Message, Update, User
from gateway.contracts.adapter import utf16
from gateway.types import Address, Attachment, ChatType, Event, EventKind, Media, Quote, Sender, clean

COMMAND: Final = re.compile(r"/([A-Za-z0-9_]+)(?:@([A-Za-z0-9_]+))?(?![^\s])")
PASTE_UNITS: Final = 4000  # a client cuts a long paste at 4096 units or at the space before
QUOTE_CHARS: Final = 500
SPACE: Final = " ".encode("utf-16-le")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """Who we are in the chats, and in which groups we need no mention."""

    id: int
    username: str = ""
    platform: str = "telegram"
    account: str = ""
    require_mention: bool = True
    free_chats: frozenset[str] = frozenset()


def translate(update: Update, bot: Bot) -> Event | None:
    """Return what happened, or None for what is no business of ours: edits, service messages, other bots' commands."""
    if update.callback_query is not None:
        return _pressed(update.callback_query, bot)
    message = update.message or update.channel_post
    if message is None or (message.sender is not None and message.sender.id == bot.id):
        return None
    return _said(message, bot)


def _said(message: Message, bot: Bot) -> Event | None:
    text, entities = (message.text, message.entities) if message.text else (message.caption, message.caption_entities)
    attachments = tuple(_attachments(message))
    if not text and message.sticker is not None:
        text = message.sticker.emoji
    sender = _sender(message)
    command = COMMAND.match(text)
    if sender is None or not (text or attachments) or (command and not _is_ours(command, bot)):
        return None
    quote = _quote(message, bot)
    return Event(
        id=f"{message.chat.id}:{message.message_id}",
        origin=_address(message, bot),
        sender=sender,
        text=_prompt(text, entities, command, message.chat, bot),
        chat_type=_chat_type(message),
        addressed=bool(command) or bool(quote and quote.ours) or _speaks_to_us(text, entities, message.chat, bot),
        attachments=attachments,
        reply_to=quote,
        burst=_burst(message, sender),
        at=datetime.fromtimestamp(message.date, UTC),
    )


def _pressed(query: CallbackQuery, bot: Bot) -> Event | None:
    """Translate a button; `reply_to` is the message it stands under."""
    message = query.message
    if message is None or not query.data:
        return None
    return Event(
        id=f"callback:{query.id}",
        origin=_address(message, bot),
        sender=_person(query.sender),
        text=clean(query.data),
        kind=EventKind.ACTION,
        chat_type=_chat_type(message),
        reply_to=_quoted(message, message.text or message.caption, bot),
    )


def _address(message: Message, bot: Bot) -> Address:
    return Address(platform=bot.platform, account=bot.account, chat=str(message.chat.id), thread=_topic(message))


def _topic(message: Message) -> str:
    """Return the topic; a plain reply in a group has a thread id too, which names no place."""
    return str(message.message_thread_id) if message.is_topic_message and message.message_thread_id else ""


def _chat_type(message: Message) -> ChatType:
    match message.chat.type:
        case "private":
            return ChatType.DM
        case "channel":
            return ChatType.CHANNEL
        case _:
            return ChatType.FORUM if _topic(message) else ChatType.GROUP


def _sender(message: Message) -> Sender | None:
    """Return who wrote; behind an anonymous administrator or a channel stands a chat."""
    if message.sender_chat is not None:
        chat = message.sender_chat
        return Sender(str(chat.id), clean(chat.title or chat.username))
    if message.sender is not None:
        return _person(message.sender)
    if message.chat.type == "channel":
        return Sender(str(message.chat.id), clean(message.chat.title))
    return None


def _person(user: User) -> Sender:
    name = f"{user.first_name} {user.last_name}".strip() or user.username
    return Sender(str(user.id), clean(name), user.is_bot)


def _is_ours(command: re.Match[str], bot: Bot) -> bool:
    suffix = command.group(2)
    return suffix is None or suffix.lower() == bot.username.lower()


def _prompt(text: str, entities: Sequence[Entity], command: re.Match[str] | None, chat: Chat, bot: Bot) -> str:
    """Return the text without what only says that we are meant."""
    if command:
        return clean(f"/{command.group(1)}{text[command.end() :]}")
    if chat.type == "private":
        return clean(text)
    units = text.encode("utf-16-le")
    for entity in sorted(_mentions(text, entities, bot), key=lambda entity: -entity.offset):
        units = _cut(units, entity)
    return clean(units.decode("utf-16-le", "replace")).strip() or clean(text)


def _cut(units: bytes, entity: Entity) -> bytes:
    """Take the entity out, and the space after it where one stands before it too."""
    before, after = units[: entity.offset * 2], units[(entity.offset + entity.length) * 2 :]
    return before + (after.removeprefix(SPACE) if not before or before.endswith(SPACE) else after)


def _speaks_to_us(text: str, entities: Sequence[Entity], chat: Chat, bot: Bot) -> bool:
    if chat.type == "private" or not bot.require_mention or str(chat.id) in bot.free_chats:
        return True
    return any(True for _ in _mentions(text, entities, bot))


def _mentions(text: str, entities: Sequence[Entity], bot: Bot) -> Iterator[Entity]:
    """Yield the entities that name us: by @name, or by a link where a person has no @name."""
    units = text.encode("utf-16-le")
    for entity in entities:
        name = units[entity.offset * 2 : (entity.offset + entity.length) * 2].decode("utf-16-le", "replace")
        by_name = entity.type == "mention" and bool(bot.username) and name.lower() == f"@{bot.username.lower()}"
        by_id = entity.type == "text_mention" and entity.user is not None and entity.user.id == bot.id
        if by_name or by_id:
            yield entity


def _quote(message: Message, bot: Bot) -> Quote | None:
    """Return what the message answers. Every message of a topic "answers" the one that opened it: that is no quote."""
    answered, excerpt = message.reply_to_message, message.quote.text if message.quote else ""
    if answered is not None and not (message.is_topic_message and answered.message_id == message.message_thread_id):
        return _quoted(answered, excerpt or answered.text or answered.caption, bot)
    if message.external_reply is not None and excerpt:
        chat = message.external_reply.chat
        return Quote(str(message.external_reply.message_id or ""), _short(excerpt), clean(chat.title) if chat else "")
    return None


def _quoted(message: Message, text: str, bot: Bot) -> Quote:
    sender = _sender(message)
    ours = message.sender is not None and message.sender.id == bot.id
    return Quote(str(message.message_id), _short(text), sender.name if sender else "", ours)


def _short(text: str) -> str:
    text = clean(text)
    return text if len(text) <= QUOTE_CHARS else text[: QUOTE_CHARS - 1] + "…"


def _burst(message: Message, sender: Sender) -> str:
    if message.media_group_id:
        return f"album:{message.chat.id}:{message.media_group_id}"
    if utf16(message.text) >= PASTE_UNITS:
        return f"paste:{message.chat.id}:{sender.id}"
    return ""


def _attachments(message: Message) -> Iterator[Attachment]:
    """Yield the files; `ref` is Telegram's file id."""
    if message.photo:
        yield Attachment(Media.IMAGE, message.photo[-1].file_id, "photo.jpg", "image/jpeg")  # the last is the largest
    for kind, file, name, mime in (
        (Media.AUDIO, message.voice, "voice.ogg", "audio/ogg"),
        (Media.AUDIO, message.audio, "audio.mp3", "audio/mpeg"),
        (Media.VIDEO, message.video or message.video_note or message.animation, "video.mp4", "video/mp4"),
    ):
        if file is not None:
            yield _file(kind, file, name, mime)
    if message.document is not None and message.animation is None:  # an animation comes as both
        yield _file(Media.FILE, message.document, "file", "application/octet-stream")


def _file(kind: Media, file: File, name: str, mime: str) -> Attachment:
    return Attachment(kind, file.file_id, clean(file.file_name) or name, clean(file.mime_type) or mime)
