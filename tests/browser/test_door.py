"""Who gets in: another name for this machine, the password, the owner's link."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, BrowserContext, Page, Route, expect

from gateway.access import people
from tests.browser.conftest import OWNER_TOKEN, Office

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_name_that_was_rebound_to_this_machine_shows_a_sentence_and_no_page(
    chromium: Browser, office: Office
) -> None:
    page = await chromium.new_page()
    answer = await page.goto(office.url.replace("127.0.0.1", "gateway.test"))
    assert answer is not None
    assert answer.status == 403
    await expect(page.locator("body")).to_contain_text("web.admin_password_file")
    assert await page.context.cookies() == []
    await page.close()


async def elsewhere(context: BrowserContext, body: str) -> Page:
    """Open a page of another site."""
    page = await context.new_page()

    async def answer(route: Route) -> None:
        await route.fulfill(body=body, content_type="text/html")

    await page.route("http://localhost:1/", answer)
    await page.goto("http://localhost:1/")
    return page


async def test_a_page_of_another_origin_cannot_write_read_or_stream(chromium: Browser, office: Office) -> None:
    context = await chromium.new_context()
    page = await context.new_page()
    await page.goto(office.url)
    await page.locator("#log[aria-busy=false]").wait_for(state="attached")
    other = await elsewhere(context, "<p>another page")  # with the cookie of the first
    script = """async url => {
      const [credentials, method, body] = ["include", "POST", '{"id": "message-0001", "text": "taken"}'];
      const tries = [
        fetch(url + "chat/conversation", {credentials}),
        fetch(url + "chat/events", {credentials}),
        fetch(url + "chat/messages", {credentials, method, body}),
        fetch(url + "chat/messages", {credentials, method, body, mode: "no-cors"}),
      ];
      return (await Promise.allSettled(tries)).map(each => each.status);
    }"""
    assert await other.evaluate(script, office.url) == ["rejected"] * 4
    target = f"{office.url}chat/messages"
    await other.set_content(
        f'<form method="post" action="{target}"><input name="text" value="x"><button>go</button></form>'
    )
    await other.locator("button").click()
    await expect(other.locator("body")).to_contain_text("own page")
    await page.reload()
    await expect(page.locator("#empty")).to_be_visible()
    await context.close()


async def test_from_another_machine_the_password_opens_the_chat_over_plain_http(
    chromium: Browser, tmp_path: Path
) -> None:
    office = Office(tmp_path, password="correct horse")
    page = await chromium.new_page()
    async with office.open():
        await page.goto(office.url.replace("127.0.0.1", "gateway.test"))
        await expect(page.locator("#password")).to_be_focused()
        await page.locator("#password").fill("wrong")
        await page.locator("#password").press("Enter")
        await expect(page.locator("#error")).to_have_text("This is not the password.")
        await page.locator("#password").fill("correct horse")
        await page.locator("#password").press("Enter")
        await page.locator("#text").fill("hello from afar")
        await page.locator("#text").press("Enter")
        await expect(page.locator("#log .agent strong")).to_have_text("hello from afar")
        await page.reload()
        await expect(page.locator("#log .agent strong")).to_have_text("hello from afar")
        await page.close()


async def test_the_owners_link_leads_through_the_login_to_the_chat(chromium: Browser, tmp_path: Path) -> None:
    office = Office(tmp_path, password="correct horse")
    page = await chromium.new_page()
    async with office.open():
        await page.goto(f"{office.url}owner?token={OWNER_TOKEN}")
        await page.locator("#password").fill("correct horse")
        await page.locator("#password").press("Enter")
        await expect(page.locator("#empty")).to_be_visible()
        assert OWNER_TOKEN not in page.url
        assert len(await office.database.read(people.owners)) == 1
        await page.close()


async def test_the_owners_link_makes_an_open_browser_the_owners_with_its_conversation(
    chromium: Browser, office: Office
) -> None:
    page = await chromium.new_page()
    await page.goto(office.url)
    await page.locator("#text").fill("before")
    await page.locator("#text").press("Enter")
    await expect(page.locator("#log .agent")).to_have_count(1)
    await page.goto(f"{office.url}owner?token={OWNER_TOKEN}")
    await expect(page.locator(".person .body")).to_have_text("before")
    assert len(await office.database.read(people.owners)) == 1
    await page.goto(f"{office.url}owner?token={OWNER_TOKEN}")
    await expect(page.locator("body")).to_contain_text("has been used")
    await page.close()


async def test_a_link_on_another_site_leads_to_the_same_conversation(chromium: Browser, office: Office) -> None:
    context = await chromium.new_context()
    page = await context.new_page()
    await page.goto(office.url)
    await page.locator("#text").fill("still here")
    await page.locator("#text").press("Enter")
    await expect(page.locator("#log .agent")).to_have_count(1)
    for link in (office.url, f"{office.url}owner?token={OWNER_TOKEN}"):
        other = await elsewhere(context, f'<a href="{link}">the chat</a>')
        await other.locator("a").click()
        await expect(other.locator(".person .body")).to_have_text("still here")
        assert other.url == office.url
    assert len(await office.database.read(people.owners)) == 1
    await context.close()
