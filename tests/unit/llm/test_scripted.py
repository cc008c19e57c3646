"""The model of the tests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.contracts.model import Completed
from gateway.contracts.tool import ToolSpec
from gateway.errors import ModelBusy
from gateway.llm.scripted import ScriptedModel, words
from gateway.messages import Message

HELLO = [Message("user", "hello")]
CLOCK = ToolSpec("clock", "Tells the time.")


async def test_it_says_its_lines_in_order_and_keeps_what_it_was_asked() -> None:
    model = ScriptedModel(
        Completed("one"), lambda messages, tools: Completed(f"{messages[-1].content} {tools[0].name}"), ModelBusy("x")
    )
    assert (await model.complete(HELLO)).text == "one"
    assert [piece async for piece in model.stream(HELLO, [CLOCK])][-1] == Completed("hello clock")
    with pytest.raises(ModelBusy):
        await model.complete(HELLO)
    assert model.asked == [tuple(HELLO)] * 3
    assert model.offered == [(), (CLOCK,), ()]


async def test_a_script_that_is_used_up_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="asked 1 times"):
        await ScriptedModel().complete(HELLO)


async def test_the_echo_goes_on_for_ever() -> None:
    model = ScriptedModel.echo()
    for text in ("a", "b c", "b c"):
        assert (await model.complete([Message("user", text)])).text == text


@given(st.text())
def test_words_joined_are_the_text(text: str) -> None:
    assert "".join(words(text)) == text
