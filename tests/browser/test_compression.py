"""What a person sees in the web chat of a conversation that outgrew the model's window."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Page, expect
from sqlalchemy import Connection, select

from gateway.sessions import compressions
from gateway.storage.tables import compressions as kept
from tests.browser.conftest import Office, Visit

pytestmark = pytest.mark.asyncio(loop_scope="session")

LONG = "The letter about the tax form says that the second page has to be filled in again, and by hand. " * 50
SUMMARY = "## Active Task\nNone.\n\n## Goal\nTo fill in the **tax form**. <img src=x onerror=alert(1)>\n"
TITLE = re.compile(r"Earlier messages were summed up – [\d.]+k → [\d.]+k tokens")
MOST = 20
"""Messages after which one of this length cannot but have been compressed."""


async def write(page: Page, text: str) -> None:
    await page.locator("#text").fill(text)
    await page.locator("#text").press("Enter")


async def talk_until_summed_up(office: Office, page: Page) -> int:
    """Say long things until a summary is being written, which is held half-way; return how many."""
    asked: list[str] = []

    def answer(said: str) -> str:
        if number := re.search(r"#(\d+)$", said):
            return f"heard {number[1]} and no more"
        if not asked:
            office.model.free.clear()
        asked.append(said)
        return SUMMARY

    office.model.demo, office.model.window, office.model.answer = False, 8_000, answer
    for number in range(MOST):
        await write(page, f"{LONG}#{number}")
        status = page.locator("#typing", has_text="Summing up earlier messages")
        await expect(status.or_(page.locator("#log .message.agent", has_text=f"heard {number} "))).to_be_visible()
        if asked:
            return number + 1
    raise AssertionError("nothing was summed up")


async def test_where_earlier_messages_were_summed_up_a_line_says_so_and_opens_on_demand(
    office: Office, visit: Visit
) -> None:
    page = await visit()
    count = await talk_until_summed_up(office, page)
    await expect(page.locator("#typing")).to_have_text("Summing up earlier messages")
    await expect(page.locator("#typing")).to_be_visible()
    await expect(page.locator("#stop")).to_be_visible()
    office.model.free.set()
    await expect(page.locator("#log .message.agent")).to_have_count(count)
    await expect(page.locator("#typing")).to_be_hidden()
    await expect(page.locator("#log .person")).to_have_count(count)

    divider = page.locator("#log .divider")
    await expect(divider).to_have_count(1)
    await expect(divider.locator("summary")).to_have_text(TITLE)
    await expect(divider.locator(".body")).to_be_hidden()
    await divider.locator("summary").focus()
    await page.keyboard.press("Enter")
    await expect(divider.locator(".body strong")).to_have_text("tax form")
    await expect(divider.locator(".body")).to_contain_text("<img src=x")
    await expect(divider.locator("img")).to_have_count(0)
    await expect(divider.locator(".body")).not_to_contain_text("CONTEXT")

    await write(page, "and now? #100")
    await expect(page.locator("#log .message.agent", has_text="heard 100")).to_be_visible()
    await expect(divider.locator(".body strong")).to_be_visible()  # what is open stays open
    await page.reload()
    await expect(divider.locator("summary")).to_have_text(TITLE)
    await expect(divider.locator(".body")).to_be_hidden()
    await expect(page.locator("#log .person")).to_have_count(count + 1)


async def test_a_stop_while_it_is_summed_up_leaves_no_line_and_no_status(office: Office, visit: Visit) -> None:
    page = await visit()
    await talk_until_summed_up(office, page)
    await expect(page.locator("#typing")).to_have_text("Summing up earlier messages")
    await page.locator("#stop").click()
    await expect(page.locator("#typing")).to_be_hidden()
    await expect(page.locator("#log .divider")).to_have_count(0)
    office.model.free.set()


def take_back(connection: Connection) -> None:
    """Undo the newest compression, as another process does: no page is told."""
    session = connection.execute(select(kept.c.session_id)).scalars().first()
    assert session is not None
    found = compressions.newest(connection, session)
    assert found is not None
    compressions.undo(connection, found)


async def test_a_summary_that_is_gone_says_so_where_it_would_open(office: Office, visit: Visit) -> None:
    page = await visit()
    count = await talk_until_summed_up(office, page)
    office.model.free.set()
    await expect(page.locator("#log .message.agent")).to_have_count(count)
    await expect(page.locator("#typing")).to_be_hidden()
    await page.reload()  # what has just been read is not read again for a while
    divider = page.locator("#log .divider")
    await expect(divider).to_have_count(1)
    await office.database.write(take_back)
    await divider.locator("summary").click()
    await expect(divider.locator(".body")).to_have_text(
        "There is no such summary in this conversation; it may have been undone."
    )


async def test_a_summary_that_could_not_be_fetched_says_so_and_opens_later(office: Office, visit: Visit) -> None:
    page = await visit()
    await talk_until_summed_up(office, page)
    office.model.free.set()
    divider = page.locator("#log .divider")
    await expect(divider).to_have_count(1)
    await page.route("**/chat/summaries/*", lambda route: route.abort())
    await divider.locator("summary").click()
    await expect(divider.locator(".body")).to_contain_text("Close this and open it again.")
    await page.unroute("**/chat/summaries/*")
    await divider.locator("summary").click()
    await divider.locator("summary").click()
    await expect(divider.locator(".body strong")).to_have_text("tax form")
