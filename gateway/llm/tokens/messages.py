"""What a message, the tools and a whole conversation take of a window, in tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from gateway.contracts.tool import ToolSpec
from gateway.llm.tokens.text import estimate_text
from gateway.messages import Message

Count = Callable[[str], int]
"""Counts the tokens of a text: `estimate_text`, or what `exact` returns."""

MESSAGE = 5
"""The role of a message and the marks around it; templates take between 2 and 6."""
CALL = 12
"""The JSON, or whatever a template makes of it, around the name and the arguments of a call."""
IMAGE = 1_600
"""An image, whatever it weighs in bytes: endpoints scale it down, and charge from 85 to about 1,600."""
TOOLS = 100
"""What a template says before it lists the tools."""


def estimate(message: Message, count: Count = estimate_text, *, images: int = 0) -> int:
    """Return about how many tokens a message takes, its calls and its frame included; `images` go beside its text."""
    called = sum(CALL + count(call.name) + count(call.arguments) for call in message.calls) if message.calls else 0
    return MESSAGE + count(message.content) + called + IMAGE * images


def estimate_tools(tools: Sequence[ToolSpec], count: Count = estimate_text) -> int:
    """Return about how many tokens the descriptions of the tools take."""
    if not tools:
        return 0
    texts = (f"{spec.name} {spec.description} {json.dumps(spec.parameters, ensure_ascii=False)}" for spec in tools)
    return TOOLS + sum(CALL + count(text) for text in texts)


class Estimates:
    """
    The estimates of one conversation, made once for each message; a session owns one, and it dies with the session.

    Messages are told apart by identity, since the texts of a long conversation take longer to hash or compare than to
    copy the list of them: asking again after one more message costs the one message.
    """

    def __init__(self, count: Count = estimate_text) -> None:
        self._count = count
        self._seen: list[Message] = []
        self._tokens: list[int] = []
        self._total = 0

    def each(self, messages: Sequence[Message]) -> Sequence[int]:
        """Return the estimate of each message; it holds until the next call."""
        now, before = list(messages), len(self._seen)
        if now[:before] != self._seen:
            known = dict(zip(map(id, self._seen), self._tokens, strict=True))
            self._tokens = [known.get(id(message)) or estimate(message, self._count) for message in now]
            self._total = sum(self._tokens)
        else:
            added = [estimate(message, self._count) for message in now[before:]]
            self._tokens += added
            self._total += sum(added)
        self._seen = now
        return self._tokens

    def total(self, messages: Sequence[Message]) -> int:
        """Return the estimate of all messages together."""
        self.each(messages)
        return self._total
