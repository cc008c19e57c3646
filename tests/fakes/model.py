"""A model that a test drives: answers by a function, waits at a gate, and keeps what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence

from gateway.contracts.model import Completed, Model, ModelPiece
from gateway.contracts.tool import ToolSpec
from gateway.messages import Message, TextDelta, Usage

Answer = Callable[[Sequence[Message]], Completed | str]


def echo(messages: Sequence[Message]) -> str:
    """Answer with the last thing the person said."""
    return f"you said: {messages[-1].content}"


class DrivenModel(Model):
    """Streams word by word. `gate` holds it before the first word, `midway` before the last."""

    window = 8_000

    def __init__(self, answer: Answer = echo, *, name: str = "driven") -> None:
        self.name = name
        self._answer = answer
        self.asked: list[tuple[Message, ...]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.midway = asyncio.Event()
        self.midway.set()
        self.begun = asyncio.Event()

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> AsyncGenerator[ModelPiece, None]:
        check_strict(messages)
        self.asked.append(tuple(messages))
        self.begun.set()
        await self.gate.wait()
        said = self._answer(messages)
        answer = Completed(said, usage=Usage(10, 5)) if isinstance(said, str) else said
        words = answer.text.split(" ") if answer.text else []
        for place, word in enumerate(words):
            if place == len(words) - 1:
                await self.midway.wait()
            yield TextDelta(word if place == len(words) - 1 else f"{word} ")
        yield answer

    @property
    def heard(self) -> list[str]:
        """What the person said last in each request."""
        return [[message.content for message in asked if message.role == "user"][-1] for asked in self.asked]


def check_strict(messages: Sequence[Message]) -> None:
    """Refuse what a strict provider refuses."""
    said = [message for message in messages if message.role != "system"]
    assert said[0].role == "user", "the first message is not a user's"
    waiting: list[str] = []
    last = ""
    for message in said:
        if message.role == "tool":
            assert message.call_id in waiting, f"a result without a call: {message.call_id}"
            waiting.remove(message.call_id)
            last = "tool"
            continue
        assert not waiting, f"calls without a result: {waiting}"
        assert message.role != last, f"two messages of the {message.role} in a row"
        assert (last, message.role) != ("tool", "user"), "a user speaks before the results were answered"
        last, waiting = message.role, [call.id for call in message.calls]
    assert not waiting, f"calls without a result: {waiting}"
