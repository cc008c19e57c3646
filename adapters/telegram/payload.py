"""The Bot API's updates, as far as we read them: JSON in, frozen models out. Everything else in them is passed over."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def _valid(value: object) -> object:
    """Replace halves of a character; the length in UTF-16 stays, so that entities still fit."""
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


Text = Annotated[str, BeforeValidator(_valid)]
Count = Annotated[int, Field(ge=0)]
Date = Annotated[int, Field(ge=0, le=253_402_300_799)]  # 9999-12-31, the last that datetime knows


class Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class User(Model):
    id: int
    is_bot: bool = False
    first_name: Text = ""
    last_name: Text = ""
    username: Text = ""


class Chat(Model):
    """`type` is private, group, supergroup or channel."""

    id: int
    type: str = "private"
    title: Text = ""
    username: Text = ""


class Entity(Model):
    """A stretch of a text; `offset` and `length` in UTF-16 code units."""

    type: str
    offset: Count
    length: Count
    user: User | None = None


class File(Model):
    file_id: str
    file_name: Text = ""
    mime_type: Text = ""


class Sticker(File):
    emoji: Text = ""


class Excerpt(Model):
    """The stretch of a message that a reply quotes."""

    text: Text = ""


class Elsewhere(Model):
    """A message of another chat that a reply answers."""

    message_id: int | None = None
    chat: Chat | None = None


class Message(Model):
    message_id: int
    date: Date = 0
    chat: Chat
    sender: User | None = Field(None, alias="from")
    sender_chat: Chat | None = None
    message_thread_id: int | None = None
    is_topic_message: bool = False
    text: Text = ""
    caption: Text = ""
    entities: tuple[Entity, ...] = ()
    caption_entities: tuple[Entity, ...] = ()
    media_group_id: str = ""
    reply_to_message: Message | None = None
    external_reply: Elsewhere | None = None
    quote: Excerpt | None = None
    photo: tuple[File, ...] = ()
    document: File | None = None
    audio: File | None = None
    voice: File | None = None
    video: File | None = None
    video_note: File | None = None
    animation: File | None = None
    sticker: Sticker | None = None


class CallbackQuery(Model):
    """A button under one of our messages was pressed."""

    id: str
    sender: User = Field(alias="from")
    message: Message | None = None
    data: Text = ""


class Update(Model):
    """One thing that happened; the kinds that we do not ask for have no field."""

    update_id: int
    message: Message | None = None
    channel_post: Message | None = None
    callback_query: CallbackQuery | None = None
