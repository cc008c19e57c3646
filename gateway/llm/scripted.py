"""A model that says what it was told to, for tests and the benchmark. It needs no network and takes no time."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from gateway.contracts.model import Completed, Model, ModelPiece
from gateway.contracts.tool import ToolSpec
from gateway.messages import Message, TextDelta, Usage


@dataclass(frozen=True, slots=True)
class Breaks:
    """Says `text` and then fails."""

    text: str
    error: Exception


Answering = Callable[[Sequence[Message], Sequence[ToolSpec]], Completed]
Line = Completed | Exception | Breaks | Answering


class ScriptedModel(Model):
    """
    Says the lines of its script in order, word by word; with `otherwise` it goes on when they are used up.

    `asked` holds the messages of every request and `offered` the tools.
    """

    def __init__(
        self, *script: Line, otherwise: Answering | None = None, name: str = "scripted", window: int = 8_000
    ) -> None:
        self.name, self.window = name, window
        self._script, self._otherwise = list(script), otherwise
        self.asked: list[tuple[Message, ...]] = []
        self.offered: list[tuple[ToolSpec, ...]] = []

    @classmethod
    def echo(cls, *, name: str = "echo", window: int = 128_000) -> Self:
        """Make a model that answers for ever, with what the person said."""
        return cls(otherwise=_echo, name=name, window=window)

    async def stream(self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> AsyncGenerator[ModelPiece]:
        self.asked.append(tuple(messages))
        self.offered.append(tuple(tools))
        line = self._next()
        if isinstance(line, Exception):
            raise line
        said = line if isinstance(line, Completed | Breaks) else line(messages, tools)
        for word in words(said.text):
            yield TextDelta(word)
        if isinstance(said, Breaks):
            raise said.error
        yield said

    def _next(self) -> Line:
        if self._script:
            return self._script.pop(0)
        if self._otherwise is None:
            raise AssertionError(f"{self.name} was asked {len(self.asked)} times and has nothing more to say")
        return self._otherwise


def words(text: str) -> Iterable[str]:
    """Cut a text into words that joined are the text again."""
    return re.findall(r"\s*\S+|\s+\Z", text)


def _echo(messages: Sequence[Message], _: Sequence[ToolSpec]) -> Completed:
    said = messages[-1].content
    return Completed(said, usage=Usage(sum(len(message.content) for message in messages) // 4, len(said) // 4))
