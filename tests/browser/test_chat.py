"""What a person does and sees in the web chat."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from gateway.access import people
from gateway.delivery import outbox
from gateway.delivery.outbox import Outgoing
from gateway.types import Part, Rendered
from gateway.web.chat.adapter import address_of
from gateway.web.security import token_hash
from tests.browser.conftest import Office, Visit

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def write(page: Page, text: str) -> None:
    await page.locator("#text").fill(text)
    await page.locator("#text").press("Enter")


async def test_a_message_is_sent_and_its_answer_streams_in_and_stays(office: Office, visit: Visit) -> None:
    page = await visit()
    await expect(page.locator("#empty")).to_be_visible()
    await expect(page.locator("#model")).to_have_text(
        "You are talking to tiny-parrot, a small demonstration model, often wrong"
    )
    office.model.free.clear()
    await write(page, "good morning")
    await expect(page.locator(".person .body")).to_have_text("good morning")
    await expect(page.locator("#empty")).to_be_hidden()
    await expect(page.locator("#live")).to_contain_text("You said")
    await expect(page.locator("#log .agent")).to_have_count(0)
    await expect(page.locator("#stop")).to_be_visible()
    office.model.free.set()
    await expect(page.locator("#log .agent .body strong")).to_have_text("good morning")
    await expect(page.locator("#live")).to_be_hidden()
    await expect(page.locator("#typing")).to_be_hidden()
    await expect(page.locator("#stop")).to_be_hidden()
    await expect(page.locator("#text")).to_have_value("")
    await expect(page.locator("#text")).to_be_focused()


async def test_the_conversation_is_there_after_a_reload(visit: Visit) -> None:
    page = await visit()
    await write(page, "remember this")
    await expect(page.locator("#log .agent")).to_have_count(1)
    await page.reload()
    await expect(page.locator(".person .body")).to_have_text("remember this")
    await expect(page.locator("#log .agent strong")).to_have_text("remember this")


async def test_a_reload_in_the_middle_of_an_answer_shows_it_so_far_and_then_whole(office: Office, visit: Visit) -> None:
    page = await visit()
    office.model.free.clear()
    await write(page, "a long story")
    await expect(page.locator("#live")).to_contain_text("You said")
    await page.reload()
    await expect(page.locator("#live")).to_contain_text("You said")
    office.model.free.set()
    await expect(page.locator("#log .agent strong")).to_have_text("a long story")
    await expect(page.locator("#live")).to_be_hidden()


async def test_two_tabs_stay_in_step(office: Office, visit: Visit) -> None:
    one = await visit()
    two = await visit(beside=one)
    office.model.free.clear()
    await write(one, "from the first tab")
    await expect(two.locator(".person .body")).to_have_text("from the first tab")
    await expect(two.locator("#live")).to_contain_text("You said")
    office.model.free.set()
    await expect(two.locator("#log .agent")).to_have_count(1)
    await write(two, "from the second tab")
    for page in (one, two):
        await expect(page.locator(".person .body")).to_have_text(["from the first tab", "from the second tab"])
        await expect(page.locator("#log .agent")).to_have_count(2)


async def test_a_second_person_sees_nothing_of_the_first(visit: Visit) -> None:
    first = await visit()
    await write(first, "my secret")
    await expect(first.locator("#log .agent")).to_have_count(1)
    second = await visit()
    await expect(second.locator("#empty")).to_be_visible()
    await write(second, "hello")
    await expect(second.locator("#log .agent")).to_have_count(1)
    assert "secret" not in await second.content()
    await expect(first.locator("#log .message")).to_have_count(2)


async def test_an_answer_can_be_stopped_from_the_page(office: Office, visit: Visit) -> None:
    page = await visit()
    office.model.free.clear()
    await write(page, "never ending")
    await expect(page.locator("#live")).to_contain_text("You said")
    await page.locator("#stop").click()
    await expect(page.locator("#live")).to_be_hidden()
    await expect(page.locator("#stop")).to_be_hidden()
    await expect(page.locator("#log")).to_contain_text("[stopped]")


async def test_enter_sends_shift_enter_does_not_and_an_input_method_keeps_its_enter(visit: Visit) -> None:
    page = await visit()
    box = page.locator("#text")
    await box.press_sequentially("one")
    await box.press("Shift+Enter")
    await box.press_sequentially("two")
    await expect(box).to_have_value("one\ntwo")
    # As a browser reports the Enter that chooses a word: 東京 is not to be sent half-written.
    prevented = await box.evaluate(
        """box => {
          const enter = new KeyboardEvent("keydown", {key: "Enter", isComposing: true, cancelable: true});
          return !box.dispatchEvent(enter);
        }"""
    )
    assert prevented is False
    await expect(page.locator(".person")).to_have_count(0)
    await box.press("Enter")
    await expect(page.locator(".person .body")).to_have_text("one\ntwo")


async def test_nothing_but_white_space_is_not_sent(visit: Visit) -> None:
    page = await visit()
    await write(page, " \n ")
    await expect(page.locator("#send")).to_be_disabled()
    await expect(page.locator("#empty")).to_be_visible()


async def test_unsent_text_survives_a_reload(visit: Visit) -> None:
    page = await visit()
    await page.locator("#text").fill("half a thou")
    await page.reload()
    await expect(page.locator("#text")).to_have_value("half a thou")


async def test_code_is_copied_as_it_is(office: Office, visit: Visit) -> None:
    office.model.answer = lambda _: "```py\nif a < b:\n    print('x')\n```"
    page = await visit(permissions=["clipboard-read", "clipboard-write"])
    await write(page, "show me code")
    await page.locator(".copy").click()
    await expect(page.locator(".copy")).to_have_text("Copied")
    assert await page.evaluate("navigator.clipboard.readText()") == "if a < b:\n    print('x')\n"


async def test_what_a_model_writes_as_html_is_shown_as_text(office: Office, visit: Visit) -> None:
    office.model.answer = lambda _: "<img src=x onerror=\"document.title='taken'\"> [click](javascript:alert(1)) ok"
    page = await visit()
    await write(page, "<script>document.title = 'taken'</script>")
    await expect(page.locator("#log .agent")).to_contain_text("<img src=x")
    await expect(page.locator(".person .body")).to_have_text("<script>document.title = 'taken'</script>")
    assert await page.title() == "Hermes"
    await expect(page.locator("#log a")).to_have_count(0)


@pytest.mark.parametrize("text", ["مرحبا بالعالم", "東京の天気は？ 오늘 날씨 👩‍👩‍👧‍👦", "a\u0000b\ud83d", "x" * 3000])
async def test_any_script_is_shown_and_nothing_runs_out_of_the_page(visit: Visit, text: str) -> None:
    page = await visit(viewport={"width": 375, "height": 700})
    await page.locator("#text").evaluate(
        "(box, text) => { box.value = text; box.dispatchEvent(new Event('input')) }", text
    )
    await page.locator("#text").press("Enter")
    await expect(page.locator("#log .agent")).to_have_count(1)
    assert await sideways(page) == 0
    if text.startswith("م"):
        direction = await page.locator(".person .body").evaluate("node => getComputedStyle(node).direction")
        assert direction == "rtl"


async def sideways(page: Page) -> int:
    """How far the page can be scrolled to the side, in pixels."""
    found: int = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return max(0, found)


WIDE = (
    "| "
    + " | ".join(["a very wide column"] * 8)
    + " |\n|"
    + "--|" * 8
    + "\n\n```\n"
    + "y" * 400
    + "\n```\n"
    + "z" * 400
)


async def test_on_a_narrow_screen_everything_is_reachable_and_nothing_is_cut_off(office: Office, visit: Visit) -> None:
    office.model.answer = lambda _: WIDE
    page = await visit(viewport={"width": 375, "height": 667}, has_touch=True, is_mobile=True)
    await write(page, "wide things please")
    await expect(page.locator("#log .agent")).to_have_count(1)
    assert await sideways(page) == 0
    for name in ("#text", "#send", "#new"):
        box = await page.locator(name).bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 375
        assert box["y"] + box["height"] <= 667
    await page.locator("#text").fill("by touch")
    await page.locator("#send").tap()
    await expect(page.locator(".person")).to_have_count(2)


async def test_in_the_dark_the_page_is_dark_and_its_text_readable(visit: Visit) -> None:
    for scheme, dark in (("dark", True), ("light", False)):
        page = await visit(color_scheme=scheme)
        await write(page, "hello")
        await expect(page.locator("#log .agent")).to_have_count(1)
        for name in ("#log .agent .body", ".person .body", ".note", "#model", "#keys", "textarea"):
            paper, ink = await page.locator(name).first.evaluate(COLOURS)
            assert (luminance(paper) < 0.2) is dark, name
            assert contrast(paper, ink) >= 4.5, f"{name} in {scheme}: {paper} {ink}"


COLOURS = """node => {
  const ink = getComputedStyle(node).color;
  let paper = "rgba(0, 0, 0, 0)";
  for (let at = node; at && paper === "rgba(0, 0, 0, 0)"; at = at.parentElement) {
    paper = getComputedStyle(at).backgroundColor;
  }
  return [paper, ink];
}"""


def luminance(colour: str) -> float:
    """The relative luminance of a CSS colour, by the formula of WCAG 2."""
    channels = [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


async def test_everything_can_be_done_with_the_keyboard(office: Office, visit: Visit) -> None:
    office.model.answer = lambda _: "```\ncode\n```"
    page = await visit()
    await expect(page.locator("#text")).to_be_focused()
    await page.keyboard.type("hello")
    await page.keyboard.press("Enter")
    await expect(page.locator("#log .agent")).to_have_count(1)
    await page.locator("body").evaluate("() => document.activeElement.blur()")
    seen = []
    for _ in range(12):
        await page.keyboard.press("Tab")
        focus = await page.evaluate(
            "[document.activeElement.id || document.activeElement.className, document.activeElement.tagName]"
        )
        seen.append(focus[0] or focus[1])
        ring = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert focus[0] == "text" or focus[1] == "BODY" or ring == "solid", focus
    assert {"skip", "new", "copy", "PRE", "text"} <= set(seen)


async def test_a_lost_connection_is_said_and_mended_without_a_reload(office: Office, visit: Visit) -> None:
    page = await visit()
    await page.context.set_offline(True)
    await page.evaluate("window.mark = 'the same page'")
    await write(page, "while away")
    await expect(page.locator("#error")).to_have_text("The gateway does not answer. Your text is still here.")
    await expect(page.locator("#text")).to_have_value("while away")
    await page.context.set_offline(False)
    await page.locator("#text").press("Enter")
    await expect(page.locator("#log .agent strong")).to_have_text("while away")
    await expect(page.locator("#error")).to_be_hidden()
    assert await page.evaluate("window.mark") == "the same page"


async def test_a_page_outlives_a_restart_of_the_gateway(chromium: Browser, tmp_path: Path) -> None:
    office = Office(tmp_path)
    page = await chromium.new_page()
    async with office.open():
        await page.goto(office.url)
        await write(page, "before")
        await expect(page.locator("#log .agent")).to_have_count(1)
    await expect(page.locator("#connection")).to_have_text("Connection lost. Trying again…")
    await page.locator("#text").fill("in between")
    async with office.open():
        await expect(page.locator("#connection")).to_be_hidden()
        await page.locator("#text").press("Enter")
        await expect(page.locator(".person .body")).to_have_text(["before", "in between"])
        await expect(page.locator("#log .agent")).to_have_count(2)
        await page.close()


async def test_a_refusal_of_the_gateway_is_one_sentence_and_the_text_is_kept(office: Office, visit: Visit) -> None:
    page = await visit()
    long = "x" * 1_100_000
    await page.locator("#text").evaluate(
        "(box, text) => { box.value = text; box.dispatchEvent(new Event('input')) }", long
    )
    await page.locator("#send").click()
    await expect(page.locator("#error")).to_have_text("This message is too long: at most 1 MB can be sent at once.")
    assert len(await page.locator("#text").input_value()) == len(long)


async def test_a_new_conversation_is_begun_with_a_button(visit: Visit) -> None:
    page = await visit()
    await page.locator("#new").click()
    await expect(page.locator(".person .body")).to_have_text("/new")
    await expect(page.locator("#log .agent")).to_have_count(1)


async def test_a_reader_in_the_past_is_not_moved_but_told_of_news(office: Office, visit: Visit) -> None:
    office.model.answer = lambda said: "\n\n".join([said] * 40)
    page = await visit()
    await write(page, "one")
    await expect(page.locator("#log .agent")).to_have_count(1)
    other = await visit(beside=page)
    await page.locator("#scroll").evaluate("node => node.scrollTo(0, 0)")
    await write(other, "two")
    await expect(page.locator("#log .agent")).to_have_count(2)
    await expect(page.locator("#down")).to_be_visible()
    assert await page.locator("#scroll").evaluate("node => node.scrollTop") == 0
    await page.locator("#down").click()
    await expect(page.locator("#down")).to_be_hidden()
    await expect(page.locator("#log .agent").last).to_be_in_viewport()


async def test_older_messages_are_shown_on_demand_and_stay_in_order(office: Office, visit: Visit) -> None:
    page = await visit()
    address = address_of(await visitor_of(page, office))
    old = [Part(Rendered(f"old {n}", 9), f"old {n}") for n in range(250)]
    await office.database.write(lambda connection: outbox.add(connection, [Outgoing(address, part) for part in old]))
    await write(page, "and now")
    await expect(page.locator("#log .agent strong")).to_have_text("and now")
    await page.reload()  # and not before it is answered: what comes later is one more
    await expect(page.locator("#log .agent strong")).to_have_text("and now")
    assert await page.locator("#log .message").count() == 200
    await page.locator("#earlier").click()
    await expect(page.locator("#log .message")).to_have_count(252)
    await expect(page.locator("#earlier")).to_be_hidden()
    texts = await page.locator("#log .agent .body").all_inner_texts()
    assert texts[:-1] == [f"old {n}" for n in range(250)]
    await write(page, "still in order")
    await expect(page.locator("#log .message")).to_have_count(254)


async def visitor_of(page: Page, office: Office) -> str:
    """The id of the person behind a page."""
    token = next(each["value"] for each in await page.context.cookies() if each["name"] == "hermes_8642")
    found = await office.database.read(lambda connection: people.visitor(connection, token_hash(token)))
    assert found is not None
    return found.id
