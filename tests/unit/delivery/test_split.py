"""Answers cut into messages: what fits stays whole, what does not is cut where a reader minds it least."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from wcwidth import iter_graphemes

from gateway.contracts.adapter import utf16
from gateway.delivery.split import Render, fit, split
from gateway.types import Rendered
from tests.unit.delivery import adversary
from tests.unit.delivery.adversary import HEADER, LANGUAGE, ink, nested_numbers, seen

TELEGRAM = 4096


def as_is(markdown: str) -> Rendered:
    return Rendered(markdown, len(markdown))


def in_utf16(markdown: str) -> Rendered:
    return Rendered(markdown, utf16(markdown))


def dots_doubled(markdown: str) -> Rendered:
    return as_is(markdown.replace(".", ".."))


def escaped(markdown: str) -> Rendered:
    """Escape as Telegram's MarkdownV2 wants it."""
    return as_is(re.sub(r"([_*\[\]()~`>#+\-=|{}.!\\])", r"\\\1", markdown))


def stripped(markdown: str) -> Rendered:
    """Leave out the markup and where links lead, as for a platform of plain text: it grows shorter."""
    return as_is(re.sub(r"\]\([^)\s]*\)|[*_`~#>\[\]]", "", markdown))


RENDERERS: list[Render] = [as_is, in_utf16, dots_doubled, stripped]


def sources(markdown: str, limit: int, render: Render = as_is) -> list[str]:
    """Split, check that every piece fits, and return the pieces' Markdown."""
    pieces = split(markdown, limit, render)
    assert [body.length for _, body in pieces if body.length > limit] == []
    assert [render(text) for text, _ in pieces] == [body for _, body in pieces]
    return [text for text, _ in pieces]


def fences_are_closed(text: str) -> bool:
    return len(re.findall(r"^[> ]*(?:```|~~~)", text, re.MULTILINE)) % 2 == 0


# -- what fits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\t \n", "\u00a0"])
def test_nothing_to_see_is_no_message(text: str) -> None:
    assert split(text, 10, as_is) == []
    assert fit(text * 9000, 10, as_is)[0].strip() == ""


@pytest.mark.parametrize("text", ["hi", "  hi\r\n\r\n", "**a", "```\nopen", "x" * 20, "\ud83d\x00"])
def test_a_text_that_fits_comes_back_unchanged(text: str) -> None:
    assert split(text, 20, as_is, numbered=True) == [(text, as_is(text))]


def test_a_limit_without_room_is_refused() -> None:
    for cut in (split, fit):
        with pytest.raises(ValueError, match="room"):
            cut("a", 0, as_is)


# -- SPLIT-01, SPLIT-03: the length is the platform's ------------------------------------------------------------------


@pytest.mark.parametrize("count", [2100, 6000])
def test_emoji_are_counted_in_utf16_and_none_is_cut_in_two(count: int) -> None:
    pieces = sources("🍀" * count, TELEGRAM, in_utf16)
    assert "".join(pieces) == "🍀" * count
    assert len(pieces) == -(-count * 2 // TELEGRAM)
    shown, body = fit("🍀" * count, TELEGRAM, in_utf16)
    assert set(shown) == {"🍀"}
    assert body.length == TELEGRAM


def test_a_text_that_grows_when_it_is_escaped_is_measured_escaped() -> None:
    assert [len(piece) for piece in sources("." * 4000, TELEGRAM, escaped)] == [2048, 1952]
    lines = "\n".join(f"- v1.2.{number}-rc.4 (x)" for number in range(195))
    assert len(lines) < TELEGRAM
    assert "\n".join(sources(lines, TELEGRAM, escaped)) == lines


def test_a_text_that_shrinks_when_it_is_rendered_fills_the_message() -> None:
    links = " ".join(f"[link{number}](https://example.org/{'x' * 100})" for number in range(1000))
    pieces = sources(links, TELEGRAM, stripped)
    assert len(pieces) == 2
    assert " ".join(pieces) == links


# -- SPLIT-04: code ----------------------------------------------------------------------------------------------------

PYTHON = "\n".join(f"    print({number})  # (a comment of this line)" for number in range(200))


def test_each_part_of_a_code_block_is_a_code_block_of_its_language() -> None:
    pieces = sources(f"Here:\n\n```python title=x\n{PYTHON}\n```\nDone.", TELEGRAM)
    assert len(pieces) == 3
    assert pieces[0].startswith("Here:\n\n```python title=x\n")
    assert all(piece.startswith("```python\n") for piece in pieces[1:])
    assert all(fences_are_closed(piece) for piece in pieces)
    code = [re.search(r"```python.*?\n(.*)\n```", piece, re.DOTALL) for piece in pieces]
    assert "\n".join(found.group(1) for found in code if found) == PYTHON
    assert pieces[-1].endswith("\n```\nDone.")


def test_part_numbers_stand_on_a_line_of_their_own_outside_the_code() -> None:
    pieces = split(f"```python\n{PYTHON}\n```", TELEGRAM, escaped, numbered=True)
    total = len(pieces)
    assert total > 2
    for number, (text, body) in enumerate(pieces, 1):
        assert text.endswith(f"\n```\n\n({number}/{total})")
        assert body.text.endswith(f"\n\n\\({number}/{total}\\)")
        assert body.length <= TELEGRAM


def test_there_are_no_part_numbers_where_they_would_take_half_the_message() -> None:
    assert [text for text, _ in split("one two three", 8, as_is, numbered=True)] == ["one two", "three"]


def test_a_tilde_fence_in_a_list_in_a_quote_closes_and_opens_with_its_indentation() -> None:
    text = "> - see\n>   ~~~~ sh\n>   one ```\n>   two\n>   three\n>   four\n>   five\n>   ~~~~\n> - next"
    pieces = sources(text, 50)
    assert pieces == [
        "> - see\n>   ~~~~ sh\n>   one ```\n>   two\n>   ~~~~",
        "> ~~~~sh\n> three\n> four\n> five\n> ~~~~\n>\n> - next",
    ]


def test_an_unclosed_fence_is_closed_in_every_piece() -> None:
    pieces = sources("```\n" + "line\n" * 20, 40)
    assert all(fences_are_closed(piece) for piece in pieces)
    assert "".join(pieces).count("line") == 20


def test_empty_lines_and_indentation_of_code_stay() -> None:
    code = "\n".join(["def f():", "", "", "    return 1", ""] * 5)
    pieces = sources(f"```\n{code}\n```", 60)
    assert "\n".join(piece.removeprefix("```\n").removesuffix("\n```") for piece in pieces) == code


def test_a_line_of_code_that_is_too_long_is_cut_inside_the_fence() -> None:
    pieces = sources("```\n" + "é" * 300 + "\n```", 100)
    assert all(re.fullmatch("```\né+\n```", piece) for piece in pieces)
    assert "".join(pieces).count("é") == 300


def test_code_that_fits_into_a_message_is_not_cut() -> None:
    code = "```python\n" + "x = 1\n" * 500 + "```"
    assert sources("word " * 300 + "\n\n" + code, TELEGRAM)[1] == code


# -- SPLIT-06, MD-02, MD-03: inline markup -----------------------------------------------------------------------------


def straddling(inline: str) -> list[str]:
    return sources(("word " * 790) + inline + (" word" * 100), TELEGRAM, in_utf16)


def test_bold_text_over_the_limit_is_bold_in_both_messages() -> None:
    pieces = straddling("**" + "very bold " * 29 + "run**")
    assert len(pieces) == 2
    assert all(piece.count("**") % 2 == 0 for piece in pieces)
    assert "".join(ink("".join(pieces).replace("*", ""))).count("verybold") == 29


@pytest.mark.parametrize(
    "inline",
    [
        "[a link with words](https://example.org/" + "long/" * 50 + ")",
        "[a link with words][elsewhere]",
        "https://example.org/" + "long/" * 50,
        "<https://example.org/" + "long/" * 50 + ">",
        "![an image](https://example.org/a_(b).png)",
        "`inline code " + "with words " * 20 + "`",
        "``co`de and more``",
        "~~struck through~~",
        "[**b**](u)",
        "||the end of it||",
        "$$a + b = c$$",
        "&amp;",
        "\\*",
    ],
)
def test_links_images_and_code_over_the_limit_move_to_the_next_message(inline: str) -> None:
    for words in range(780, 830):
        pieces = sources(("word " * words) + inline + (" word" * 100), TELEGRAM)
        assert sum(inline in piece for piece in pieces) == 1


def test_emphasis_within_emphasis_is_closed_and_opened_in_its_order() -> None:
    text = "**bold *both " + "word " * 10 + "both* bold** ~~gone `code` " + "word " * 10 + "gone~~"
    for limit in range(30, 90):
        assert [item for piece in sources(text, limit) for item in seen(piece)] == seen(text)


def test_a_word_that_would_begin_a_block_does_not_begin_a_message() -> None:
    text = "the sum - a > b + c # d 1986. e * f <b> g --- h [i]: j === k ```` l"
    for limit in range(12, 40):
        pieces = sources(text, limit)
        assert " ".join(pieces) == text
        assert {item.look for piece in pieces for item in seen(piece)} <= {("text",), ("html_inline",)}


def test_hard_breaks_leave_no_backslash_behind() -> None:
    text = "\\\n".join(["some words"] * 20)
    for limit in range(24, 60):
        assert all(not piece.endswith("\\") for piece in sources(text, limit))


def test_a_long_heading_stays_a_heading() -> None:
    assert sources("## one two three four", 12) == ["## one two", "## three", "## four"]
    assert sources("one two three four\n===", 12) == ["one two\n===", "three\n===", "four\n==="]


# -- unbreakable things ------------------------------------------------------------------------------------------------


def test_an_address_longer_than_a_message_is_cut_as_text() -> None:
    url = "https://example.org/" + "x" * 10_000
    pieces = sources(f"See {url} there", TELEGRAM)
    assert ink("".join(pieces)) == ink(f"See {url} there")
    assert len(pieces) <= 4


def test_code_in_a_line_longer_than_a_message_stays_code() -> None:
    pieces = sources("See `" + "x*y_" * 2_500 + "` there", TELEGRAM)
    assert ink("".join(pieces).replace("`", "")) == ink("See " + "x*y_" * 2_500 + " there")
    assert all(piece.count("`") % 2 == 0 for piece in pieces)


@pytest.mark.parametrize(
    "cluster", ["👨‍👩‍👧‍👦", "🇩🇪", "e\u0301\u0323", "각", "\u1112\u1161\u11ab", "👍🏽", "क्ष", "✈\ufe0f", "\ud83d\ude00"]
)
def test_grapheme_clusters_stay_whole(cluster: str) -> None:
    for limit in range(11, 40, 3):
        pieces = sources(cluster * 50, limit, in_utf16)
        assert all(piece == cluster * (len(piece) // len(cluster)) for piece in pieces)
        assert "".join(pieces) == cluster * 50


def test_a_cluster_longer_than_a_message_is_cut_between_characters() -> None:
    heap = "x" + "\u0301" * 9000 + " and more"
    assert ink("".join(sources(heap, TELEGRAM))) == ink(heap)


def test_a_character_that_fits_nowhere_is_not_lost() -> None:
    assert [text for text, _ in split("a.b", 1, dots_doubled)] == ["a", ".", "b"]


# -- MD-04, SLACK-08: blocks -------------------------------------------------------------------------------------------


def test_lists_keep_their_numbers() -> None:
    assert sources("3. three\n4. four\n5. five\n6. six", 20) == ["3. three\n4. four", "5. five\n6. six"]
    assert sources("1. a\n1. b\n1. c\n1. d\n1. e", 9) == ["1. a\n1. b", "3. c\n4. d", "5. e"]
    assert sources("1. a\n3. b\n5. c", 9) == ["1. a\n3. b", "3. c"]  # every reader of Markdown counts them
    assert sources("999999999. a\n999999999. b", 14) == ["999999999. a", "999999999. b"]


def test_a_list_goes_on_after_the_rest_of_a_nested_one_with_its_own_numbers() -> None:
    text = "1. one\n   1. first\n   2. second\n   3. third\n2. two\n3. three"
    for limit in range(22, 50):
        pieces = sources(text, limit)
        assert [item.what for piece in pieces for item in seen(piece)] == [item.what for item in seen(text)]


def test_the_rest_of_an_item_is_no_code_block() -> None:
    text = "10. an item\n\n    with a second paragraph\n\n    ```\n    and code\n    ```\n11. another"
    pieces = sources(text, 40)
    assert pieces == ["10. an item\n\n    with a second paragraph", "```\nand code\n```\n\n11. another"]


def test_list_items_that_fit_are_not_cut() -> None:
    items = [f"- item {number} " + "word " * 8 + "end" for number in range(40)]
    pieces = sources("\n".join(items), 200)
    assert [line for piece in pieces for line in piece.split("\n")] == items


def test_a_table_repeats_its_header() -> None:
    header = "| Name | Qty |\n|---|---|"
    rows = [f"| Äpfel 🍎 {number} | a \\| [b](https://e.org) |" for number in range(200)]
    pieces = sources("\n".join([header, *rows]), TELEGRAM, in_utf16)
    assert len(pieces) > 1
    assert all(piece.startswith(header + "\n") for piece in pieces)
    assert [line for piece in pieces for line in piece.split("\n")[2:]] == rows


def test_a_table_of_thirty_columns_loses_nothing() -> None:
    row = "|" + "".join(f" cell {number} |" for number in range(30))
    table = "\n".join([row, "|" + "---|" * 30, *[row] * 5])
    assert ink("".join(sources(table, 100))) == ink(table)


def test_quotes_paragraphs_and_rules_stay_what_they_are() -> None:
    text = (
        "One.\n\nTwo.\n\n> quoted "
        + "word " * 20
        + "\n> end\n\n- a\n- b\n\n---\n\n3. c\n\n<details>\n\n- d\n\n</details>"
    )
    for limit in range(40, 120, 7):
        assert [item for piece in sources(text, limit) for item in seen(piece)] == seen(text)


def test_a_heading_goes_with_what_it_is_the_heading_of() -> None:
    text = "word " * 15 + "\n\n# Title\n\n" + "more " * 15
    assert sources(text, 100) == [("word " * 15).strip(), "# Title\n\n" + ("more " * 15).strip()]


def test_sentences_and_lines_are_better_places_than_words() -> None:
    assert sources("One two three. Four five six seven", 24) == ["One two three.", "Four five six seven"]
    assert sources("One two. Three\nfour five six seven", 24) == ["One two. Three", "four five six seven"]
    assert sources("今天天气很好。我们去公园散步吧，好吗？", 12) == ["今天天气很好。", "我们去公园散步吧，好吗？"]


def test_windows_line_ends_are_line_ends() -> None:
    assert sources("a b\r\n\r\n```\r\nc d\r\ne f\r\n```", 12) == ["a b", "```\nc d\n```", "```\ne f\n```"]


# -- what is shown while the agent speaks ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("short", 10, "short"),
        ("one two three", 9, "one two"),
        ("text\n```py\nopen", 40, "text\n```py\nopen\n```"),
        ("text\n```py\nopen\nfence and more", 25, "text\n```py\nopen\n```"),
        ("a **bold word** b", 10, "a **bold**"),
        ("- a\n- b\n\n```\ncode\nmore\nof it\n```", 30, "- a\n- b\n\n```\ncode\nmore\n```"),
    ],
)
def test_a_live_message_shows_as_much_as_fits(text: str, limit: int, shown: str) -> None:
    assert fit(text, limit, as_is) == (shown, as_is(shown))


def test_a_live_message_shows_the_beginning_of_a_word_that_is_too_long() -> None:
    text, _ = fit("short\n\n" + "x" * 40, 20, as_is)
    assert re.fullmatch("short\n\nx{8,13}", text)


def test_a_live_message_goes_past_links_that_render_short() -> None:
    links = " ".join(["[x](https://example.org/" + "y" * 400 + ")"] * 400)
    text, body = fit(links, 100, stripped)
    assert 98 <= body.length <= 100
    assert links.startswith(text)


def test_a_live_message_costs_the_same_however_long_the_answer_is() -> None:
    def cost(size: int) -> int:
        meter = Meter(in_utf16)
        fit(("Some *words* of an answer. " * 40 + "\n\n") * size, TELEGRAM, meter)
        return meter.characters

    assert cost(20) == cost(400) < 12 * TELEGRAM


# -- hostile input -----------------------------------------------------------------------------------------------------

HOSTILE = {
    "backticks": "x " + "`" * 20_000,
    "fence": "`" * 20_000,
    "brackets": "[" * 20_000,
    "stars": "x " + "*" * 20_000,
    "underscores": "_ " * 10_000,
    "links": "[a](" * 5_000,
    "quotes": "> " * 5_000 + "deep",
    "quotes on lines": "\n".join("> " * depth + "x" for depth in range(1, 150)),
    "lists": "- " * 5_000 + "deep",
    "numbers": "1. " * 5_000 + "deep",
    "headings": "# a\n" * 5_000,
    "fences": "```\n" * 5_000,
    "info": "```" + "x" * 10_000 + "\ncode\n```",
    "header": "|" + "a|" * 5_000 + "\n|" + "-|" * 5_000 + "\n" + "|b" * 5_000,
    "html": "<div " * 4_000,
    "nul": "\x00" * 10_000,
    "half pairs": "\ud83d" * 10_000,
    "right to left": "\u202eشيء " * 3_000,
    "accents": " \u0301" * 5_000,
    "spaces in between": "a" + " " * 10_000 + "b",
    "lines in between": "a" + "\n" * 10_000 + "b",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_arrives_in_pieces_that_fit(name: str) -> None:
    text = HOSTILE[name]
    pieces = sources(text, TELEGRAM)
    assert len(pieces) <= 3 * len(text) // TELEGRAM + 2
    assert is_within(ink(text), ink("".join(pieces)))


class Meter:
    """Counts what it is asked to render."""

    def __init__(self, render: Render) -> None:
        self.render, self.calls, self.characters = render, 0, 0

    def __call__(self, markdown: str) -> Rendered:
        self.calls += 1
        self.characters += len(markdown)
        return self.render(markdown)


def dense_and_thin(size: int) -> str:
    return "".join(f"[x](https://e.org/{'y' * 1000})\n{'.' * 1000} {'. ' * 500}\n" for _ in range(size // 3000))


SHAPES: dict[str, Callable[[int], str]] = {
    "prose": lambda size: ("Some *words* of an answer. " * 40 + "\n\n") * (size // 1082),
    "one paragraph": lambda size: "Some *words* of `an` answer. " * (size // 29),
    "list": lambda size: "- an item\n  - another\n" * (size // 22),
    "code": lambda size: "```py\n" + "x = 1\n" * (size // 6) + "```",
    "table": lambda size: "| a | b |\n|---|---|\n" + "| cell | cell |\n" * (size // 16),
    "one word": lambda size: "🍀" * size,
    "backticks": lambda size: "x " + "`" * size,
    "stars": lambda size: "x " + "*" * size,
    "one cluster": lambda size: "x" + "\u0301" * size,
    "dense and thin": dense_and_thin,
}


@pytest.mark.parametrize("render", [in_utf16, dots_doubled, stripped])
@pytest.mark.parametrize("shape", SHAPES)
def test_four_times_the_text_asks_for_about_four_times_the_rendering(shape: str, render: Render) -> None:
    small, large = Meter(render), Meter(render)
    sources_small = split(SHAPES[shape](9_000), 400, small)
    sources_large = split(SHAPES[shape](36_000), 400, large)
    assert len(sources_large) >= len(sources_small)
    assert large.characters <= 5 * small.characters
    assert large.calls <= 5 * small.calls + 5
    assert large.characters <= 8 * len(SHAPES[shape](36_000))


# -- properties --------------------------------------------------------------------------------------------------------


def is_within(wanted: list[str], found: list[str]) -> bool:
    """Say whether all that is wanted is found, in order."""
    rest = iter(found)
    return all(character in rest for character in wanted)


@settings(max_examples=80)
@given(adversary.texts(broken=False), st.integers(150, 300), st.sampled_from(RENDERERS))
def test_all_pieces_together_look_like_the_whole(text: str, limit: int, render: Render) -> None:
    assume(nested_numbers(text) < 3)
    assert [item for piece in sources(text, limit, render) for item in seen(piece)] == seen(text)


@settings(max_examples=80)
@given(adversary.texts(broken=True), st.integers(3, 90), st.sampled_from(RENDERERS))
def test_nothing_is_lost_and_only_markup_is_said_twice(text: str, limit: int, render: Render) -> None:
    # A mark on an empty line of a quote is white space; numbers count on from where they were, with either delimiter.
    numbers = re.compile(r"[0-9.)]")
    wanted = ink(numbers.sub("", re.sub(r"^[> \t]+$", "", text, flags=re.MULTILINE)))
    found = ink(numbers.sub("", "\n".join(sources(text, limit, render))))
    assert is_within(wanted, found)
    languages = "".join(re.findall(r"(?:```|~~~)[`~]*[ \t]*(\S*)", text))
    assert set(Counter(found) - Counter(wanted)) <= {*"*_`~>|#-=\\", *languages, HEADER}


@given(st.text(), st.integers(2, 60), st.sampled_from([as_is, in_utf16]))
def test_any_text_at_all_arrives(text: str, limit: int, render: Render) -> None:
    assert is_within(ink(re.sub(r"\d+[.)]", "", text)), ink("".join(sources(text, limit, render))))


@given(
    st.lists(st.sampled_from(["a", "é", "e\u0301", "👨‍👩‍👧‍👦", "🇩🇪", "한", "각", "क्ष", "界", " ", "。"])).map("".join),
    st.integers(30, 60),
)
def test_no_grapheme_cluster_is_cut(text: str, limit: int) -> None:
    pieces = sources(text, limit, in_utf16)
    assert [cluster for piece in pieces for cluster in iter_graphemes(piece) if not cluster.isspace()] == [
        cluster for cluster in iter_graphemes(text) if not cluster.isspace()
    ]


@settings(max_examples=80)
@given(adversary.texts(broken=True), st.integers(12, 200), st.sampled_from(RENDERERS))
def test_a_live_message_fits_and_is_a_beginning(text: str, limit: int, render: Render) -> None:
    shown, body = fit(text, limit, render)
    assert body == render(shown)
    assert body.length <= limit
    assert is_within(
        [character for character in ink(shown) if character.isalpha() and character not in LANGUAGE], ink(text)
    )


@settings(max_examples=80)
@given(adversary.texts(broken=True), st.integers(30, 200))
def test_no_piece_is_empty(text: str, limit: int) -> None:
    assert all(piece.strip() for piece in sources(text, limit))
