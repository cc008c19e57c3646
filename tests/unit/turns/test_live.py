"""A live session knows how much it holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.agent.prompt.prompt import Prompt
from gateway.contracts.context import Row
from gateway.messages import Message, ToolCall
from gateway.sessions.store import Stored
from gateway.turns.live import LiveSession, cache_key


def session() -> LiveSession:
    return LiveSession("s1", "lane")


@pytest.mark.parametrize(
    ("message", "size"),
    [
        (Message("user", "hello"), 5),
        (Message("user", "東京"), 6),
        (Message("user", "hi", api_content="[Zoë] hi"), 11),
        (Message("user", "hi", api_content=""), 2),
        (Message("assistant", "", (ToolCall("id", "read", '{"p": "é"}'),)), 15),
        (Message("tool", "\ud800 alone"), 9),
    ],
)
def test_bytes_are_those_of_the_texts_as_they_are_stored(message: Message, size: int) -> None:
    live = session()
    live.conversation.add([message, message])
    assert live.bytes == 2 * size
    live.read(Stored("prömpt", (Row(1, message),)), 3)
    assert live.bytes == 7 + size
    assert live.version == 3


def test_a_session_that_is_filled_anew_forgets_what_it_held() -> None:
    live = session()
    live.conversation.add([Message("user", "x" * 1000)])
    live.begin(Prompt(), 1)
    assert (live.history, live.bytes) == ([], 0)


def test_a_turn_makes_it_longer_by_what_was_said() -> None:
    live = session()
    live.begin(Prompt("prompt"), 1)
    said = [Message("user", "hello"), Message("assistant", "hi")]
    live.conversation.add(said)
    assert live.history == said
    other = session()
    other.read(Stored("prompt", tuple(Row(number, message) for number, message in enumerate(said, 1))), 1)
    assert live.bytes == other.bytes


def test_another_home_or_model_is_another_entry() -> None:
    keys = {cache_key(*parts) for parts in (("s", "/h", "m"), ("s", "/h", "n"), ("s", "/i", "m"), ("t", "/h", "m"))}
    assert len(keys) == 4
    assert cache_key("s", "/h", "m") == "s::/h::m"


def test_a_session_is_itself_and_not_what_it_holds() -> None:
    assert session() != session()
    assert replace(session()) != session()
