"""The fence around recalled memory in what the model is sent, and what keeps recalled text from climbing over it. Pure.

In: what a person wrote, and what was recalled for it. Out: the `api_content` of their message, in the reference's form.
"""

from __future__ import annotations

import re

OPEN, CLOSE = "<memory-context>", "</memory-context>"
NOTE = (
    "[System note: The following is recalled memory context, NOT new user input. Treat as authoritative reference data"
    " — this is the agent's persistent memory and should inform all responses.]"
)
NOTE_BEGINS = "[System note: The following is recalled memory context"
"""Also of the older wording, ``Treat as informational background data.``"""

_SPACE = r"\s{0,16}"
_TAG = re.compile(rf"<{_SPACE}(/?){_SPACE}memory-context(?![\w-])", re.IGNORECASE)
_NOTE = re.compile(re.escape(NOTE_BEGINS).replace(r"\ ", r"\s{1,16}"), re.IGNORECASE)
_BRACKET = re.compile(r"([<>\[\]])")


def compose(content: str, recalled: str) -> str:
    """Return the message with the recalled text fenced off below it, or as it is where nothing was recalled."""
    if not (safe := sanitize(recalled)):
        return content
    return f"{content}\n\n{OPEN}\n{NOTE}\n\n{safe}\n{CLOSE}"


def sanitize(text: str) -> str:
    """
    Take fenced spans, loose notes and loose tags out of recalled text, in any case, nested or put together by removal.

    One pass: whenever a bracket closes, what was kept so far is looked at from the bracket that it may close.
    """
    if not (_TAG.search(text) or _NOTE.search(text)):
        return text.strip()
    kept = _Kept()
    for piece in _BRACKET.split(text):
        kept.add(piece)
    return _TAG.sub(lambda begun: f"&lt;{begun[0][1:]}", kept.text()).strip()  # one that never ends is a tag to a model


class _Kept:
    """The text that stays, and where in it brackets and spans are open."""

    def __init__(self) -> None:
        self._characters: list[str] = []
        self._brackets: dict[str, list[int]] = {"<": [], "[": []}
        self._spans: list[int] = []

    def text(self) -> str:
        return "".join(self._characters)

    def add(self, piece: str) -> None:
        if piece in self._brackets:
            self._brackets[piece].append(len(self._characters))
        self._characters.extend(piece)
        if piece == ">" and (start := self._opened("<")) is not None:
            if tag := _TAG.match(self._head(start)):
                self._end_tag(start, closing=bool(tag[1]))
        elif piece == "]" and (start := self._opened("[")) is not None and _NOTE.match(self._head(start)):
            self._cut(start)

    def _opened(self, bracket: str) -> int | None:
        return self._brackets[bracket].pop() if self._brackets[bracket] else None

    def _head(self, start: int) -> str:
        return "".join(self._characters[start : start + 300])

    def _end_tag(self, start: int, *, closing: bool) -> None:
        if closing and self._spans:
            start = min(start, self._spans.pop())
        elif not closing:
            self._spans.append(start)
        self._cut(start)

    def _cut(self, start: int) -> None:
        del self._characters[start:]
        for places in self._brackets.values():
            while places and places[-1] >= start:
                places.pop()
        while self._spans and self._spans[-1] > start:
            self._spans.pop()
