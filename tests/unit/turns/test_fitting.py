"""What counts the tokens of a conversation is one thing: for its rows, its prompt, its tools and its compressions."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.agent.context.compressor import Compressor
from gateway.agent.context.settings import CompressionSettings
from gateway.agent.prompt.prompt import Prompt
from gateway.contracts.context import Compressed, Order, Past, Row
from gateway.contracts.model import Model
from gateway.contracts.tool import ToolSpec
from gateway.llm.tokens.messages import CALL, MESSAGE, TOOLS, estimate
from gateway.messages import Message
from gateway.sessions.whose import Whose
from gateway.turns.fitting import Fitting
from gateway.types import Turn
from tests.fakes.counting import CountingModel
from tests.fakes.model import DrivenModel

SETTINGS = CompressionSettings()


def words(text: str) -> int:
    return len(text.split())


async def nothing(turn: Turn, messages: Sequence[Message]) -> str:
    return ""


async def same(turn: Turn, model: Model, prompt: Prompt) -> Prompt:
    return prompt


def test_a_session_and_its_meter_count_as_the_process_does() -> None:
    fitting = Fitting(
        SETTINGS, lambda: Compressor(SETTINGS, str, count=words), lambda name: (), nothing, same, count=words
    )
    session = fitting.session("s1", "lane", Whose())
    session.conversation.add([Message("user", "one two three")])
    assert session.conversation.total == MESSAGE + 3
    meter = fitting.entry(session, DrivenModel()).meter
    assert meter.fixed("be kind", ()) == MESSAGE + 2
    assert meter.fixed("be kind", [ToolSpec("look", "at it")]) == MESSAGE + 2 + TOOLS + CALL + 4


async def test_the_compressor_weighs_what_it_makes_as_its_conversation_is_weighed() -> None:
    weighed: list[str] = []

    def count(text: str) -> int:
        weighed.append(text)
        return words(text)

    engine = Compressor(SETTINGS, str, count=count)
    engine.model_changed("m", 1_000, None)
    said = [Message("user" if place % 2 else "assistant", f"{'so it was ' * 30} {place}") for place in range(1, 61)]
    rows = [Row(id, message) for id, message in enumerate(said, 1)]
    made = await engine.compress(
        Past(rows, [estimate(message, words) for message in said]), Order(models=[CountingModel()])
    )
    assert isinstance(made, Compressed)
    assert any("## Goal" in text and text in made.view.summary for text in weighed)
