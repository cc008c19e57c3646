"""The adapter of one Telegram bot: polls, translates, sends."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from itertools import groupby
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import aiogram
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import PRODUCTION, TelegramAPIServer
from aiogram.exceptions import AiogramError
from aiogram.methods import (
    AnswerCallbackQuery,
    DeleteMessage,
    EditMessageText,
    GetMe,
    SendChatAction,
    SendMessage,
    SetMyCommands,
    TelegramMethod,
)
from aiogram.types import (
    BotCommand,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    MessageEntity,
    ReplyParameters,
)
from aiohttp import ClientTimeout
from pydantic import ValidationError

from adapters.telegram import errors, inbound, outbound
from adapters.telegram.payload import Update
from adapters.telegram.settings import Settings
from gateway.contracts.adapter import Adapter, Emit, MenuEntry
from gateway.errors import AdapterError, TargetGone, TokenRefused, Unacceptable, Unreachable
from gateway.types import Address, Button, Event, EventKind, Part, Receipt, Rendered, clean

log = logging.getLogger(__name__)

T = TypeVar("T")

POLL_SECONDS: Final = 25
REQUEST_SECONDS: Final = 30
CONNECT_SECONDS: Final = 10
TYPING_SECONDS: Final = 5  # the sign is gone by then, and so is the use of showing it
KINDS: Final = ["message", "channel_post", "callback_query"]
GENERAL_TOPIC: Final = "1"  # the topic every forum begins with, which must not be named when sending
COMMAND: Final = re.compile(r"[a-z0-9_]{1,32}")
MENU_ENTRIES: Final = 100
HELP_CHARS: Final = 256
NO_PREVIEW: Final = LinkPreviewOptions(is_disabled=True)  # Telegram would fetch whatever address a model wrote


class GetRawUpdates(TelegramMethod[list[dict[str, Any]]]):
    """
    getUpdates, with each update as it came.

    aiogram's own method refuses the whole batch where it does not know one of its updates, and would do so for ever.
    """

    __returning__ = list[dict[str, Any]]
    __api_method__ = "getUpdates"

    timeout: int
    allowed_updates: list[str]
    offset: int | None = None


class TelegramAdapter(Adapter):
    """One bot. `listen` is the only place that polls; everything else works in any process."""

    limits = outbound.LIMITS

    def __init__(self, name: str, account: str, settings: Settings) -> None:
        self.name = name
        self._platform = name.partition("@")[0]
        self._account = account
        self._settings = settings
        self._opened: aiogram.Bot | None = None

    async def __aenter__(self) -> Self:
        token, base = self._settings.token.get_secret_value(), self._settings.api_base
        if token:
            server = TelegramAPIServer.from_base(base) if base else PRODUCTION
            self._opened = aiogram.Bot(token, session=AiohttpSession(api=server))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.session.close()

    async def listen(self, emit: Emit) -> None:
        """Poll; what was emitted is confirmed to Telegram by the next poll, and by nothing else."""
        bot = await self._introduce()
        offset: int | None = None
        while True:
            poll = GetRawUpdates(timeout=POLL_SECONDS, allowed_updates=KINDS, offset=offset)
            updates = await self._call(poll, seconds=POLL_SECONDS + REQUEST_SECONDS)
            await self._emit_all([event for update in updates if (event := _read(update, bot))], emit)
            offset = max((_number(update) + 1 for update in updates), default=offset)

    async def check(self) -> None:
        await self._introduce()

    async def _introduce(self) -> inbound.Bot:
        me = await self._call(GetMe())
        return inbound.Bot(
            id=me.id,
            username=me.username or "",
            platform=self._platform,
            account=self._account,
            require_mention=self._settings.require_mention,
            free_chats=frozenset(self._settings.free_chats),
        )

    async def _emit_all(self, events: Sequence[Event], emit: Emit) -> None:
        """Emit chat by chat, each in order, and the chats beside each other: they wait for the disk together."""
        by_chat = groupby(sorted(events, key=lambda event: event.origin.chat), key=lambda event: event.origin.chat)
        try:
            async with asyncio.TaskGroup() as chats:
                for _, said in by_chat:
                    chats.create_task(self._emit_in_order(list(said), emit))
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from failed

    async def _emit_in_order(self, events: Sequence[Event], emit: Emit) -> None:
        for event in events:
            await emit(event)
            if event.kind is EventKind.ACTION:
                await self._try(AnswerCallbackQuery(callback_query_id=event.id.removeprefix("callback:")))

    async def send(self, target: Address, part: Part) -> Receipt:
        if part.attachment is not None:
            raise Unacceptable("this gateway does not send files to Telegram yet")
        message = await self._call(
            SendMessage(
                chat_id=target.chat,
                message_thread_id=_topic(target),
                text=clean(part.body.text),
                entities=_entities(part),
                link_preview_options=NO_PREVIEW,
                reply_parameters=self._answered(part),
                reply_markup=_keyboard(part.buttons),
            ),
            target,
        )
        return Receipt(target, str(message.message_id))

    def _answered(self, part: Part) -> ReplyParameters | None:
        """Return the message to answer, given as its id or as that of its event."""
        number = part.reply_to.rpartition(":")[2]
        if self._settings.reply_to == "off" or not (number.isascii() and number.isdigit()):
            return None
        return ReplyParameters(message_id=int(number), allow_sending_without_reply=True)

    async def edit(self, receipt: Receipt, part: Part) -> None:
        method = EditMessageText(
            chat_id=receipt.target.chat,
            message_id=_message(receipt),
            text=clean(part.body.text),
            entities=_entities(part),
            link_preview_options=NO_PREVIEW,
            reply_markup=_keyboard(part.buttons),
        )
        await self._call_unless(errors.UNCHANGED, method, receipt.target)

    async def delete(self, receipt: Receipt) -> None:
        method = DeleteMessage(chat_id=receipt.target.chat, message_id=_message(receipt))
        await self._call_unless(errors.NOTHING_TO_DELETE, method, receipt.target)

    async def typing(self, target: Address, *, on: bool = True) -> None:
        """Show the sign, which goes by itself after five seconds and with the next message."""
        if on:
            await self._try(
                SendChatAction(chat_id=target.chat, action="typing", message_thread_id=_topic(target)),
                seconds=TYPING_SECONDS,
            )

    async def menu(self, entries: Sequence[MenuEntry]) -> None:
        commands = [
            BotCommand(command=name, description=(clean(entry.help).strip() or name)[:HELP_CHARS])
            for entry in entries
            if COMMAND.fullmatch(name := entry.name.lower().lstrip("/").replace("-", "_"))
        ]
        await self._call(SetMyCommands(commands=commands[:MENU_ENTRIES]))

    def render(self, markdown: str) -> Rendered:
        return outbound.render(markdown)

    async def _call_unless(self, already: str, method: TelegramMethod[Any], target: Address) -> None:
        """Call; a refusal that says that it is so already is a success."""
        try:
            await self._call(method, target)
        except Unacceptable as error:
            if not errors.says(error.__cause__, already):
                raise

    async def _try(self, method: TelegramMethod[Any], *, seconds: int = REQUEST_SECONDS) -> None:
        """Call for something that nobody misses."""
        try:
            await self._call(method, seconds=seconds)
        except AdapterError as error:
            log.debug("%s: %s", type(method).__name__, error)

    async def _call(
        self, method: TelegramMethod[T], target: Address | None = None, *, seconds: int = REQUEST_SECONDS
    ) -> T:
        if self._opened is None:
            raise TokenRefused(f"platforms.{self._platform} has no token: ask @BotFather for one")
        # aiogram names seconds; aiohttp, which gets the value, also takes its own object, with a limit for connecting:
        # until then nothing was sent.
        limit: Any = ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS)
        try:
            return await self._opened(method, request_timeout=limit)
        except (AiogramError, OSError) as error:
            raise errors.translate(error, target) from error


def _read(update: dict[str, Any], bot: inbound.Bot) -> Event | None:
    try:
        return inbound.translate(Update.model_validate(update), bot)
    except ValidationError as error:
        log.error("update %s of Telegram cannot be read and is passed over: %s", update.get("update_id"), error)
        return None


def _number(update: dict[str, Any]) -> int:
    number = update.get("update_id")
    if not isinstance(number, int):
        raise Unreachable("the server at api_base does not answer as the Bot API does")
    return number


def _topic(target: Address) -> int | None:
    if target.thread in {"", GENERAL_TOPIC}:
        return None
    try:
        return int(target.thread)
    except ValueError:
        raise TargetGone(f"not a topic of Telegram: {target}") from None


def _message(receipt: Receipt) -> int:
    try:
        return int(receipt.message_id)
    except ValueError:
        raise Unacceptable(f"not a message of Telegram: {receipt.message_id!r}") from None


def _entities(part: Part) -> list[MessageEntity] | None:
    return [MessageEntity.model_validate(entity) for entity in part.body.extra.get("entities", ())] or None


def _keyboard(buttons: Sequence[Button]) -> InlineKeyboardMarkup | None:
    if not buttons:
        return None
    rows = [[InlineKeyboardButton.model_validate(key) for key in row] for row in outbound.keyboard(buttons)]
    return InlineKeyboardMarkup(inline_keyboard=rows)
