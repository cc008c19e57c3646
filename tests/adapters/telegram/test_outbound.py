"""From Markdown to text and entities."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import wcswidth

from adapters.telegram import outbound
from adapters.telegram.outbound import keyboard, render
from gateway.errors import Unacceptable
from gateway.types import Button
from tests.fakes import telegram_rules


def marked(markdown: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the text and, of each entity, its type and what it marks; of a link also where it leads."""
    rendered = render(markdown)
    units = rendered.text.encode("utf-16-le")

    def one(entity: dict[str, Any]) -> tuple[str, str]:
        start, end = entity["offset"] * 2, (entity["offset"] + entity["length"]) * 2
        more = entity.get("url") or entity.get("language") or ""
        return entity["type"] + (f" {more}" if more else ""), units[start:end].decode("utf-16-le")

    return rendered.text, [one(entity) for entity in rendered.extra.get("entities", [])]


@pytest.mark.parametrize(
    ("markdown", "text", "entities"),
    [
        ("plain", "plain", []),
        ("**b** _i_ ~~s~~ `c`", "b i s c", [("bold", "b"), ("italic", "i"), ("strikethrough", "s"), ("code", "c")]),
        ("***x***", "x", [("bold", "x"), ("italic", "x")]),
        ("中文**粗体**文字", "中文粗体文字", [("bold", "粗体")]),
        ("👋 **👍🏽**", "👋 👍🏽", [("bold", "👍🏽")]),
        ("# One\n\n### Two", "One\n\nTwo", [("bold", "One"), ("underline", "One"), ("bold", "Two")]),
        ("> quote\n\nafter", "quote\n\nafter", [("blockquote", "quote")]),
        ("> a\n>> b", "a\nb", [("blockquote", "a\nb")]),
        ("```py\nx = 1\n```", "x = 1", [("pre py", "x = 1")]),
        ("3. c\n4. d\n   - e\n     - f", "3. c\n4. d\n  • e\n    • f", []),
        ("- [x] done\n- [ ] open", "✅ done\n⬜ open", []),
        ("a\n\nb", "a\n\nb", []),
        ("a  \nb\nc", "a\nb\nc", []),
        ("**bold `code` still**", "bold code still", [("bold", "bold "), ("code", "code"), ("bold", " still")]),
        ("**a **b** c**", "a b c", [("bold", "a b c")]),
        ("file_name.py 2 * 3 * 4", "file_name.py 2 * 3 * 4", []),
        ("&amp; &lt;b&gt;", "& <b>", []),
    ],
)
def test_markdown_is_shown_formatted(markdown: str, text: str, entities: list[tuple[str, str]]) -> None:
    assert marked(markdown) == (text, entities)


def test_all_marks_of_telegrams_own_markdown_are_only_letters_here() -> None:
    markdown = (
        "**Hi!** Price is 3.50 (approx) - see file_name.py and [docs](https://e.org/a_(b)) # ok > x | y = z {a} ~ `c\\`"
    )
    text, entities = marked(markdown)
    assert text == "Hi! Price is 3.50 (approx) - see file_name.py and docs # ok > x | y = z {a} ~ c\\"
    assert entities == [("bold", "Hi!"), ("text_link https://e.org/a_(b)", "docs"), ("code", "c\\")]


# --- what a converter likes to drop


@pytest.mark.parametrize(
    "text",
    [
        "List<String> and vector<int>",
        "<div> a < b",
        "<details>\n<summary>More</summary>\n- one\n</details>",
        "<!-- a remark -->",
        "if a || b || c",
        "x |y| z",
        "~5 or ~6 of them",
        "$10.49 (~$11.20) and $5",
        "$$$$",
        "\\d+ C:\\new",
        "||||",
        "a || b ||c",
    ],
)
def test_what_is_no_markup_stays_as_it_is(text: str) -> None:
    assert marked(text) == (text, [])


def test_html_in_code_stays_code() -> None:
    text, entities = marked("Use `List<T>`:\n\n```\n<b>x</b>\n```")
    assert text == "Use List<T>:\n\n<b>x</b>"
    assert entities == [("code", "List<T>"), ("pre", "<b>x</b>")]


def test_code_in_html_stays_readable() -> None:
    assert marked("<div>\n```\nx = 1\n```\n</div>")[0] == "<div>\n```\nx = 1\n```\n</div>"


def test_a_line_break_of_html_breaks_the_line() -> None:
    assert marked("a<br>b<br/>c")[0] == "a\nb\nc"


def test_text_that_would_show_nothing_is_shown_as_it_is() -> None:
    assert marked("```\n```")[0] == "```\n```"
    assert marked("[](http://e.org)")[0] == "http://e.org"


def test_a_formula_too_deep_to_convert_stays_as_it_is() -> None:
    deep = "x^{" + "{" * 500 + "}" * 501
    assert marked(f"${deep}$ and more") == (f"{deep} and more", [("code", deep)])


def test_a_table_that_would_grow_without_end_stays_as_it_is() -> None:
    wide = "|a" * 300 + "|\n" + "|-" * 300 + "|\n" + "|x\n" * 5000
    assert render(wide).text == wide.rstrip()


# --- spoilers and formulas


def test_a_spoiler_is_hidden_with_what_it_holds() -> None:
    assert marked("The ||butler **did** it||.") == (
        "The butler did it.",
        [("spoiler", "butler did it"), ("bold", "did")],
    )


@pytest.mark.parametrize(
    "text", ["\\||not|| hidden", "`||code||`", "```\n||code||\n```", "||one\n\ntwo||", "| a || b |"]
)
def test_bars_that_hide_nothing_stay(text: str) -> None:
    _, entities = marked(text)
    assert "spoiler" not in {kind for kind, _ in entities}


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("$E = mc^2$", "E = mc²"),
        ("\\(E = mc^2\\) holds", "E = mc² holds"),
        ("\\[\\frac{a}{b}\\]", "a/b"),
        ("\\[not a formula\\]", "[not a formula]"),
        ("`\\(x_1\\)`", "\\(x_1\\)"),
    ],
)
def test_formulas_are_shown_as_characters(markdown: str, text: str) -> None:
    assert marked(markdown)[0] == text


# --- links


@pytest.mark.parametrize(
    ("markdown", "text", "entities"),
    [
        ("[a](https://e.org/x?y=1)", "a", [("text_link https://e.org/x?y=1", "a")]),
        ("<https://e.org>", "https://e.org", [("text_link https://e.org", "https://e.org")]),
        ("[`f()`](https://e.org)", "f()", [("text_link https://e.org", "f()")]),
        ("[**b**](https://e.org)", "b", [("bold", "b"), ("text_link https://e.org", "b")]),
        ("[x](javascript:alert(1))", "x (javascript:alert(1))", []),
        ("[Ann](tg://user?id=42)", "Ann (tg://user?id=42)", []),
        ("[here](./file.md)", "here (./file.md)", []),
        ("[x](http://)", "x (http://)", []),
        ("[x](http://[::1)", "x (http://[::1)", []),
        ("<mailto:a@b.org>", "mailto:a@b.org", []),
        ("![cat](https://e.org/c.png)", "🖼 cat", [("text_link https://e.org/c.png", "🖼 cat")]),
        (
            "![](https://e.org/c.png)",
            "🖼 https://e.org/c.png",
            [("text_link https://e.org/c.png", "🖼 https://e.org/c.png")],
        ),
        ("![😀](tg://emoji?id=5368324170671202286)", "🖼 😀 (tg://emoji?id=5368324170671202286)", []),
        (
            "[![badge](https://e.org/b.svg)](https://e.org)",
            "🖼 badge (https://e.org/b.svg)",
            [("text_link https://e.org", "🖼 badge (https://e.org/b.svg)")],
        ),
    ],
)
def test_only_links_to_the_web_are_links_and_no_target_is_hidden(
    markdown: str, text: str, entities: list[tuple[str, str]]
) -> None:
    assert marked(markdown) == (text, entities)


# --- tables


def test_a_table_has_even_columns_in_every_script() -> None:
    table = "| Name | 値 | Price |\n|---|:-:|--:|\n| Яблоко | 🍎 x | 1.50 |\n| 長い名前の商品 | `b\\|c` | 100.00 |\n"
    text, entities = marked(f"Look:\n\n{table}\nThat is all.")
    assert [kind for kind, _ in entities] == ["pre"]
    lines = entities[0][1].splitlines()
    assert lines[0].split() == ["Name", "│", "値", "│", "Price"]
    assert "b|c" in lines[3]
    assert len({wcswidth(line) for line in lines}) == 1
    assert text.startswith("Look:\n\n")
    assert text.endswith("\n\nThat is all.")


def test_a_table_keeps_its_links_and_its_thirty_columns() -> None:
    wide = "|" + "|".join(f"c{number}" for number in range(30)) + "|\n" + "|-" * 30 + "|\n"
    text, _ = marked(wide + "| [docs](https://e.org) " + "| x " * 29 + "|\n")
    assert "docs (https://e.org)" in text
    assert all(f"c{number}" in text for number in range(30))


# --- length


@given(st.text(st.characters(), max_size=300))
def test_every_entity_is_what_telegram_takes(text: str) -> None:
    rendered = render(text)
    assert telegram_rules.violations(rendered.extra.get("entities", []), rendered.text) == []


markdowns = st.lists(
    st.sampled_from(
        ["**", "_", "~~", "`", "||", "> ", "- ", "1. ", "\n", "\n\n", "```\n", "[", "](https://e.org)", "![", "](x)"]
        + [
            "$",
            "<b>",
            "<br>",
            "|",
            "|-|\n",
            "# ",
            "word",
            "🍀",
            "値",
            " ",
            "\\",
            "~",
            "</tg-spoiler>",
            "<tg-spoiler>",
            "\t",
        ]
    ),
    max_size=40,
).map("".join)


@given(markdowns)
def test_every_mixture_of_marks_is_what_telegram_takes(text: str) -> None:
    rendered = render(text)
    assert rendered.length == telegram_rules.units(rendered.text)
    assert telegram_rules.violations(rendered.extra.get("entities", []), rendered.text) == []


@given(markdowns)
def test_no_word_is_lost_in_any_mixture_of_marks(text: str) -> None:
    shown = render(text).text
    for word in ("word", "🍀", "値"):
        assert shown.count(word) >= text.count(word), word


def test_length_counts_what_telegram_counts() -> None:
    assert render("🍀" * 2100).length == 4200
    assert render("." * 4000).length == 4000
    assert outbound.LIMITS.measure("🍀") == 2


# --- buttons


def test_buttons_stand_in_pairs() -> None:
    rows = keyboard([Button("Once", "a:1"), Button("Always", "a:2"), Button("", "a:3")])
    assert [[key["text"] for key in row] for row in rows] == [["Once", "Always"], ["·"]]


@pytest.mark.parametrize("value", ["", "é" * 33])
def test_a_button_that_cannot_be_carried_is_refused(value: str) -> None:
    with pytest.raises(Unacceptable):
        keyboard([Button("x", value)])
