"""
What a person may know of a conversation's context, without anything being changed: what fills the window, what a
compression would hide. In: the window of a turn that is not taken, or rows. Out: figures.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.agent.context.fitted import FittedWindow
from gateway.agent.context.frame import noted
from gateway.agent.context.meter import Meter
from gateway.agent.context.threshold import room_of
from gateway.agent.prompt.prompt import Prompt
from gateway.contracts.context import ContextEngine, Order, Row
from gateway.contracts.model import Model
from gateway.contracts.tool import ToolSpec
from gateway.llm.tokens.messages import estimate, estimate_tools
from gateway.messages import Message

LINE = 120
"""Characters of a message that a preview quotes."""


@dataclass(frozen=True, slots=True)
class Share:
    """How many messages, or tools, of a kind there are, and about how many tokens they take."""

    number: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A section of the system's prompt: its name, what it was made from, and about how many tokens it takes."""

    name: str
    origin: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Filling:
    """What goes to the model with the next request, before anything is said in it. Tokens are estimates."""

    prompt: int
    sections: tuple[Piece, ...]
    tools: Share
    summary: int
    people: Share
    answers: Share
    results: Share

    @property
    def total(self) -> int:
        """The tokens of all of it."""
        kinds = (self.tools, self.people, self.answers, self.results)
        return self.prompt + self.summary + sum(kind.tokens for kind in kinds)


@dataclass(frozen=True, slots=True)
class Foreseen:
    """
    What a compression would do: what goes and what stays, and the first and last line of what goes.

    `known` is false where the engine cannot say beforehand.
    """

    hidden: Share
    kept: Share
    first: str = ""
    last: str = ""
    known: bool = True


@dataclass(frozen=True, slots=True)
class Measure:
    """What a conversation is measured with: its model, the tools that go with each request, and the model's meter."""

    model: Model
    specs: Sequence[ToolSpec]
    meter: Meter

    @property
    def room(self) -> int:
        """The tokens of the window that a request may take."""
        return room_of(self.model.window, self.model.max_tokens)

    def fill(self, prompt: Prompt, rows: Sequence[Row]) -> Filling:
        """Measure a conversation by kind; `prompt` is the stored one, and `rows` are those in view."""
        summarised, correct = any(row.summary for row in rows), self.meter.corrected
        count = self.meter.count
        weights = [(row, estimate(row.message, count)) for row in rows]

        def share(role: str) -> Share:
            found = [weight for row, weight in weights if row.message.role == role and not row.summary]
            return Share(len(found), correct(sum(found)))

        whole = noted(prompt.text) if summarised else prompt.text
        pieces = [Piece(part.name, part.origin, correct(count(part.text))) for part in prompt.sections()]
        return Filling(
            prompt=correct(estimate(Message("system", whole), count)),
            sections=tuple(pieces),
            tools=Share(len(self.specs), correct(estimate_tools(self.specs, count))),
            summary=correct(sum(weight for row, weight in weights if row.summary)),
            people=share("user"),
            answers=share("assistant"),
            results=share("tool"),
        )


@dataclass(frozen=True, slots=True)
class Open:
    """A live session that is looked at: the window of its next turn, and what that is made of."""

    window: FittedWindow
    engine: ContextEngine
    meter: Meter
    model: Model
    specs: Sequence[ToolSpec]

    @property
    def measure(self) -> Measure:
        """What it is measured with."""
        return Measure(self.model, self.specs, self.meter)


async def foresee(open: Open, order: Order) -> Foreseen:
    """Say what a compression would hide, without one and without asking a model."""
    past = await open.window.past()
    hidden = await asyncio.to_thread(open.engine.hides, past, order)
    weights = list(zip(past.rows, past.tokens, strict=True))
    goes = [(row, tokens) for row, tokens in weights if hidden is not None and row.id in hidden]
    stays = [(row, tokens) for row, tokens in weights if hidden is None or row.id not in hidden]
    spoken = [line for row, _ in goes if row.message.role != "tool" and (line := _line(row.message.text))]
    return Foreseen(
        Share(len(goes), open.meter.corrected(sum(tokens for _, tokens in goes))),
        Share(len(stays), open.meter.corrected(sum(tokens for _, tokens in stays))),
        spoken[0] if spoken else "",
        spoken[-1] if spoken else "",
        known=hidden is not None,
    )


def _line(text: str) -> str:
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return first if len(first) <= LINE else f"{first[:LINE]}…"
