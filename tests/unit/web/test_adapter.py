"""The web chat as an adapter: what comes from a browser, and what the browsers that look on are told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gateway.bus.memory import MemoryHints
from gateway.contracts.adapter import Emit
from gateway.errors import Unreachable
from gateway.types import Address, Event, Part, Rendered
from gateway.web.chat.adapter import News, WebChat, address_of, topic_of


def part(text: str, key: str = "") -> Part:
    return Part(Rendered(text, len(text)), text, key)


@asynccontextmanager
async def listening(chat: WebChat, emit: Emit) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(chat.listen(emit))
        await asyncio.sleep(0)
        yield
        task.cancel()


async def told(hints: MemoryHints, visitor: str, chat: WebChat, *parts: Part) -> list[News]:
    """What a page hears when these parts are sent."""
    async with hints.signals(topic_of(visitor)) as signals:
        for one in parts:
            await chat.send(address_of(visitor), one)
        return [News.load(await anext(signals)) for _ in parts]


async def test_a_message_becomes_a_private_event_of_its_browser() -> None:
    events: list[Event] = []

    async def emit(event: Event) -> bool:
        events.append(event)
        return True

    hints = MemoryHints()
    chat = WebChat(lambda: hints)
    async with listening(chat, emit), hints.signals(topic_of("ann")) as signals:
        await chat.say("ann", "m-1", "hi\0 \ud800")
        assert News.load(await anext(signals)).changed
    assert (events[0].id, events[0].text, events[0].sender.id) == ("ann-m-1", "hi \ufffd", "ann")
    assert events[0].origin == Address(platform="webchat", chat="ann")
    assert events[0].private


async def test_saying_returns_only_after_the_event_is_safe() -> None:
    safe, order = asyncio.Event(), []

    async def emit(event: Event) -> bool:
        await safe.wait()
        order.append("safe")
        return True

    hints = MemoryHints()
    chat = WebChat(lambda: hints)
    async with listening(chat, emit), asyncio.TaskGroup() as group:
        saying = group.create_task(chat.say("ann", "m-1", "hi"))
        saying.add_done_callback(lambda _: order.append("said"))
        await asyncio.sleep(0)
        assert order == []
        safe.set()
    assert order == ["safe", "said"]


async def test_without_a_listener_a_message_is_refused_and_after_one_too() -> None:
    async def emit(event: Event) -> bool:
        return True

    hints = MemoryHints()
    chat = WebChat(lambda: hints)
    with pytest.raises(Unreachable, match="try again"):
        await chat.say("ann", "m-1", "hi")
    async with listening(chat, emit):
        await chat.say("ann", "m-1", "hi")
    with pytest.raises(Unreachable):
        await chat.say("ann", "m-2", "hi")


async def test_a_part_of_the_outbox_is_news_to_be_read_and_live_text_is_carried() -> None:
    hints = MemoryHints()
    chat = WebChat(lambda: hints)
    heard = await told(hints, "ann", chat, part("so far"), part("final", key="hg-7"))
    assert heard == [News(live="so far"), News(changed=True)]


async def test_a_receipt_names_the_row_so_that_a_second_sending_is_the_same_message() -> None:
    hints = MemoryHints()
    chat = WebChat(lambda: hints)
    first = await chat.send(address_of("ann"), part("x", key="hg-7"))
    assert first == await chat.send(address_of("ann"), part("x", key="hg-7"))
    live = await chat.send(address_of("ann"), part("x"))
    assert live.message_id
    assert live != await chat.send(address_of("ann"), part("x"))


async def test_live_text_of_any_kind_survives_the_way() -> None:
    hints = MemoryHints()
    chat = WebChat(lambda: hints)
    heard = await told(hints, "ann", chat, part('"}\n\n\0 \ud83d 東京 مرحبا 😀'))
    assert heard == [News(live='"}\n\n \ufffd 東京 مرحبا 😀')]


async def test_edits_and_typing_reach_only_the_pages_of_their_browser() -> None:
    hints = MemoryHints()
    chat = WebChat(lambda: hints)
    async with hints.signals(topic_of("ann")) as anns, hints.signals(topic_of("bob")) as bobs:
        receipt = await chat.send(address_of("ann"), part("a"))
        await chat.edit(receipt, part("ab"))
        await chat.typing(address_of("ann"))
        await chat.typing(address_of("ann"), on=False)
        await chat.typing(address_of("bob"))
        heard = [News.load(await anext(anns)) for _ in range(4)]
        assert heard == [News(live="a"), News(live="ab"), News(typing=True), News(typing=False)]
        assert News.load(await anext(bobs)) == News(typing=True)


def test_what_it_can_carry_lets_every_answer_through_whole() -> None:
    limits = WebChat(MemoryHints).limits
    assert limits.idempotent
    assert limits.edits
    assert limits.edit_every <= 0.15
    assert limits.text >= 100_000
    assert "Markdown" in limits.hint
