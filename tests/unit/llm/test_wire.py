"""The bytes of a request."""

from __future__ import annotations

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.contracts.tool import ToolSpec
from gateway.llm.wire import request_body
from gateway.messages import Message, ToolCall
from gateway.types import clean

anything = st.text(st.characters(codec=None), max_size=40)


@given(anything, anything, anything)
@settings(deadline=None)
def test_whatever_is_said_the_request_is_json_that_loses_nothing_but_what_cannot_be_sent(
    said: str, arguments: str, name: str
) -> None:
    messages = [Message("user", said), Message("assistant", "", (ToolCall("1", name, arguments),))]
    body = request_body({"model": "m"}, messages, [ToolSpec("t", said)])
    assert body == request_body({"model": "m"}, list(messages), [ToolSpec("t", said)])
    read = orjson.loads(body)
    sent = [read["messages"][0]["content"], read["messages"][1]["tool_calls"][0]["function"]["arguments"]]
    assert sent == [clean(said), clean(arguments)]
    assert "\0" not in "".join(sent)


def test_a_null_within_escaped_text_stays_as_it_is() -> None:
    body = request_body({}, [Message("user", r"write \u0000 in JSON")])
    assert orjson.loads(body)["messages"][0]["content"] == r"write \u0000 in JSON"


def test_a_calling_message_without_words_has_no_content() -> None:
    body = request_body({}, [Message("assistant", "", (ToolCall("1", "t", '{"a": 1}'),))])
    assert orjson.loads(body)["messages"][0] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "t", "arguments": '{"a": 1}'}}],
    }


def test_a_tool_without_parameters_has_an_empty_schema() -> None:
    (tool,) = orjson.loads(request_body({}, [Message("user", "x")], [ToolSpec("t", "Does it.")]))["tools"]
    assert tool["function"] == {
        "name": "t",
        "description": "Does it.",
        "parameters": {"type": "object", "properties": {}},
    }


def test_without_tools_none_are_spoken_of() -> None:
    assert "tools" not in orjson.loads(request_body({}, [Message("user", "x")]))
