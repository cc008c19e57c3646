"""Markdown as nobody would write it, for property tests, and what a reader of it sees.

`texts` makes documents of nested quotes, lists, fences, tables and inline markup, some of it broken. `seen` is what
CommonMark shows of one: each visible character with its emphasis, its link and what it stands in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from markdown_it import MarkdownIt
from markdown_it.token import Token

HEADER = "ʰ"
"""Stands in every cell of a table's header and nowhere else."""
LANGUAGE = "zz"
"""What every fence with a language names; no z stands anywhere else."""

_PLAIN = ["word", "a", "bold", "世界", "👨‍👩‍👧‍👦", "é", "x.y", "end.", "Привет", "مرحبا", "각", "e\u0301", "🇩🇪🇫🇷"]
_TRICKY = [
    *(
        "-",
        "+",
        "#",
        "##",
        "1986.",
        "2)",
        ">",
        "=",
        "<",
        "|",
        "!",
        "[",
        "](",
        "[foo]:",
        "\\*",
        "\\",
        "&amp;",
        "<b>",
        "{a}",
        "$",
    ),
    *("a_b", "2*3", "x>y", '"q"', "(x)", "“Hi.”", "世界你好。再见", "https://e.org/a_(b)_c", "longer-word", "ᄀ"),
]
_BROKEN = [
    "**",
    "*",
    "_",
    "~~",
    "`",
    "```",
    "<div>",
    "](",
    "![",
    "\u200d",
    "\u0301",
    "\x00",
    "\ud83d",
    "\ude00",
    "\u202e",
    "\t",
]
_CODE = ["x = 1", "", "    indented", "\ttab", "`tick`", "**no**", "~~~", "- a", "世界 🎉", "long line " * 4]

phrases = st.lists(st.sampled_from(_PLAIN), min_size=1, max_size=6).map(" ".join)


def ink(text: str) -> list[str]:
    return [character for character in text if not character.isspace()]


# -- documents ---------------------------------------------------------------------------------------------------------


def texts(*, broken: bool) -> SearchStrategy[str]:
    """Documents of up to ten blocks; `broken` ones have delimiters and characters that belong to nothing."""
    inline = _inline([*_PLAIN, *_TRICKY, *(_BROKEN if broken else [])])
    block = st.recursive(inline, lambda inner: _blocks(inline, inner), max_leaves=10)
    return st.lists(block, min_size=1, max_size=10).map("\n\n".join)


def _inline(words: list[str]) -> SearchStrategy[str]:
    line = st.lists(st.sampled_from(words), min_size=1, max_size=5).map(" ".join)
    forms = [
        "**{}**",
        "*{}*",
        "_{}_",
        "~~{}~~",
        "`{}`",
        "``a`{}``",
        "[{}](https://e.org/x_y)",
        "![{}](https://e.org/i.png)",
    ]

    def grown(inner: SearchStrategy[str]) -> SearchStrategy[str]:
        several = st.lists(inner, min_size=1, max_size=4)
        joints = st.sampled_from([" ", "", "\n", "\\\n", "  \n"])
        return st.one_of(
            st.builds(str.format, st.sampled_from(forms), phrases),
            inner.map(lambda text: text if "*" in text else f"*{text}*"),
            inner.map(lambda text: text if "**" in text else f"**{text}**"),
            st.builds(lambda joint, parts: joint.join(parts), joints, several),
        )

    return st.recursive(line, grown, max_leaves=8)


def _blocks(inline: SearchStrategy[str], inner: SearchStrategy[str]) -> SearchStrategy[str]:
    code = st.lists(st.sampled_from(_CODE), max_size=8).map("\n".join)
    items = st.lists(inner, min_size=1, max_size=4)
    cells = st.lists(st.sampled_from(_PLAIN), min_size=1, max_size=3)
    return st.one_of(
        inline,
        inline.map(lambda text: "## " + text.replace("\n", " ")),
        code.map(lambda text: f"```{LANGUAGE}\n{text}\n```"),
        code.map(lambda text: f"~~~~ {LANGUAGE}\n{text}\n~~~~"),
        code.map(lambda text: f"```\n{text}\n```"),
        code.map(lambda text: _indented(f"x\n{text}", "    ")),
        st.builds(_table, st.lists(cells, min_size=1, max_size=12), st.integers(1, 4)),
        st.sampled_from(["---", "<details>\n<summary>s</summary>"]),
        inner.map(lambda text: _indented(text, "> ").replace("\n\n", "\n>\n")),
        items.map(lambda texts: "\n".join(_item("- ", text) for text in texts)),
        st.builds(_numbered, items, st.integers(0, 12), st.sampled_from(".)"), st.sampled_from(["\n", "\n\n"])),
        st.lists(inner, min_size=2, max_size=3).map("\n\n".join),
        st.builds(lambda first, second: f"{first}\n{second}", inline, inner),
    )


def _indented(text: str, prefix: str) -> str:
    return "\n".join(prefix + line if line else "" for line in text.split("\n"))


def _item(marker: str, text: str) -> str:
    return marker + _indented(text, " " * len(marker))[len(marker) :]


def _numbered(texts: list[str], start: int, delimiter: str, between: str) -> str:
    # The words in front keep two lists from becoming one.
    return "list:\n\n" + between.join(_item(f"{start + at}{delimiter} ", text) for at, text in enumerate(texts))


def _table(rows: list[list[str]], width: int) -> str:
    lines = [[HEADER] * width, ["---"] * width, *([row[at % len(row)] for at in range(width)] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


# -- what is seen of them ----------------------------------------------------------------------------------------------


class Seen(NamedTuple):
    """A character, a bullet or a number, and how it looks."""

    what: str
    look: tuple[str, ...]


_READER = MarkdownIt("commonmark", {"maxNesting": 100}).enable(["table", "strikethrough"]).disable("reference")


def seen(markdown: str) -> list[Seen]:
    """Return all that is visible, in order, without the headers of tables."""
    return [item for item in _shown(_READER.parse(markdown)) if item.what != HEADER]


def nested_numbers(markdown: str) -> int:
    """Count how deep numbered lists are nested."""
    depth = [0]
    for token in _READER.parse(markdown):
        if token.tag == "ol":
            depth.append(depth[-1] + token.nesting)
    return max(depth)


def _shown(tokens: list[Token]) -> Iterator[Seen]:
    around: list[str] = []
    numbers: list[int | None] = []
    for token in tokens:
        if token.type in {"blockquote_open", "heading_open"}:
            around.append(token.tag)
        elif token.type in {"blockquote_close", "heading_close"}:
            around.remove(token.tag)
        elif token.tag in {"ol", "ul"} and token.nesting == 1:
            numbers.append(int(token.attrs.get("start", 1)) if token.tag == "ol" else None)
        elif token.tag in {"ol", "ul"}:
            numbers.pop()
        elif token.type == "list_item_open":
            number = numbers[-1]
            yield Seen("•" if number is None else str(number), ("item",))
            numbers[-1] = None if number is None else number + 1
        elif token.type == "hr":
            yield Seen("---", ("rule",))
        elif token.type in {"fence", "code_block", "html_block"}:
            yield from (Seen(character, (token.type, token.info.strip(), *around)) for character in ink(token.content))
        elif token.type == "inline":
            yield from _inline_shown(token.children or [], around)


def _inline_shown(children: list[Token], around: list[str]) -> Iterator[Seen]:
    styles: list[str] = []
    for token in children:
        if token.nesting == 1:
            styles.append(f"{token.tag} {token.attrs.get('href', '')}")
        elif token.nesting == -1:
            styles.pop()
        elif token.type == "image":
            yield Seen(token.content, ("image", str(token.attrs["src"])))
        else:
            kind = token.type.removesuffix("_special")
            yield from (Seen(character, (kind, *sorted(styles), *around)) for character in ink(token.content))
