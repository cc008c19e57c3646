"""What a Bot API server of one bot knows: its chats and what they show, the updates to be fetched, what was asked."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from tests.fakes import telegram_rules as rules
from tests.fakes.telegram_rules import Json, Refusal, bad

FIRST_UPDATE = 100_001
SILENT_KINDS = frozenset({"message_reaction", "message_reaction_count", "chat_member"})
"""What a bot gets only where it names them."""


@dataclass(slots=True)
class Chat:
    """A chat; `messages` in the order they came, as the Bot API writes them."""

    about: Json
    topics: set[int] = field(default_factory=set)
    refusal: str = ""
    moved_to: int = 0
    messages: dict[int, Json] = field(default_factory=dict)
    edits: dict[int, int] = field(default_factory=dict)
    last: int = 0

    def add(self, message: Json) -> Json:
        self.last += 1
        message = {"message_id": self.last, "date": int(time.time()), "chat": self.about} | message
        self.messages[self.last] = message
        return message


@dataclass(slots=True)
class Updates:
    """The queue of getUpdates: what is confirmed is gone, all else comes again."""

    waiting: deque[Json] = field(default_factory=deque)
    allowed: list[str] = field(default_factory=list)
    following: int = FIRST_UPDATE
    confirmed: int = 0
    polls: int = 0
    poll: asyncio.Future[None] | None = None

    def push(self, kind: str, content: Json) -> int:
        """Queue an update, if the bot wants its kind."""
        if kind not in self.allowed if self.allowed else kind in SILENT_KINDS:
            return 0
        number, self.following = self.following, self.following + 1
        self.waiting.append({"update_id": number, kind: content})
        if self.poll is not None and not self.poll.done():
            self.poll.set_result(None)
        return number

    def repeat(self, updates: list[Json]) -> None:
        """Queue updates that were fetched before, as a server does that forgot the confirmation."""
        self.waiting.extend(updates)
        self.waiting = deque(sorted(self.waiting, key=lambda update: int(update["update_id"])))
        if self.poll is not None and not self.poll.done():
            self.poll.set_result(None)

    def confirm(self, offset: int) -> None:
        if offset < 0:
            while len(self.waiting) > -offset:
                self.confirmed = self.waiting.popleft()["update_id"] + 1
            return
        while self.waiting and self.waiting[0]["update_id"] < offset:
            self.waiting.popleft()
        self.confirmed = max(self.confirmed, offset)

    async def fetch(self, limit: int, seconds: float) -> list[Json]:
        """Answer a poll; one that is still open ends, as the newer one wins."""
        if self.poll is not None and not self.poll.done():
            conflict = "terminated by other getUpdates request; make sure that only one bot instance is running"
            self.poll.set_exception(Refusal(409, f"Conflict: {conflict}"))
        if not self.waiting and seconds > 0:
            await self._wait(seconds)
        return list(self.waiting)[: max(1, min(limit, 100))]

    async def _wait(self, seconds: float) -> None:
        mine = self.poll = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(seconds):
                await mine
        except TimeoutError:
            return
        finally:
            if self.poll is mine:
                self.poll = None


class World:
    """One bot and everybody it can meet. The methods named as the Bot API's are the Bot API's."""

    def __init__(self, token: str, username: str) -> None:
        self.token = token
        self.me = {"id": int(token.partition(":")[0]), "is_bot": True, "first_name": "Hermes", "username": username}
        self.revoked = False
        self.webhook = ""
        self.commands: list[Json] = []
        self.chats: dict[int, Chat] = {}
        self.updates = Updates()
        self.queries: set[str] = set()
        self.history: list[Json] = []
        self.refused: list[Json] = []
        self.violations: list[str] = []
        self.faults: list[Json] = []
        self.version = 0
        self._news = asyncio.Event()

    # --- what the tests see

    def changed(self) -> None:
        self.version += 1
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def news(self, since: int, seconds: float) -> int:
        """Return the version once it is another."""
        try:
            async with asyncio.timeout(seconds):
                while self.version <= since:
                    await self._news.wait()
        except TimeoutError:
            pass
        return self.version

    def screen(self, chat: int) -> list[Json]:
        """Return the messages that stand in a chat now, from the top."""
        room = self.chats.get(chat)
        return [self._seen(room, message) for message in room.messages.values()] if room else []

    def _seen(self, room: Chat, message: Json) -> Json:
        rows = message.get("reply_markup", {}).get("inline_keyboard", [])
        return {
            "id": message["message_id"],
            "by": "bot" if message.get("from") == self.me else str((message.get("from") or message["chat"])["id"]),
            "text": message.get("text", message.get("caption", "")),
            "entities": message.get("entities", []),
            "thread": message.get("message_thread_id", 0),
            "reply_to": message.get("reply_to_message", {}).get("message_id", 0),
            "buttons": [key["text"] for row in rows for key in row],
            "edits": room.edits.get(message["message_id"], 0),
        }

    def take_fault(self, method: str, chat: str) -> Json:
        """Return the fault that this request is to meet, if any, and count it."""
        now = time.monotonic()
        for fault in list(self.faults):
            if fault.get("method") not in {None, "", method} or str(fault.get("chat", "")) not in {"", chat}:
                continue
            if "for" in fault and fault.setdefault("until", now + fault["for"]) <= now:
                self.faults.remove(fault)
                continue
            fault["times"] -= 1
            if fault["times"] == 0:
                self.faults.remove(fault)
            return fault
        return {}

    def note(self, method: str, chat: str, params: Json) -> Json:
        """Keep an accepted request, whatever becomes of its answer."""
        entry = {"method": method, "chat": chat, "params": params, "at": time.monotonic(), "answered": False}
        self.history.append(entry)
        return entry

    def set(self, *, revoked: bool | None = None, webhook: str | None = None) -> None:
        self.revoked = self.revoked if revoked is None else revoked
        self.webhook = self.webhook if webhook is None else webhook

    def reset(self) -> None:
        """Begin anew, as a server for another test would."""
        if self.updates.poll is not None and not self.updates.poll.done():
            self.updates.poll.set_result(None)
        version = self.version
        self.__init__(self.token, str(self.me["username"]))  # type: ignore[misc]
        self.version = version  # whoever waits for news knows the old one

    # --- what people do

    def chat(self, number: int, **about: Any) -> Chat:
        """Return a chat, making it what a chat of that number usually is."""
        room = self.chats.get(number)
        if room is None:
            kind = "private" if number > 0 else "supergroup" if number <= -(10**12) else "group"
            name = {"first_name": f"User {number}"} if number > 0 else {"title": f"Group {number}"}
            room = self.chats[number] = Chat({"id": number, "type": kind} | name)
        room.about.update(about)
        return room

    def say(self, chat: int, text: str, user: int = 0, thread: int = 0, reply_to: int = 0, **extra: Any) -> list[int]:
        """Write as a person; a long text goes as the parts their client makes of it."""
        room = self.chat(chat)
        if thread:
            room.about["is_forum"] = True
            room.topics.add(thread)
        who = user or (chat if chat > 0 else 1)
        sent = []
        for part in rules.client_parts(text) if text else [""]:
            content: Json = {"from": {"id": who, "is_bot": False, "first_name": f"User {who}"}}
            if part:
                content |= {"text": part, "entities": rules.spoken_entities(part)}
            if thread:
                content |= {"message_thread_id": thread, "is_topic_message": True}
            if reply_to:
                content |= {"reply_to_message": room.messages[reply_to]}
            message = room.add(content | extra)
            self.updates.push("channel_post" if room.about["type"] == "channel" else "message", message)
            sent.append(message["message_id"])
        return sent

    def change(self, chat: int, message: int, text: str) -> None:
        """Edit what a person wrote."""
        room = self.chats[chat]
        edited = room.messages[message] | {"text": text, "edit_date": int(time.time())}
        edited["entities"] = rules.spoken_entities(text)
        room.messages[message] = edited
        self.updates.push("edited_message", edited)

    def press(self, chat: int, message: int, button: str, user: int = 0) -> str:
        """Press a button, by its label."""
        shown = self.chats[chat].messages[message]
        keys = [key for row in shown["reply_markup"]["inline_keyboard"] for key in row if key["text"] == button]
        who = user or chat
        query = f"q{self.updates.following}"
        self.queries.add(query)
        person = {"id": who, "is_bot": False, "first_name": f"User {who}"}
        content = {
            "id": query,
            "from": person,
            "chat_instance": "1",
            "data": keys[0]["callback_data"],
            "message": shown,
        }
        self.updates.push("callback_query", content)
        return query

    def upgrade(self, chat: int, new: int) -> None:
        """Make a supergroup of a group: it goes on under another id."""
        room = self.chat(chat)
        room.moved_to = new
        self.updates.push("message", room.add({"from": {"id": 1, "first_name": "User 1"}, "migrate_to_chat_id": new}))
        other = self.chat(new, type="supergroup", title=room.about.get("title", ""))
        self.updates.push(
            "message", other.add({"from": {"id": 1, "first_name": "User 1"}, "migrate_from_chat_id": chat})
        )

    # --- what the bot may ask

    async def call(self, method: str, params: Json) -> Any:
        match method:
            case "getMe":
                return self.me | {"can_join_groups": True, "can_read_all_group_messages": False}
            case "getUpdates":
                return await self._get_updates(params)
            case "setWebhook" | "deleteWebhook":
                self.webhook = params.get("url", "") if method == "setWebhook" else ""
                return True
            case "setMyCommands":
                rules.check_commands(params.get("commands", []))
                self.commands = params.get("commands", [])
                return True
            case "answerCallbackQuery":
                return self._answer(params)
            case _:
                return self._write(method, params)

    def _write(self, method: str, params: Json) -> Any:
        match method:
            case "sendMessage":
                return self._send_message(params)
            case "editMessageText":
                return self._edit_message_text(params)
            case "deleteMessage":
                return self._delete_message(params)
            case "sendChatAction":
                self._room(params)
                if params.get("action") not in rules.ACTIONS:
                    raise bad("wrong parameter action in request")
                return True
        raise Refusal(404, "Not Found")

    async def _get_updates(self, params: Json) -> list[Json]:
        if self.webhook:
            hint = "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
            raise Refusal(409, f"Conflict: {hint}")
        if "allowed_updates" in params:
            self.updates.allowed = list(params["allowed_updates"])
        if offset := int(params.get("offset", 0)):
            self.updates.confirm(offset)
        self.updates.polls += 1
        self.changed()
        return await self.updates.fetch(int(params.get("limit", 100)), float(params.get("timeout", 0)))

    def _answer(self, params: Json) -> bool:
        query = params.get("callback_query_id", "")
        if query not in self.queries:
            raise bad("query is too old and response timeout expired or query ID is invalid")
        self.queries.discard(query)
        return True

    def _room(self, params: Json) -> Chat:
        """Find the chat that is written to, as far as it can be written to."""
        try:
            number = int(params.get("chat_id", ""))
        except ValueError:
            number = 0
        room = self.chats.get(number)
        if room is None:
            raise bad("chat not found" if params.get("chat_id") else "chat_id is empty")
        if room.moved_to:
            description = "group chat was upgraded to a supergroup chat"
            raise Refusal(400, f"Bad Request: {description}", migrate_to_chat_id=room.moved_to)
        if room.refusal:
            raise Refusal(403, f"Forbidden: {room.refusal}")
        thread = int(params.get("message_thread_id", 0))
        if thread and thread not in room.topics:
            raise bad("message thread not found")
        return room

    def _content(self, params: Json) -> Json:
        if "parse_mode" in params:
            raise bad("unsupported parse_mode")  # this server knows entities only
        text, given = rules.checked_text(params.get("text", "")), params.get("entities", [])
        content: Json = {"text": text, "entities": rules.checked_entities(given, text)}
        self.violations += rules.violations(given, params["text"])
        if rows := rules.checked_keyboard(params.get("reply_markup", {})):
            content["reply_markup"] = {"inline_keyboard": rows}
        return {key: value for key, value in content.items() if value}

    def _send_message(self, params: Json) -> Json:
        room = self._room(params)
        content: Json = {"from": self.me} | self._content(params)
        if "message_thread_id" in params:
            content |= {"message_thread_id": int(params["message_thread_id"]), "is_topic_message": True}
        reply = params.get("reply_parameters", {})
        if answered := room.messages.get(reply.get("message_id", 0)):
            content["reply_to_message"] = {
                key: value for key, value in answered.items() if key not in {"reply_to_message", "reply_markup"}
            }
        elif reply and not reply.get("allow_sending_without_reply"):
            raise bad("message to be replied not found")
        return room.add(content)

    def _mine(self, room: Chat, params: Json, what: str) -> Json:
        message = room.messages.get(int(params.get("message_id", 0)))
        if message is None:
            raise bad(f"message to {what} not found")
        if message.get("from") != self.me:
            raise bad(f"message can't be {what}ed" if what == "edit" else "message can't be deleted")
        return message

    def _edit_message_text(self, params: Json) -> Json:
        room = self._room(params)
        message, content = self._mine(room, params, "edit"), self._content(params)
        kept = {key: value for key, value in message.items() if key not in {"text", "entities", "reply_markup"}}
        if {key: message[key] for key in ("text", "entities", "reply_markup") if key in message} == content:
            same = "specified new message content and reply markup are exactly the same as a current content"
            raise bad(f"message is not modified: {same} and reply markup of the message")
        number = message["message_id"]
        room.messages[number] = kept | content | {"edit_date": int(time.time())}
        room.edits[number] = room.edits.get(number, 0) + 1
        return room.messages[number]

    def _delete_message(self, params: Json) -> bool:
        room = self._room(params)
        del room.messages[self._mine(room, params, "delete")["message_id"]]
        return True
