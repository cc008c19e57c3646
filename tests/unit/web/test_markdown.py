"""What a model may put on the page: text, its shape and links, and nothing that acts."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.web.chat.markdown import to_html

TEXT = {"p", "br", "em", "strong", "s", "code", "pre", "a", "hr", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6"}
ELEMENTS = TEXT | {"div", "span", "button", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"}
ATTRIBUTES = {"dir", "class", "type", "tabindex", "href", "target", "rel", "title", "start"}
LINK = 'target="_blank" rel="noopener noreferrer nofollow"'


class Inventory(HTMLParser):
    """Collects the elements and attributes of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


def assert_harmless(markdown: str) -> None:
    found = Inventory(to_html(markdown))
    assert found.elements <= ELEMENTS
    assert {name for name, _ in found.attributes} <= ATTRIBUTES
    for name, value in found.attributes:
        if name == "href":
            assert re.match(r"(https?://|mailto:|tel:)", value, re.IGNORECASE), value


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt&colon;alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](\x01javascript:alert(1))",
    "[x](java\nscript:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:x) [y](file:///etc/passwd) [z](/owner?token=x) [w](//evil.example)",
    "![x](javascript:alert(1)) ![x](http://evil.example/track.png?secret)",
    '[x](http://a.b "onmouseover=alert(1)") [y](<http://a.b/"onmouseover="alert(1)>)',
    '```"><script>alert(1)</script>\ncode\n```',
    '<http://a.b/?"onclick=alert(1)>',
    "https://a.b/\"onmouseover=alert(1) https://a.b/'><script>",
    "[![x](http://a.b/i.png)](javascript:alert(1))",
    "| a |\n|:-:|\n| <b onclick=x> |",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<!-- --><svg/onload=alert(1)><math><mi//xlink:href='data:x'>",
    "\0<\0script>",
]


@pytest.mark.parametrize("markdown", HOSTILE)
def test_nothing_a_model_writes_becomes_markup_of_its_own(markdown: str) -> None:
    assert_harmless(markdown)
    assert_harmless(f"> - {markdown}")


@given(
    st.lists(
        st.sampled_from([*HOSTILE, "**", "`", "[", "](", ")", "<", ">", "\n", "\n\n", "|", "http://", "é", "\u202e"])
    )
)
def test_no_combination_of_hostile_pieces_becomes_markup(pieces: list[str]) -> None:
    assert_harmless("".join(pieces))


@given(st.text())
def test_any_text_is_rendered(text: str) -> None:
    assert_harmless(text)


def test_an_image_is_a_link_and_nothing_is_loaded() -> None:
    assert (
        to_html("![a cat](https://x.y/cat.png)")
        == f'<p dir="auto"><a href="https://x.y/cat.png" {LINK}>a cat</a></p>\n'
    )
    assert ">image</a>" in to_html("![](https://x.y/cat.png)")


def test_a_link_never_holds_another() -> None:
    html = to_html("[![alt](http://a.b/i.png)](http://c.d) and [see http://e.f](http://g.h)")
    assert re.findall(r'href="([^"]*)"', html) == ["http://c.d", "http://g.h"]


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("see https://a.b/c, or (https://a.b/d).", ["https://a.b/c", "https://a.b/d"]),
        ("https://en.example/A_(b) https://a_b_c.d", ["https://en.example/A_(b)", "https://a_b_c.d"]),
        ("网址https://a.b/x。好", ["https://a.b/x"]),
        ("*https://a.b* **http://c.d**", ["https://a.b", "http://c.d"]),
        ("<https://a.b>", ["https://a.b"]),
        ("http:// https://. ftp://a.b `https://a.b`", []),
        ("HTTPS://A.B/?q=1&r=2!", ["HTTPS://A.B/?q=1&amp;r=2"]),
    ],
)
def test_an_address_in_plain_text_is_a_link(text: str, addresses: list[str]) -> None:
    assert [
        found.replace("HTTPS://A.B", "HTTPS://A.B") for found in re.findall(r'href="([^"]*)"', to_html(text))
    ] == addresses


def test_code_keeps_its_characters_its_direction_and_can_be_copied() -> None:
    html = to_html('```py extra\nif a < b and "x":\n    pass\n```')
    assert '<pre dir="ltr" tabindex="0"><code>if a &lt; b and &quot;x&quot;:\n    pass\n</code></pre>' in html
    assert "<span>py</span>" in html
    assert '<button type="button" class="copy">' in html


def test_code_that_is_still_being_written_is_code_already() -> None:
    assert "<code>half a li" in to_html("```\nhalf a li")


def test_each_block_has_a_direction_of_its_own() -> None:
    html = to_html("שלום\n\n- مرحبا\n\n> hello\n\n| a |\n|--:|\n| b |")
    assert html.count('dir="auto"') == 7
    assert "style=" not in html
    assert '<td dir="auto" class="right">' in html


def test_line_ends_stay_line_ends() -> None:
    assert "one<br />\ntwo" in to_html("one\ntwo")


@pytest.mark.parametrize(
    "bomb",
    ["[" * 10_000, "*a " * 10_000, "> " * 20_000, "- " * 20_000, "http://a" + ")" * 90_000, "![a](http://b) " * 5_000],
)
def test_what_is_meant_to_choke_a_parser_is_rendered_all_the_same(bomb: str) -> None:
    assert_harmless(bomb)
