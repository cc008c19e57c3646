"""Model: one language model behind one method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Literal

from gateway.contracts.resource import Resource
from gateway.contracts.tool import ToolSpec
from gateway.messages import Message, Retracted, TextDelta, ToolCall, Usage

Ending = Literal["stop", "length", "filter"]


@dataclass(frozen=True, slots=True)
class Completed:
    """
    The last thing a model streams: the whole text, the calls, the tokens, and why it ended.

    `read` are the tokens of the prompt of the one request that was answered, where `usage` sums several; else 0.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    ending: Ending = "stop"
    read: int = 0

    @property
    def prompt(self) -> int:
        """The tokens of the prompt of the request that was answered, 0 where the endpoint does not count."""
        return self.read or self.usage.prompt


ModelPiece = TextDelta | Retracted | Completed


class Model(Resource, ABC):
    """
    A language model.

    `name` is the id that keys sessions and prices. `window` is in tokens, and `max_tokens` are those an answer may have
    at most, None where nobody set it. `demo` is true of the small offline model.
    """

    name: str
    window: int
    max_tokens: int | None = None
    demo: bool = False

    @abstractmethod
    def stream(self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> AsyncGenerator[ModelPiece, None]:
        """
        Answer, ending with exactly one `Completed`, or raise a `ModelError`.

        Deltas joined since the start or the last `Retracted` are the text of `Completed`. A stream that is cut off
        raises `BadResponse`, never ends quietly. A model made of models retracts before it asks the next one.
        """

    async def complete(self, messages: Sequence[Message]) -> Completed:
        """Answer in one piece."""
        async for piece in self.stream(messages):
            if isinstance(piece, Completed):
                return piece
        raise AssertionError(f"{self.name} ended without Completed")
