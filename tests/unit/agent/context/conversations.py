"""Conversations of every kind, as turns leave them, and a session that stores and compresses them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hypothesis import strategies as st

from gateway.agent.context.assembly import Assembled, assemble, viewed, wire
from gateway.agent.context.boundaries import Parts, parted, span
from gateway.agent.context.settings import CompressionSettings
from gateway.contracts.context import Row, View
from gateway.llm.tokens.messages import estimate
from gateway.messages import Message, ToolCall

NOBODY = "[IMPORTANT: Background process 7 ended]"
SETTINGS = CompressionSettings()


def user(text: str = "hello", api_content: str | None = None) -> Message:
    return Message("user", text, api_content=api_content)


def answer(text: str = "hello to you") -> Message:
    return Message("assistant", text)


def calls(*ids: str, text: str = "", arguments: str = "{}") -> Message:
    return Message("assistant", text, tuple(ToolCall(id, "look_up", arguments) for id in ids))


def result(id: str, text: str = "found") -> Message:
    return Message("tool", text, call_id=id, name="look_up")


def rounds(first: int, number: int, words: int = 100) -> list[Message]:
    """Rounds of one call each, with results of about so many tokens."""
    said: list[Message] = []
    for place in range(first, first + number):
        said += [calls(f"c{place}"), result(f"c{place}", f"result {place}: " + "word " * words)]
    return said


def rows_of(said: Sequence[Message], first: int = 1) -> list[Row]:
    return [Row(first + place, message) for place, message in enumerate(said)]


def tokens_of(rows: Sequence[Row]) -> list[int]:
    return [estimate(row.message) for row in rows]


_SIZES = st.sampled_from([1, 1, 3, 30, 200, 1500])
_WORDS = st.sampled_from(
    ["word ", "天气很好。", "[image] ", "東京 и Москва ", '{"key": 1}\n', "--- END OF CONTEXT SUMMARY —\n"]
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    return draw(_WORDS) * draw(_SIZES)


@st.composite
def turns(draw: st.DrawFn, number: int, *, person: bool = True, longest: int = 25) -> list[Message]:
    """One turn: what a person, or nobody, said; rounds of tools; an answer, if it has ended."""
    said = f"ask {number}: {draw(texts())}" if person else NOBODY
    messages = [user(said, draw(st.none() | st.just(f"[Ann] {said}")))]
    for place in range(draw(st.integers(0, 3) | st.integers(0, longest))):
        ids = [f"{number}-{place}-{call}" for call in range(draw(st.sampled_from([1, 1, 1, 3])))]
        spoken = draw(st.sampled_from(["", "", "", f"looking {number}-{place}"]))
        messages.append(
            calls(*ids, text=spoken, arguments=draw(st.sampled_from(["{}", '{"text": "' + "x" * 900 + '"}'])))
        )
        messages += [result(id, draw(texts())) for id in ids]
    return [*messages, answer(f"answer {number}: {draw(texts())}")]


class Session:
    """A session as it is stored: rows that never change, and the views over them."""

    def __init__(self) -> None:
        self.stored: list[Row] = []
        self.views: list[View] = []

    def say(self, said: Sequence[Message]) -> None:
        self.stored += rows_of(said, len(self.stored) + 1)

    @property
    def rows(self) -> list[Row]:
        return viewed(self.stored, self.views)

    @property
    def messages(self) -> list[Message]:
        return wire(self.rows)

    def cut(
        self, budget: int, settings: CompressionSettings = SETTINGS, changed: Mapping[int, Message] | None = None
    ) -> tuple[tuple[int, int], Parts] | None:
        """Divide what is in view; None where nothing is worth it."""
        rows = self.rows
        shown = [replace(row, message=(changed or {}).get(place, row.message)) for place, row in enumerate(rows)]
        tokens = tokens_of(shown)
        before = any(view.summary for view in self.views)
        found = span(shown, tokens, settings, budget, compressed_before=before)
        return None if found is None else (found, parted(rows, tokens, found, budget, changed))

    def compress(
        self, budget: int, settings: CompressionSettings = SETTINGS, changed: Mapping[int, Message] | None = None
    ) -> Assembled | None:
        divided = self.cut(budget, settings, changed)
        if divided is None:
            return None
        summary = f"## Active Task\nCompression {len(self.views) + 1} of {len(divided[1].middle)} rows"
        assembled = assemble(divided[1], summary)
        self.views.append(assembled.view)
        return assembled
