"""The adapter before a Bot API server: what it confirms, what it sends, what it says when it is refused."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from adapters.telegram import Settings, create
from gateway.contracts.adapter import Adapter, MenuEntry
from gateway.errors import (
    AdapterError,
    Ambiguous,
    StorageError,
    TargetGone,
    TargetMoved,
    Throttled,
    TokenRefused,
    Unacceptable,
    Unreachable,
)
from gateway.types import Address, Attachment, Button, Event, EventKind, Media, Part, Receipt
from tests.adapters.conformance import SECONDS, Heard, listening, part
from tests.fakes.telegram_server import TelegramServer

ANN = Address(platform="telegram", chat="42")


async def said(listen: Any) -> AdapterError:
    """Return what listening ends with."""
    with pytest.raises(AdapterError) as raised:
        async with asyncio.timeout(SECONDS):
            await listen
    return raised.value


@pytest.fixture
def ann(telegram: TelegramServer) -> Address:
    telegram.chat(42)
    return ANN


# --- listening: nothing is confirmed that is not safe


async def test_an_update_is_confirmed_only_after_it_is_safe(telegram: TelegramServer, adapter: Adapter) -> None:
    asked, safe = asyncio.Event(), asyncio.Event()

    async def emit(event: Event) -> bool:
        asked.set()
        await safe.wait()
        return True

    async with asyncio.TaskGroup() as group:
        listen = group.create_task(adapter.listen(emit))
        telegram.say(42, "hello")
        await asked.wait()
        [number] = telegram.updates()["waiting"]
        assert telegram.updates()["confirmed"] == 0
        safe.set()
        await telegram.confirms(number)
        assert telegram.updates()["waiting"] == []
        listen.cancel()


async def test_an_update_that_could_not_be_kept_comes_again(telegram: TelegramServer, adapter: Adapter) -> None:
    async def full(event: Event) -> bool:
        raise StorageError("the disk is full")

    telegram.say(42, "hello")
    with pytest.raises(StorageError, match="full"):
        await adapter.listen(full)
    assert len(telegram.updates()["waiting"]) == 1
    async with listening(adapter) as heard:
        assert (await heard.next()).text == "hello"


async def test_one_full_chat_does_not_confirm_the_others(telegram: TelegramServer, adapter: Adapter) -> None:
    async def partly(event: Event) -> bool:
        if event.origin.chat == "42":
            raise StorageError("the disk is full")
        return True

    telegram.say(41, "one")
    telegram.say(42, "two")
    telegram.say(43, "three")
    with pytest.raises(StorageError):
        await adapter.listen(partly)
    assert len(telegram.updates()["waiting"]) == 3


async def test_an_update_that_cannot_be_read_stops_nobody(
    telegram: TelegramServer, adapter: Adapter, caplog: pytest.LogCaptureFixture
) -> None:
    telegram.update("message", {"message_id": "seven", "text": "no chat"})
    telegram.update("message", {"message_id": 1, "date": 10**18, "chat": {"id": 42, "type": "private"}})
    telegram.say(42, "hello")
    async with listening(adapter) as heard:
        assert (await heard.next()).text == "hello"
        await telegram.until(lambda: telegram.updates()["waiting"] == [], "all confirmed")
    assert caplog.text.count("cannot be read and is passed over") == 2


async def test_edits_and_service_messages_are_confirmed_unheard(telegram: TelegramServer, adapter: Adapter) -> None:
    async with listening(adapter) as heard:
        number = telegram.say(42, "/new")
        assert (await heard.next()).text == "/new"
        telegram.change(42, number, "/new ")
        telegram.upgrade(-5, -1000000000005)
        telegram.say(42, "after")
        assert (await heard.next()).text == "after"


async def test_a_long_paste_comes_as_one_burst(telegram: TelegramServer, adapter: Adapter) -> None:
    async with listening(adapter) as heard:
        telegram.say(42, "🍀" * 2048 + "and that is all")
        first, second = await heard.next(), await heard.next()
    assert (first.text, second.text) == ("🍀" * 2048, "and that is all")
    assert first.burst
    assert not second.burst


async def test_a_reply_brings_what_it_answers(telegram: TelegramServer, adapter: Adapter, ann: Address) -> None:
    receipt = await adapter.send(ann, part(adapter, "Which **one**?"))
    async with listening(adapter) as heard:
        telegram.say(42, "the red one", reply_to=int(receipt.message_id))
        quote = (await heard.next()).reply_to
    assert quote is not None
    assert (quote.id, quote.text, quote.ours) == (receipt.message_id, "Which one?", True)


async def test_a_pressed_button_is_heard_and_answered(telegram: TelegramServer, adapter: Adapter, ann: Address) -> None:
    asked = part(adapter, "Run it?", buttons=(Button("Yes", "allow:1"), Button("No", "deny:1")))
    receipt = await adapter.send(ann, asked)
    assert telegram.screen(42)[0]["buttons"] == ["Yes", "No"]
    async with listening(adapter) as heard:
        query = telegram.press(42, int(receipt.message_id), "Yes")
        event = await heard.next()
        await telegram.until(lambda: bool(telegram.history("answerCallbackQuery")), "the button answered")
    assert (event.kind, event.text, event.id) == (EventKind.ACTION, "allow:1", f"callback:{query}")
    assert event.reply_to is not None
    assert event.reply_to.id == receipt.message_id


async def test_another_program_that_polls_is_named(telegram: TelegramServer, adapter: Adapter) -> None:
    async with create("telegram", "", Settings(token=SecretStr(telegram.token), api_base=telegram.url)) as other:
        heard = Heard()
        async with asyncio.TaskGroup() as group:
            first = group.create_task(said(adapter.listen(heard.emit)))
            await telegram.until(lambda: telegram.updates()["polls"] == 1, "the first poll")
            second = group.create_task(other.listen(heard.emit))
            error = await first
            second.cancel()
    assert isinstance(error, Unreachable)
    assert "another program polls this bot" in str(error)


async def test_a_webhook_that_stands_in_the_way_is_named(telegram: TelegramServer, adapter: Adapter) -> None:
    telegram.set_webhook("https://example.org/")
    error = await said(adapter.listen(Heard().emit))
    assert isinstance(error, Unreachable)
    assert "webhook" in str(error)


async def test_a_refused_token_is_told_as_one(telegram: TelegramServer, adapter: Adapter) -> None:
    telegram.revoke()
    error = await said(adapter.listen(Heard().emit))
    assert isinstance(error, TokenRefused)
    assert telegram.token not in str(error)


@pytest.mark.parametrize("fault", ["server", "html", "reset", "drop"])
async def test_a_poll_that_fails_is_a_server_out_of_reach(
    telegram: TelegramServer, adapter: Adapter, fault: str
) -> None:
    telegram.fault(fault, method="getUpdates")
    telegram.say(42, "hello")
    assert isinstance(await said(adapter.listen(Heard().emit)), Unreachable)
    async with listening(adapter) as heard:
        assert (await heard.next()).text == "hello"


async def test_a_flooded_poll_closes_the_whole_account(telegram: TelegramServer, adapter: Adapter) -> None:
    telegram.fault("flood", method="getUpdates", retry_after=5)
    error = await said(adapter.listen(Heard().emit))
    assert isinstance(error, Throttled)
    assert (error.retry_after, error.everywhere) == (5, True)


async def test_a_bot_without_a_token_says_where_to_get_one() -> None:
    async with create("telegram", "", Settings()) as adapter:
        error = await said(adapter.listen(Heard().emit))
        with pytest.raises(TokenRefused):
            await adapter.send(ANN, part(adapter, "hello"))
    assert "@BotFather" in str(error)


async def test_messages_of_many_chats_are_kept_side_by_side(telegram: TelegramServer, adapter: Adapter) -> None:
    waiting: set[str] = set()
    all_here = asyncio.Event()

    async def emit(event: Event) -> bool:
        waiting.add(event.origin.chat)
        if len(waiting) == 10:
            all_here.set()
        await all_here.wait()
        return True

    for chat in range(1, 11):
        telegram.say(chat, "hello")
    async with asyncio.TaskGroup() as group:
        listen = group.create_task(adapter.listen(emit))
        await telegram.until(lambda: telegram.updates()["waiting"] == [], "all confirmed")
        listen.cancel()


# --- sending


async def test_formatting_arrives_as_entities(telegram: TelegramServer, adapter: Adapter, ann: Address) -> None:
    await adapter.send(ann, part(adapter, "👋 **bold** and [a link](https://e.org)"))
    [shown] = telegram.screen(42)
    assert shown["text"] == "👋 bold and a link"
    assert [(each["type"], each["offset"], each["length"]) for each in shown["entities"]] == [
        ("bold", 3, 4),
        ("text_link", 12, 6),
    ]
    assert telegram.violations() == []


async def test_addresses_that_a_model_wrote_are_not_fetched(
    telegram: TelegramServer, adapter: Adapter, ann: Address
) -> None:
    receipt = await adapter.send(ann, part(adapter, "https://e.org/?secret"))
    await adapter.edit(receipt, part(adapter, "https://e.org/?more"))
    assert [entry["params"]["link_preview_options"] for entry in telegram.history()] == [{"is_disabled": True}] * 2


@pytest.mark.parametrize("named", ["1", "42:1"], ids=["by its id", "by that of its event"])
async def test_an_answer_is_shown_as_one(telegram: TelegramServer, adapter: Adapter, named: str) -> None:
    telegram.say(42, "hello")
    await adapter.send(ANN, part(adapter, "hello yourself", reply_to=named))
    assert telegram.screen(42)[-1]["reply_to"] == 1


async def test_an_answer_to_a_message_that_is_gone_is_sent_all_the_same(
    telegram: TelegramServer, adapter: Adapter, ann: Address
) -> None:
    await adapter.send(ann, part(adapter, "hello", reply_to="999"))
    assert telegram.screen(42)[-1]["reply_to"] == 0


async def test_replies_can_be_switched_off(telegram: TelegramServer, ann: Address) -> None:
    telegram.say(42, "hello")
    settings = Settings(token=SecretStr(telegram.token), api_base=telegram.url, reply_to="off")
    async with create("telegram", "", settings) as adapter:
        await adapter.send(ann, part(adapter, "hello yourself", reply_to="1"))
    assert telegram.screen(42)[-1]["reply_to"] == 0


async def test_an_answer_goes_into_the_topic_it_is_for(telegram: TelegramServer, adapter: Adapter) -> None:
    telegram.say(-1001, "@hermes_test_bot hi", user=42, thread=7)
    await adapter.send(Address(platform="telegram", chat="-1001", thread="7"), part(adapter, "hello"))
    await adapter.send(Address(platform="telegram", chat="-1001", thread="1"), part(adapter, "to all"))
    assert [(message["text"], message["thread"]) for message in telegram.screen(-1001)[1:]] == [
        ("hello", 7),
        ("to all", 0),
    ]


async def test_all_that_is_said_in_a_topic_stays_in_it(telegram: TelegramServer, adapter: Adapter) -> None:
    for topic in (5, 9):
        telegram.say(-1001, "@hermes_test_bot hi", user=42, thread=topic)
    async with listening(adapter) as heard:
        origins = [(await heard.next()).origin for _ in range(2)]
    assert [origin.thread for origin in origins] == ["5", "9"]
    for origin in reversed(origins):
        await adapter.typing(origin)
        first = await adapter.send(origin, part(adapter, f"one of {origin.thread}, begun"))
        await adapter.send(origin, part(adapter, f"two of {origin.thread}"))
        await adapter.edit(first, part(adapter, f"one of {origin.thread}, done"))
    shown = [(message["thread"], message["text"]) for message in telegram.screen(-1001) if message["by"] == "bot"]
    assert shown == [(9, "one of 9, done"), (9, "two of 9"), (5, "one of 5, done"), (5, "two of 5")]
    signs = telegram.history("sendChatAction")
    assert [(sign["params"]["chat_id"], sign["params"]["message_thread_id"]) for sign in signs] == [
        ("-1001", "9"),
        ("-1001", "5"),
    ]
    assert telegram.refused() == []


async def test_the_typing_sign_names_no_topic_where_there_is_none(telegram: TelegramServer, adapter: Adapter) -> None:
    telegram.chat(-1001)
    for thread in ("", "1"):
        await adapter.typing(Address(platform="telegram", chat="-1001", thread=thread))
    assert [sign["params"].get("message_thread_id") for sign in telegram.history("sendChatAction")] == [None, None]


async def test_a_topic_that_is_gone_sends_the_message_to_the_group(telegram: TelegramServer, adapter: Adapter) -> None:
    telegram.chat(-1001)
    topic = Address(platform="telegram", chat="-1001", thread="777")
    with pytest.raises(TargetMoved) as moved:
        await adapter.send(topic, part(adapter, "hello"))
    assert moved.value.new == replace(topic, thread="")
    await adapter.send(moved.value.new, part(adapter, "hello"))
    assert telegram.texts(-1001) == ["hello"]


async def test_a_group_that_moved_is_followed(telegram: TelegramServer, adapter: Adapter) -> None:
    telegram.upgrade(-4001, -1004001)
    with pytest.raises(TargetMoved) as moved:
        await adapter.send(Address(platform="telegram", chat="-4001"), part(adapter, "hello"))
    assert moved.value.new == Address(platform="telegram", chat="-1004001")


async def test_a_chat_nobody_opened_is_gone(adapter: Adapter, telegram: TelegramServer) -> None:
    for chat in ("4711", "nobody", "", "-1"):
        with pytest.raises((TargetGone, Unacceptable)):
            await adapter.send(Address(platform="telegram", chat=chat), part(adapter, "hello"))
    with pytest.raises(TargetGone):
        await adapter.send(Address(platform="telegram", chat="4711", thread="x"), part(adapter, "hello"))


async def test_flood_control_closes_one_chat_for_as_long_as_it_says(
    telegram: TelegramServer, adapter: Adapter, ann: Address
) -> None:
    telegram.chat(43)
    telegram.fault("flood", method="sendMessage", chat=42, for_seconds=600)
    with pytest.raises(Throttled) as throttled:
        await adapter.send(ann, part(adapter, "hello"))
    assert 590 < throttled.value.retry_after <= 600
    assert not throttled.value.everywhere
    await adapter.send(replace(ann, chat="43"), part(adapter, "hello"))
    assert telegram.texts(43) == ["hello"]


@pytest.mark.parametrize("fault", ["drop", "server", "html", "reset"])
async def test_a_message_that_may_have_arrived_is_in_doubt(
    telegram: TelegramServer, adapter: Adapter, ann: Address, fault: str
) -> None:
    telegram.fault(fault, method="sendMessage")
    with pytest.raises(Ambiguous) as doubt:
        await adapter.send(ann, part(adapter, "hello"))
    assert telegram.token.partition(":")[2] not in str(doubt.value)
    assert telegram.texts(42) == (["hello"] if fault == "drop" else [])
    await adapter.send(ann, part(adapter, "hello"))


async def test_a_message_that_never_left_is_not_in_doubt(ann: Address) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    settings = Settings(token=SecretStr("1:secret"), api_base=f"http://127.0.0.1:{port}")
    async with create("telegram", "", settings) as adapter:
        with pytest.raises(Unreachable) as unreachable:
            await adapter.send(ann, part(adapter, "hello"))
    assert "secret" not in str(unreachable.value)


async def test_text_that_was_not_rendered_here_can_be_sent_too(
    telegram: TelegramServer, adapter: Adapter, ann: Address
) -> None:
    body = adapter.render("x")
    await adapter.send(ann, Part(replace(body, text="half \ud83d and nul \0 and שלום")))
    assert telegram.texts(42) == ["half \ufffd and nul  and שלום"]


@pytest.mark.parametrize(("text", "why"), [("x" * 4097, "too long"), ("🍀" * 2049, "too long"), (" \n ", "empty")])
async def test_what_telegram_does_not_take_is_unacceptable(
    telegram: TelegramServer, adapter: Adapter, ann: Address, text: str, why: str
) -> None:
    with pytest.raises(Unacceptable, match=why):
        await adapter.send(ann, Part(replace(adapter.render("x"), text=text)))


async def test_files_are_refused_until_they_are_built(adapter: Adapter, ann: Address) -> None:
    with pytest.raises(Unacceptable):
        await adapter.send(ann, replace(part(adapter, "x"), attachment=Attachment(Media.FILE, "/tmp/x")))


# --- editing and the rest


async def test_an_edit_whose_message_is_gone_is_unacceptable(
    telegram: TelegramServer, adapter: Adapter, ann: Address
) -> None:
    receipt = await adapter.send(ann, part(adapter, "hello"))
    await adapter.delete(receipt)
    with pytest.raises(Unacceptable, match="not found"):
        await adapter.edit(receipt, part(adapter, "hello again"))


async def test_an_edit_takes_the_buttons_away(telegram: TelegramServer, adapter: Adapter, ann: Address) -> None:
    receipt = await adapter.send(ann, part(adapter, "Run it?", buttons=(Button("Yes", "y"),)))
    await adapter.edit(receipt, part(adapter, "Run it? Yes."))
    assert telegram.screen(42)[0]["buttons"] == []


async def test_deleting_what_is_gone_succeeds(telegram: TelegramServer, adapter: Adapter, ann: Address) -> None:
    receipt = await adapter.send(ann, part(adapter, "hello"))
    await adapter.delete(receipt)
    await adapter.delete(receipt)
    assert telegram.screen(42) == []


async def test_a_receipt_of_another_platform_is_unacceptable(adapter: Adapter, ann: Address) -> None:
    with pytest.raises(Unacceptable):
        await adapter.edit(Receipt(ann, "m1"), part(adapter, "x"))


@pytest.mark.parametrize("fault", ["flood", "blocked", "server", "drop", "unauthorized"])
async def test_no_trouble_of_the_typing_sign_is_anybodys(
    telegram: TelegramServer, adapter: Adapter, ann: Address, fault: str
) -> None:
    telegram.fault(fault, method="sendChatAction")
    await adapter.typing(ann)
    await adapter.typing(ann)
    assert telegram.history("sendChatAction")


async def test_the_end_of_the_typing_sign_asks_for_nothing(
    telegram: TelegramServer, adapter: Adapter, ann: Address
) -> None:
    await adapter.typing(ann, on=False)
    assert telegram.history("sendChatAction") == []


async def test_the_menu_shows_what_telegram_can_show(telegram: TelegramServer, adapter: Adapter) -> None:
    await adapter.menu([MenuEntry("/new", "Begin anew"), MenuEntry("side-note", ""), MenuEntry("größe", "no")])
    assert telegram.commands() == [
        {"command": "new", "description": "Begin anew"},
        {"command": "side_note", "description": "side_note"},
    ]


async def test_two_accounts_do_not_take_each_others_messages(telegram: TelegramServer) -> None:
    with TelegramServer(token="7000000002:another-secret", username="other_bot") as server:
        settings = Settings(token=SecretStr(server.token), api_base=server.url)
        async with create("telegram@ops", "ops", settings) as adapter, listening(adapter) as heard:
            server.say(-1001, "/new@hermes_test_bot", user=42)
            server.say(-1001, "/new@other_bot", user=42)
            event = await heard.next()
    assert (event.text, event.origin.adapter, adapter.name) == ("/new", "telegram@ops", "telegram@ops")
