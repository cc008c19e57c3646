"""Updates as the Bot API sends them, field by field as recorded; names, ids and texts are made up."""

from __future__ import annotations

from typing import Any

from adapters.telegram.inbound import Bot

Json = dict[str, Any]

ME = Bot(id=7000000001, username="mybot")
ANN: Json = {
    "id": 42,
    "is_bot": False,
    "first_name": "Ann",
    "last_name": "Ōta",
    "username": "ann",
    "language_code": "en",
}
OURS: Json = {"id": 7000000001, "is_bot": True, "first_name": "Hermes", "username": "mybot"}
PRIVATE: Json = {"id": 42, "first_name": "Ann", "last_name": "Ōta", "username": "ann", "type": "private"}
GROUP: Json = {"id": -1001234567890, "title": "Kitchen", "type": "supergroup"}
FORUM: Json = GROUP | {"is_forum": True}
CHANNEL: Json = {"id": -1009876543210, "title": "News", "type": "channel"}
DATE = 1_795_000_000


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def entity(kind: str, text: str, part: str, **more: Any) -> Json:
    """Return the entity of a part of the text."""
    return {"type": kind, "offset": units(text[: text.index(part)]), "length": units(part)} | more


def message(text: str = "", chat: Json = PRIVATE, sender: Json | None = ANN, **more: Any) -> Json:
    content: Json = {"message_id": 7, "chat": chat, "date": DATE} | ({"from": sender} if sender else {})
    return content | ({"text": text} if text else {}) | more


def update(kind: str = "message", **content: Any) -> Json:
    return {"update_id": 100_001, kind: content}


PHOTO: Json = {
    "photo": [
        {"file_id": "small", "file_unique_id": "s", "file_size": 1200, "width": 90, "height": 67},
        {"file_id": "large", "file_unique_id": "l", "file_size": 90000, "width": 1280, "height": 960},
    ]
}
