"""The page, the messages it sends, and the conversation it gets back."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator

import httpx2
import pytest

from gateway.agent.context.frame import PREFIX, framed
from gateway.contracts.context import Record, View
from gateway.errors import StorageError
from gateway.messages import Message as Said
from gateway.sessions import compressions, store
from gateway.sessions.keys import private_key
from gateway.storage.database import Connection
from gateway.storage.tables import sessions
from gateway.types import ChatType, Event
from gateway.web.chat.adapter import WebChat, address_of
from gateway.web.chat.routes import BODY_LIMIT, PATIENCE
from tests.unit.web.conftest import Message, Office


def texts(answer: httpx2.Response) -> list[str]:
    return [bubble.get("text") or bubble["html"] for bubble in answer.json()["bubbles"]]


async def test_a_message_is_answered_once_it_is_safe_and_with_the_end_of_the_conversation(
    office: Office, browser: httpx2.AsyncClient, message: Message
) -> None:
    answer = await browser.post("/chat/messages", json=message("hello"))
    assert answer.status_code == 202
    assert texts(answer) == ["hello"]
    # Nothing that may be out of date when it arrives, beside what the stream has brought.
    assert answer.json().keys() == {"whole", "bubbles"}
    assert answer.json()["whole"] is False
    event = office.events[0]
    assert (event.origin.platform, event.origin.chat, event.chat_type) == ("webchat", event.sender.id, ChatType.DM)


async def test_a_double_click_or_a_retry_is_one_message(office: Office, browser: httpx2.AsyncClient) -> None:
    body = {"id": "the-same-id", "text": "only once"}
    answers = [await browser.post("/chat/messages", json=body) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [202, 202, 202]
    assert texts(answers[-1]) == ["only once"]


@pytest.mark.parametrize("text", ["", " ", "\n\t\r ", "\u3000", "\0", " \0\n"])
async def test_nothing_but_white_space_is_refused_with_a_sentence(
    office: Office, browser: httpx2.AsyncClient, message: Message, text: str
) -> None:
    answer = await browser.post("/chat/messages", json=message(text))
    assert (answer.status_code, answer.json()) == (
        400,
        {"error": "There is nothing in this message; write something first."},
    )
    assert office.events == []


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("a\0b", "ab"),
        ("half \ud83d", "half \ufffd"),
        ("\ud83d\ude00", "😀"),
        ("مرحبا \u200f123", "مرحبا \u200f123"),
        ("東京の天気は？👩‍👩‍👧‍👦", "東京の天気は？👩‍👩‍👧‍👦"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("  spaces stay  ", "  spaces stay  "),
    ],
)
async def test_any_text_comes_through_as_it_can_be_stored(
    office: Office, browser: httpx2.AsyncClient, sent: str, kept: str
) -> None:
    content = json.dumps({"id": "message-0001", "text": sent})
    answer = await browser.post("/chat/messages", content=content)
    assert answer.status_code == 202
    assert texts(answer) == [kept]
    assert office.events[0].text == kept


async def test_a_message_of_300_kb_is_taken_whole_and_shown_shortened(
    office: Office, browser: httpx2.AsyncClient, message: Message
) -> None:
    long = "wörd " * 60_000
    answer = await browser.post("/chat/messages", json=message(long))
    assert answer.status_code == 202
    assert office.events[0].text == long
    assert texts(answer)[0].endswith("[280,000 more characters, not shown here]")


async def test_what_fits_the_limit_is_taken_and_one_byte_more_is_not(
    office: Office, browser: httpx2.AsyncClient
) -> None:
    frame = len(json.dumps({"id": "message-0001", "text": ""}))
    for room, code in ((0, 202), (1, 413)):
        content = json.dumps({"id": f"message-000{room}", "text": "x" * (BODY_LIMIT - frame + room)})
        answer = await browser.post("/chat/messages", content=content)
        assert answer.status_code == code
    assert answer.json() == {"error": "This message is too long: at most 1 MB can be sent at once."}
    assert len(office.events) == 1


async def test_a_body_without_end_is_not_read_to_its_end(browser: httpx2.AsyncClient) -> None:
    given = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal given
        while True:
            given += BODY_LIMIT
            yield b"x" * BODY_LIMIT

    answer = await browser.post("/chat/messages", content=endless())
    assert answer.status_code == 413
    assert given <= PATIENCE + 2 * BODY_LIMIT


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"id=a&text=b",
        b"\xff\xfe",
        b'{"id": "message-0001"}',
        b'{"text": "no id"}',
        b'{"id": "short", "text": "x"}',
        b'{"id": "../../etc/passwd", "text": "x"}',
        b'{"id": "message-0001", "text": 1}',
        b'{"id": "message-0001", "text": null}',
        b"[" * 100_000,
    ],
)
async def test_what_the_page_would_not_send_is_refused_with_a_sentence(
    office: Office, browser: httpx2.AsyncClient, content: bytes
) -> None:
    answer = await browser.post("/chat/messages", content=content)
    assert answer.status_code == 400
    assert "reload the page" in answer.json()["error"]
    assert office.events == []


async def test_where_a_message_cannot_be_saved_the_page_hears_why(office: Office, message: Message) -> None:
    async def full_disk(event: Event) -> bool:
        raise StorageError("the disk is full")

    chat = WebChat(lambda: office.hints)
    async with asyncio.TaskGroup() as group, office.browser(office.with_site(chat=chat)) as browser:
        listening = group.create_task(chat.listen(full_disk))
        await browser.get("/")
        answer = await browser.post("/chat/messages", json=message("hi"))
        listening.cancel()
    assert answer.status_code == 503
    assert answer.json()["error"].endswith("the disk is full")


async def test_while_nobody_takes_messages_the_page_is_told_to_try_again(office: Office, message: Message) -> None:
    idle = WebChat(lambda: office.hints)
    async with office.browser(office.with_site(chat=idle)) as browser:
        await browser.get("/")
        answer = await browser.post("/chat/messages", json=message("hi"))
    assert answer.status_code == 503
    assert "try again" in answer.json()["error"]


async def test_an_answer_is_rendered_and_what_the_model_wrote_as_html_is_text(
    office: Office, browser: httpx2.AsyncClient, message: Message
) -> None:
    await browser.post("/chat/messages", json=message("hi"))
    await office.answer(office.events[0].sender.id, "**bold** <img src=x onerror=alert(1)>")
    bubbles = (await browser.get("/chat/conversation")).json()["bubbles"]
    assert [bubble["who"] for bubble in bubbles] == ["person", "agent"]
    assert "<strong>bold</strong> &lt;img" in bubbles[1]["html"]


async def compressed(office: Office, visitor: str, summary: str) -> int:
    """Let a summary stand for what a browser's conversation began with; return its number."""

    def job(connection: Connection) -> int:
        lane = str(private_key(address_of(visitor)))
        connection.execute(sessions.insert().values(id=visitor, lane=lane, created=1.0))
        store.append(connection, visitor, "t1", [Said("user", "long ago"), Said("assistant", "yes")])
        hidden = frozenset(id for id, _ in store.numbers(connection, visitor, 0))
        record = Record(
            occasion="before turn", outcome="summary", engine="compressor", model="model", tokens=(84_000, 31_000)
        )
        compressions.keep(connection, visitor, "t2", record, View(hidden, summary=framed(summary, asked=False)))
        return compressions.listed(connection, visitor)[0].id

    return await office.database.write(job)


async def test_a_summary_is_shown_as_a_divider_and_read_on_demand_without_the_marks_around_it(
    office: Office, browser: httpx2.AsyncClient, message: Message
) -> None:
    await browser.post("/chat/messages", json=message("hi"))
    number = await compressed(
        office, office.events[0].sender.id, "## Goal\nTo **find** it. <img src=x onerror=alert(1)>"
    )
    bubbles = (await browser.get("/chat/conversation")).json()["bubbles"]
    dividers = [bubble for bubble in bubbles if bubble["who"] == "divider"]
    assert [(bubble["id"], bubble["text"], bubble["html"]) for bubble in dividers] == [
        (f"sum-{number}", "Earlier messages were summed up – 84k → 31k tokens", "")
    ]
    html = (await browser.get(f"/chat/summaries/{number}")).json()["html"]
    assert ">Goal</h2>" in html
    assert "<strong>find</strong> it. &lt;img" in html
    assert PREFIX[:30] not in html
    assert "END OF CONTEXT" not in html
    assert "Continue from" not in html


async def test_nobody_else_reads_a_summary(office: Office, browser: httpx2.AsyncClient, message: Message) -> None:
    await browser.post("/chat/messages", json=message("hi"))
    number = await compressed(office, office.events[0].sender.id, "## Goal\nA secret.")
    async with office.browser() as other:
        unknown = await other.get(f"/chat/summaries/{number}")
        await other.get("/")
        refused = await other.get(f"/chat/summaries/{number}")
    assert unknown.status_code == 401
    assert (refused.status_code, refused.json()) == (
        404,
        {"error": "There is no such summary in this conversation; it may have been undone."},
    )
    assert (await browser.get(f"/chat/summaries/{number + 1}")).status_code == 404
    for wrong in ("0", "-1", "x", "9" * 30):
        assert (await browser.get(f"/chat/summaries/{wrong}")).status_code == 422


async def test_older_messages_come_on_demand(office: Office, browser: httpx2.AsyncClient, message: Message) -> None:
    for n in range(5):
        await browser.post("/chat/messages", json=message(f"message {n}"))
    few = await browser.get("/chat/conversation", params={"limit": 3})
    assert (texts(few), few.json()["earlier"]) == (["message 2", "message 3", "message 4"], True)
    everything = await browser.get("/chat/conversation")
    assert (len(texts(everything)), everything.json()["earlier"]) == (5, False)


@pytest.mark.parametrize("limit", ["0", "-1", "2001", "x", ""])
async def test_a_limit_out_of_bounds_is_refused(browser: httpx2.AsyncClient, limit: str) -> None:
    answer = await browser.get("/chat/conversation", params={"limit": limit})
    assert answer.status_code == 422
    assert "query.limit" in answer.json()["error"]


async def test_the_page_loads_nothing_from_elsewhere_and_holds_no_script_of_its_own(
    browser: httpx2.AsyncClient,
) -> None:
    page = (await browser.get("/")).text
    loaded = re.findall(r'(?:src|href)="([^"#]*)"', page)
    assert loaded
    assert all(path.startswith("/assets/") for path in loaded if path)
    for path in filter(None, loaded):
        asset = await browser.get(path)
        assert asset.status_code == 200
        assert not re.search(r"https?://(?!www\.w3\.org)", asset.text), path
    assert not re.search(r"<script>|<style|\sstyle=|\son[a-z]+=", page)


async def test_an_asset_that_has_not_changed_is_not_sent_again(browser: httpx2.AsyncClient) -> None:
    first = await browser.get("/assets/chat.js")
    assert first.headers["content-type"].startswith("text/javascript")
    again = await browser.get("/assets/chat.js", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert (await browser.get("/assets/chat.js", headers={"if-none-match": '"other"'})).status_code == 200


async def test_without_the_web_chat_there_is_no_page_but_the_rest_is_served(office: Office) -> None:
    async with office.browser(office.with_site(chat=None)) as browser:
        assert (await browser.get("/")).status_code == 404
        assert (await browser.get("/healthz")).status_code == 200


async def test_every_error_is_one_sentence_in_the_form_that_was_asked_for(browser: httpx2.AsyncClient) -> None:
    for path, method, code in (("/nothing", "GET", 404), ("/chat/messages", "PUT", 405)):
        answer = await browser.request(method, path)
        assert answer.status_code == code
        assert isinstance(answer.json()["error"], str)
    page = await browser.get("/nothing", headers={"accept": "text/html"})
    assert page.headers["content-type"].startswith("text/plain")
