"""A model with a window: counts every request, refuses what does not fit, and writes summaries when asked for one."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Sequence

from gateway.contracts.model import Completed, ModelPiece
from gateway.contracts.tool import ToolSpec
from gateway.errors import ContextOverflow, ModelError
from gateway.llm.tokens.messages import estimate, estimate_tools
from gateway.messages import Message, Usage
from tests.fakes.model import Answer, DrivenModel, echo

Summarise = Callable[[str], str | Completed | ModelError]


def summary(prompt: str) -> str:
    """Sum up as a careful model does: name what people asked for, and what stands in the summary before."""
    asked = re.findall(r"^\[USER\]: (.*)$", prompt, re.MULTILINE)
    before = re.findall(r"^- asked: (.*)$", prompt, re.MULTILINE)
    lines = "\n".join(f"- asked: {line[:60]}" for line in [*before, *asked][-20:])
    return f"## Active Task\nNone.\n\n## Goal\nTo get things done.\n\n## Completed Actions\n{lines}\n"


class CountingModel(DrivenModel):
    """
    `factor` is what the endpoint counts for each token of our estimate; `counts` says whether it tells what it counted.

    A request without a system's prompt is one for a summary, which `summarise` answers or refuses once the gate is
    open; `summed_up` are their texts. What people hear is in `asked`, as ever.
    """

    def __init__(
        self,
        answer: Answer = echo,
        *,
        window: int = 8_000,
        summarise: Summarise = summary,
        factor: float = 1.0,
        counts: bool = True,
        name: str = "counting",
    ) -> None:
        super().__init__(answer, name=name)
        self.window, self.real = window, window
        self.summarise, self.factor, self.counts = summarise, factor, counts
        self.summed_up: list[str] = []
        self.refused = 0

    def tokens(self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> int:
        """Count a request as this endpoint does."""
        return round(self.factor * (estimate_tools(tools) + sum(map(estimate, messages))))

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> AsyncGenerator[ModelPiece, None]:
        tokens = self.tokens(messages, tools)
        if tokens > self.real:
            self.refused += 1
            raise ContextOverflow("the request is too long")
        if messages[0].role != "system":
            self.summed_up.append(messages[0].text)
            self.begun.set()
            await self.gate.wait()
            made = self.summarise(messages[0].text)
            if isinstance(made, ModelError):
                raise made
            yield made if isinstance(made, Completed) else Completed(made, usage=self._usage(tokens, made))
            return
        async for piece in super().stream(messages, tools):
            if isinstance(piece, Completed):
                yield Completed(piece.text, piece.calls, self._usage(tokens, piece.text), piece.ending)
            else:
                yield piece

    def _usage(self, tokens: int, text: str) -> Usage:
        return Usage(tokens, len(text) // 4 + 1) if self.counts else Usage()


def held_writer(window: int = 1_000_000) -> CountingModel:
    """Return a model for summaries that begins one, and goes on once its gate is open."""
    writer = CountingModel(name="writer", window=window)
    writer.gate.clear()
    return writer
