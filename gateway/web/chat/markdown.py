"""Markdown of a model → HTML that a page may contain: made from our own templates, so that nothing else gets in.

Raw HTML is text. Links lead to http, https, mailto or tel and open elsewhere; images are links; nothing is loaded.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

_ALLOWED = re.compile(r"(?:https?://|mailto:|tel:)[^\s]", re.IGNORECASE)
_BARE = re.compile(r"https?://\w[^\s<>\"'`\\、。，！？（）「」『』【】《》；：]*", re.IGNORECASE)
INSIDE = "inside a link"
_LINK = {"target": "_blank", "rel": "noopener noreferrer nofollow"}
_OF_ANY_DIRECTION = frozenset(
    {"paragraph_open", "heading_open", "list_item_open", "blockquote_open", "table_open", "th_open", "td_open"}
)


class Renderer(RendererHTML):
    """The elements a message is made of, where ours differ from the library's."""

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        token = tokens[idx]
        words = token.info.split()
        return _code(token.content, words[0][:40] if words else "")

    def code_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        return _code(tokens[idx].content, "")

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        token = tokens[idx]
        label = escapeHtml(self.renderInlineAsText(token.children, options, env) or "image")
        if token.meta.get(INSIDE):  # a link cannot hold a link
            return label
        target = escapeHtml(str(token.attrs["src"]))
        attributes = " ".join(f'{name}="{value}"' for name, value in _LINK.items())
        return f'<a href="{target}" {attributes}>{label}</a>'


def _code(content: str, language: str) -> str:
    return (
        f'<div class="code"><div class="code-bar"><span>{escapeHtml(language)}</span>'
        '<button type="button" class="copy">Copy</button></div>'
        f'<pre dir="ltr" tabindex="0"><code>{escapeHtml(content)}</code></pre></div>\n'
    )


def _finish(state: StateCore) -> None:
    """Give each block its own direction and every link its attributes; keep styles out, which the page forbids."""
    for token in state.tokens:
        if token.type in _OF_ANY_DIRECTION:
            token.attrSet("dir", "auto")
        if style := token.attrs.pop("style", None):  # text-align:right, of a cell
            token.attrSet("class", str(style).partition(":")[2])
        if token.type == "inline" and token.children:
            token.children = _with_links(token.children)


def _with_links(tokens: list[Token]) -> list[Token]:
    """Complete the links, and make links of addresses that were written as plain text."""
    made: list[Token] = []
    depth = 0
    for token in tokens:
        depth += {"link_open": 1, "link_close": -1}.get(token.type, 0)
        if token.type == "link_open":
            token.attrs.update(_LINK)
        elif token.type == "image":
            token.meta[INSIDE] = depth > 0
        made += _pieces(token) if token.type == "text" and not depth and "://" in token.content else [token]
    return made


def _pieces(token: Token) -> list[Token]:
    made: list[Token] = []
    end = 0
    for match in _BARE.finditer(token.content):
        address = _trimmed(match[0])
        made += [_text(token.content[end : match.start()]), *_link(address)]
        end = match.start() + len(address)
    return [*made, _text(token.content[end:])]


def _trimmed(address: str) -> str:
    """Cut off what ends the sentence and not the address."""
    end, surplus = len(address), address.count(")") - address.count("(")
    while address[end - 1] in ".,:;!?*_~" or (address[end - 1] == ")" and surplus > 0):
        surplus -= address[end - 1] == ")"
        end -= 1
    return address[:end]


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _link(address: str) -> list[Token]:
    opened = Token("link_open", "a", 1, attrs={"href": _MARKDOWN.normalizeLink(address), **_LINK})
    return [opened, _text(address), Token("link_close", "a", -1)]


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}, renderer_cls=Renderer)
    parser.enable(["table", "strikethrough"])
    parser.validateLink = lambda url: bool(_ALLOWED.match(url))  # type: ignore[method-assign]
    parser.core.ruler.push("finish", _finish)
    return parser


_MARKDOWN = _parser()


def to_html(markdown: str) -> str:
    """Render a message. Linear in its input but slow (1.5 ms per kB): call it in a thread."""
    html: str = _MARKDOWN.render(markdown)
    return html
