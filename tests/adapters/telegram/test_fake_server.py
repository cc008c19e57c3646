"""The fake Bot API server beside another model of it (teremok): they refuse alike what both know to refuse."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import TelegramAPIError, TelegramBadRequest, TelegramConflictError, TelegramRetryAfter
from aiogram.methods import AnswerCallbackQuery, EditMessageText, GetMe, GetUpdates, SendMessage, TelegramMethod
from aiogram.types import InlineKeyboardButton, InlineKeyboardMarkup, Message, MessageEntity
from teremok import MockBot

from tests.fakes.telegram_server import TelegramServer


def keys(data: str) -> InlineKeyboardMarkup:
    return InlineKeyboardMarkup(inline_keyboard=[[InlineKeyboardButton(text="x", callback_data=data)]])


def bold(offset: int, length: int) -> list[MessageEntity]:
    return [MessageEntity(type="bold", offset=offset, length=length)]


REQUESTS: dict[str, TelegramMethod[Any]] = {
    "plain": SendMessage(chat_id=42, text="hello"),
    "empty": SendMessage(chat_id=42, text=""),
    "as long as may be": SendMessage(chat_id=42, text="x" * 4096),
    "too long": SendMessage(chat_id=42, text="x" * 4097),
    "as many emoji as may be": SendMessage(chat_id=42, text="🍀" * 2048),
    "too many emoji": SendMessage(chat_id=42, text="🍀" * 2049),
    "an entity": SendMessage(chat_id=42, text="🍀 bold", entities=bold(3, 4)),
    "an entity past the text": SendMessage(chat_id=42, text="bold", entities=bold(5, 1)),
    "an entity before the text": SendMessage(chat_id=42, text="bold", entities=bold(-1, 2)),
    "a button": SendMessage(chat_id=42, text="x", reply_markup=keys("x" * 64)),
    "a button with too much in it": SendMessage(chat_id=42, text="x", reply_markup=keys("é" * 33)),
    "an edit that is too long": EditMessageText(chat_id=42, message_id=1, text="x" * 4097),
    "an edit": EditMessageText(chat_id=42, message_id=1, text="other"),
    "an empty edit": EditMessageText(chat_id=42, message_id=1, text=""),
}
SAME_WORDS = {"empty", "too long", "too many emoji", "a button with too much in it", "an edit that is too long"}


async def outcome(bot: Bot, method: TelegramMethod[Any]) -> tuple[str, str]:
    try:
        result = await bot(method)
    except TelegramAPIError as error:
        return type(error).__name__, error.message
    assert isinstance(result, Message)
    return "Message", result.text or ""


@pytest.fixture
async def bot(telegram: TelegramServer) -> Any:
    async with Bot(telegram.token, AiohttpSession(api=TelegramAPIServer.from_base(telegram.url))) as made:
        yield made


@pytest.mark.parametrize("name", REQUESTS)
async def test_both_models_take_and_refuse_alike(telegram: TelegramServer, bot: Bot, name: str) -> None:
    telegram.chat(42)
    await bot.send_message(42, "first")
    ours, theirs = await outcome(bot, REQUESTS[name]), await outcome(MockBot(), REQUESTS[name])
    assert ours[0] == theirs[0]
    if name in SAME_WORDS or ours[0] == "Message":
        assert ours[1] == theirs[1]


async def test_it_is_what_aiogram_takes_for_the_bot_api(telegram: TelegramServer, bot: Bot) -> None:
    me = await bot(GetMe())
    assert (me.id, me.username, me.is_bot) == (7000000001, telegram.username, True)
    telegram.say(-1001, "/start@hermes_test_bot 👋", user=5, thread=3)
    telegram.say(42, "", photo=[{"file_id": "f", "file_unique_id": "u", "width": 1, "height": 1}], caption="look")
    one, two = await bot(GetUpdates())
    assert one.message is not None
    assert two.message is not None
    assert (one.message.text, one.message.message_thread_id) == ("/start@hermes_test_bot 👋", 3)
    assert [each.type for each in one.message.entities or ()] == ["bot_command"]
    assert two.message.caption == "look"


async def test_what_is_not_confirmed_comes_again(telegram: TelegramServer, bot: Bot) -> None:
    for text in ("one", "two", "three"):
        telegram.say(42, text)
    first = await bot(GetUpdates(limit=2))
    assert [each.update_id for each in await bot(GetUpdates(limit=2))] == [each.update_id for each in first]
    rest = await bot(GetUpdates(offset=first[-1].update_id + 1))
    assert [each.message.text for each in rest if each.message] == ["three"]
    assert await bot(GetUpdates(offset=-1)) == rest


async def test_the_older_of_two_polls_loses(telegram: TelegramServer, bot: Bot) -> None:
    async with asyncio.TaskGroup() as group:

        async def older() -> None:
            with pytest.raises(TelegramConflictError, match="terminated by other getUpdates"):
                await bot(GetUpdates(timeout=20))

        group.create_task(older())
        await telegram.until(lambda: telegram.updates()["polls"] == 1, "the first poll")
        newer = group.create_task(bot(GetUpdates(timeout=20)))
        await telegram.until(lambda: telegram.updates()["polls"] == 2, "the second poll")
        telegram.say(42, "hello")
        assert len(await newer) == 1


async def test_an_edit_that_changes_nothing_is_refused(telegram: TelegramServer, bot: Bot) -> None:
    telegram.chat(42)
    sent = await bot.send_message(42, "hello ", entities=bold(0, 5))
    with pytest.raises(TelegramBadRequest, match="message is not modified"):
        await bot(EditMessageText(chat_id=42, message_id=sent.message_id, text="hello", entities=bold(0, 5)))
    await bot(EditMessageText(chat_id=42, message_id=sent.message_id, text="hello"))
    assert telegram.screen(42)[0]["edits"] == 1


@pytest.mark.parametrize(
    ("offset", "length", "why"),
    [(1, 1, "begins in a middle of a UTF-16 symbol"), (0, 1, "ends in a middle of a UTF-16 symbol")],
)
async def test_an_entity_that_cuts_a_character_is_refused(
    telegram: TelegramServer, bot: Bot, offset: int, length: int, why: str
) -> None:
    telegram.chat(42)
    with pytest.raises(TelegramBadRequest, match=why):
        await bot.send_message(42, "🍀 x", entities=bold(offset, length))


async def test_what_the_documentation_forbids_is_noted(telegram: TelegramServer, bot: Bot) -> None:
    telegram.chat(42)
    both = [MessageEntity(type="code", offset=0, length=4), *bold(2, 2)]
    await bot.send_message(42, "code", entities=both)
    assert telegram.violations() == ["code at 0-4 beside bold at 2-4"]


async def test_what_was_accepted_stays_though_the_answer_is_lost(telegram: TelegramServer, bot: Bot) -> None:
    telegram.chat(42)
    telegram.fault("drop", method="sendMessage", chat=42)
    with pytest.raises(TelegramAPIError):
        await bot.send_message(42, "hello")
    await bot.send_message(42, "hello")
    assert [entry["answered"] for entry in telegram.history("sendMessage", 42)] == [False, True]
    assert telegram.texts(42) == ["hello", "hello"]


async def test_what_was_refused_is_not_shown(telegram: TelegramServer, bot: Bot) -> None:
    telegram.chat(42)
    telegram.fault("flood", retry_after=3, times=2)
    for _ in range(2):
        with pytest.raises(TelegramRetryAfter) as flooded:
            await bot.send_message(42, "hello")
        assert flooded.value.retry_after == 3
    await bot.send_message(42, "hello")
    assert len(telegram.history("sendMessage")) == 1
    assert [entry["code"] for entry in telegram.refused()] == [429, 429]


async def test_a_query_is_answered_once(telegram: TelegramServer, bot: Bot) -> None:
    telegram.chat(42)
    sent = await bot.send_message(42, "x", reply_markup=keys("y"))
    query = telegram.press(42, sent.message_id, "x")
    assert await bot(AnswerCallbackQuery(callback_query_id=query))
    with pytest.raises(TelegramBadRequest, match="query is too old"):
        await bot(AnswerCallbackQuery(callback_query_id=query))
