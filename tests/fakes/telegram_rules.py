"""What the Bot API accepts: a request's texts, entities, buttons and commands in, a refusal in its own words out. Pure.

From the Bot API's documentation and its open source server: lengths and offsets in UTF-16 code units, a text of 1 to
4096 of them after entity parsing, trimmed at its end, 1 to 64 bytes in a button, 100 entities and 100 commands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]

TEXT_UNITS = 4096
ENTITIES = 100
BUTTON_BYTES = 64
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f]")
COMMAND = re.compile(r"[a-z0-9_]{1,32}")
SPOKEN = re.compile(r"(?<![\w/@])(?:(?P<bot_command>/[A-Za-z0-9_]{1,32}(?:@\w{3,32})?)|(?P<mention>@\w{3,32}))")
WEB = re.compile(r"https?://[^\s/?#]+\S*")
NESTABLE = frozenset({"bold", "italic", "underline", "strikethrough", "spoiler"})
QUOTES = frozenset({"blockquote", "expandable_blockquote"})
TYPES = (
    NESTABLE | QUOTES | {"code", "pre", "text_link", "text_mention", "mention", "url", "bot_command", "custom_emoji"}
)
ACTIONS = frozenset({"typing", "upload_photo", "record_voice", "upload_voice", "upload_document", "choose_sticker"})


class Refusal(Exception):
    """An answer with ``ok: false``."""

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.code, self.description, self.parameters = code, description, parameters


def bad(description: str) -> Refusal:
    return Refusal(400, f"Bad Request: {description}")


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def checked_text(given: str) -> str:
    """Return the text as it is shown."""
    text = CONTROLS.sub(" ", given.replace("\r", "")).rstrip()
    if not text.strip():
        raise bad("message text is empty")
    if units(text) > TEXT_UNITS:
        raise bad("message is too long")
    return text


def checked_entities(given: Sequence[Json], text: str) -> list[Json]:
    """Return the entities that are shown; the server mends nesting and drops what it does not know."""
    encoded, length = text.encode("utf-16-le"), units(text)
    kept = []
    for entity in given:
        start, end = _place(entity)
        if start > length or (end > length and not _only_trimmed(entity, length)):
            raise bad(
                f"entity {'begins' if start > length else 'ends'} after the end of the text at UTF-16 offset {end}"
            )
        for word, at in (("begins", start), ("ends", min(end, length))):
            if _is_low(encoded[at * 2 : at * 2 + 2]):
                raise bad(f"entity {word} in a middle of a UTF-16 symbol at byte offset {at * 2}")
        if entity.get("type") in TYPES and start < min(end, length) and _leads_somewhere(entity):
            kept.append({**entity, "length": min(end, length) - start})
    return kept[:ENTITIES]


def _place(entity: Json) -> tuple[int, int]:
    start, length = entity.get("offset"), entity.get("length")
    if not isinstance(start, int) or not isinstance(length, int) or start < 0 or length < 0:
        raise bad(f"can't parse entities: incorrect offset {start} or length {length}")
    return start, start + length


def _only_trimmed(entity: Json, length: int) -> bool:
    """The server trims the text before it looks at entities of ours that reach into the white space."""
    return bool(entity["offset"] < length)


def _is_low(unit: bytes) -> bool:
    return len(unit) == 2 and 0xDC00 <= int.from_bytes(unit, "little") <= 0xDFFF


def _leads_somewhere(entity: Json) -> bool:
    return entity["type"] != "text_link" or bool(WEB.fullmatch(str(entity.get("url", ""))))


def violations(entities: Sequence[Json], text: str) -> list[str]:
    """Say what the documentation forbids although the server mends or drops it."""
    found = []
    if len(entities) > ENTITIES:
        found.append(f"{len(entities)} entities")
    spans = [(each["offset"], each["offset"] + each["length"], each["type"]) for each in entities]
    for number, (start, end, kind) in enumerate(spans):
        if end > units(text):
            found.append(f"{kind} reaches past the text")
        found += [
            f"{kind} at {start}-{end} beside {other} at {from_}-{to}"
            for from_, to, other in spans[number + 1 :]
            if start < to and from_ < end and not _may_share(kind, other, (start, end), (from_, to))
        ]
    return found + [f"a link to {each.get('url')!r}" for each in entities if not _leads_somewhere(each)]


def _may_share(one: str, other: str, here: tuple[int, int], there: tuple[int, int]) -> bool:
    inside = (here[0] <= there[0] and there[1] <= here[1]) or (there[0] <= here[0] and here[1] <= there[1])
    if not inside or one == other or (one in QUOTES and other in QUOTES):
        return False
    code = {one, other} & {"code", "pre"}
    if code:
        return bool({one, other} & QUOTES)
    return bool({one, other} & (NESTABLE | QUOTES))


def checked_keyboard(markup: Json) -> list[list[Json]]:
    rows: list[list[Json]] = markup.get("inline_keyboard", [])
    for key in (key for row in rows for key in row):
        if not key.get("text"):
            raise bad("can't parse inline keyboard button: text buttons are not allowed in the inline keyboard")
        if not 1 <= len(str(key.get("callback_data", "")).encode()) <= BUTTON_BYTES and "url" not in key:
            raise bad("BUTTON_DATA_INVALID")
    return rows


def check_commands(commands: Sequence[Json]) -> None:
    if len(commands) > 100:
        raise bad("BOT_COMMANDS_TOO_MUCH")
    for command in commands:
        if not COMMAND.fullmatch(command.get("command", "")):
            raise bad("BOT_COMMAND_INVALID")
        if not 1 <= len(command.get("description", "")) <= 256:
            raise bad("BOT_COMMAND_DESCRIPTION_INVALID")


def spoken_entities(text: str) -> list[Json]:
    """Find what a person's client and the server mark in what they write."""
    return [
        {"type": str(found.lastgroup), "offset": units(text[: found.start()]), "length": units(found[0])}
        for found in SPOKEN.finditer(text)
    ]


def client_parts(text: str) -> list[str]:
    """Cut a long paste as a client does before it sends it."""
    parts: list[str] = []
    part: list[str] = []
    used = 0
    for letter in text:
        width = 2 if ord(letter) > 0xFFFF else 1
        if used + width > TEXT_UNITS:
            parts.append("".join(part))
            part, used = [], 0
        part.append(letter)
        used += width
    return [*parts, "".join(part)]
