"""The conversation of a live session as its next request needs it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gateway.agent.context.assembly import wire
from gateway.agent.context.frame import noted
from gateway.agent.context.guards import Guards
from gateway.agent.context.meter import Counts
from gateway.agent.history import repair
from gateway.agent.prompt.prompt import Prompt
from gateway.contracts.context import Row
from gateway.llm.tokens.messages import Count, Estimates
from gateway.llm.tokens.text import estimate_text
from gateway.messages import Message


class Conversation:
    """
    The rows in view, the messages that go to the model for them, and about how many tokens each takes.

    Rows that were said since the rows were last read have no id yet; `number` gives them theirs. `spoken` is when
    something was last said, in seconds since 1970, 0 for never; `summarised` says that a summary stands for a part.
    `reported` is a model, what its endpoint counted, and what the rows of that request were estimated at, as they were
    read. `bytes` is the UTF-8 length of prompt and rows. `count` counts the tokens of a text, or estimates them.
    """

    def __init__(self, count: Count = estimate_text) -> None:
        self.count = count
        self.prompt = Prompt()
        self.guards = Guards()
        self.spoken = 0.0
        self.summarised = False
        self.rows: list[Row] = []
        self.messages: list[Message] = []
        self._said: list[Message] = []
        self._estimates = Estimates(count)
        self.counts: Counts = {}
        self.reported = "", 0, 0
        self._bytes = 0

    @property
    def bytes(self) -> int:
        """The UTF-8 length of all that is held."""
        return _length(self.prompt.text) + self._bytes

    @property
    def system(self) -> str:
        """The prompt as it goes out: with a note where something was summed up."""
        return noted(self.prompt.text) if self.summarised else self.prompt.text

    @property
    def tokens(self) -> Sequence[int]:
        """The estimate of each row; it holds until the next call."""
        return self._estimates.each(self._said)

    @property
    def total(self) -> int:
        """The estimate of all rows together."""
        return self._estimates.total(self._said)

    def warm(self) -> None:
        """Estimate all there is, which later costs nothing; of a long conversation it takes half a second."""
        self._estimates.each(self._said)

    def fill(self, rows: Sequence[Row], *, open_end: bool = False) -> None:
        """Hold these rows; `open_end` says that the last turn among them goes on."""
        self.rows = list(rows)
        self.counts.clear()
        self.reported = "", 0, 0
        self.summarised = any(row.summary for row in rows)
        self._said = [row.message for row in rows]
        self._bytes = sum(map(_bytes, self._said))
        self.messages = wire(rows) if open_end else repair(wire(rows))

    def told(self, model: str, counted: int) -> None:
        """Hear what the endpoint counted for the request before the last answer; 0 where that is not known."""
        if counted and self._said and self._said[-1].role == "assistant":
            self.reported = model, counted, self.total - self.tokens[-1]

    def add(self, said: Sequence[Message]) -> None:
        """Add what is said and has no row yet, or whose row is not known."""
        self.rows += [Row(0, message) for message in said]
        self._said += said
        self.messages += said
        self._bytes += sum(map(_bytes, said))
        self.spoken = time.time()

    def settle(self) -> None:
        """Put results in the order of their calls, as providers want them, once every call has its own."""
        self.messages = wire(self.rows)

    def take(self, prompt: Prompt, rows: Sequence[Row], guards: Guards) -> None:
        """Go on with what a compression has made."""
        self.prompt, self.guards = prompt, guards
        self.fill(rows, open_end=True)

    def number(self, stored: Sequence[tuple[int, str]], unsaved: int) -> bool:
        """
        Give rows without an id that of their row: `stored` is, in order, the id of each and the call it is a result of.

        Results are told apart by their call, since they are stored as they come; the last `unsaved` have no row yet.
        False where these are not the rows that are missing here: then all has to be read again.
        """
        end = len(self.rows) - unsaved
        open_ = [place for place, row in enumerate(self.rows[:end]) if not row.id and not row.summary]
        said = self._said
        results = {said[place].call_id: place for place in open_ if said[place].role == "tool"}
        others = iter([place for place in open_ if said[place].role != "tool"])
        for id, call in stored:
            place = results.pop(call, -1) if call else next(others, -1)
            if place < 0:
                return False
            self.rows[place] = Row(id, said[place])
        return not results and next(others, None) is None


def _bytes(message: Message) -> int:
    called = sum(_length(call.name) + _length(call.arguments) for call in message.calls)
    return _length(message.text) + _length(message.api_content or "") + called


def _length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
