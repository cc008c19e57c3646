"""The fake endpoint itself: that it is as strict, and as predictable, as the tests that stand on it believe."""

from __future__ import annotations

import http.client
from typing import Any

import orjson
import pytest

from tests.fakes.openai_rules import fault_of
from tests.fakes.openai_server import OpenAIServer, answer_to, words

USER = {"role": "user", "content": "hi"}
SAID = {"role": "assistant", "content": "hello"}
SYSTEM = {"role": "system", "content": "be kind"}


def calling(*ids: str, arguments: str = "{}") -> dict[str, Any]:
    function = {"name": "t", "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": i, "type": "function", "function": function} for i in ids],
    }


def result(call: str, text: str = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call, "content": text}


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [SYSTEM, USER],
        [USER, SAID, USER],
        [USER, calling("a", "b"), result("b"), result("a")],
        [USER, calling("a"), result("a"), SAID, USER],
        [USER, calling("a"), result("a"), calling("b"), result("b")],
        [USER, calling("a"), result("a"), USER],
    ],
)
def test_a_proper_history_is_accepted(messages: list[Any]) -> None:
    assert fault_of({"model": "m", "messages": messages}) == ""


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([], "at least one"),
        ([SYSTEM], "nothing but system"),
        ([SAID, USER], "must be a user's"),
        ([USER, USER], "a user's message after a user message"),
        ([USER, SAID, SAID, USER], "two assistant"),
        ([USER, SAID], "the last message"),
        ([USER, SAID, SYSTEM, USER], "after the conversation has begun"),
        ([USER, calling("a")], "the last message"),
        ([USER, calling("a"), USER], "after a call"),
        ([USER, calling("a", "b"), result("a"), SAID, USER], "without a result: b"),
        ([USER, calling("a"), result("a"), result("a")], "nobody waits for"),
        ([USER, result("a")], "nobody waits for"),
        ([USER, calling("a"), result("a"), calling("a"), result("a")], "used twice"),
        ([USER, calling("a", arguments="{"), result("a")], "no JSON object"),
        ([USER, calling("a", arguments="[]"), result("a")], "no JSON object"),
        ([USER, calling(""), result("")], "without an id"),
        ([{"role": "user", "content": " \n"}], "must not be empty"),
        ([{"role": "user", "content": None}], "is missing"),
        ([{"role": "user", "content": "a\0"}], "NUL"),
        ([{"role": "robot", "content": "a"}], "no role"),
        (["hi"], "no role"),
    ],
)
def test_each_fault_of_a_history_is_named(messages: list[Any], fault: str) -> None:
    assert fault in fault_of({"model": "m", "messages": messages})


@pytest.mark.parametrize("tools", [[], {}, [{}], [{"type": "function", "function": {"name": "t", "parameters": []}}]])
def test_tools_that_are_none_are_refused(tools: object) -> None:
    assert fault_of({"model": "m", "messages": [USER], "tools": tools}).startswith("tools")


def test_a_violation_is_refused_and_listed(server: OpenAIServer) -> None:
    connection = http.client.HTTPConnection(server.base_url.split("/")[2])
    headers = {"Authorization": f"Bearer {server.key}"}
    connection.request("POST", "/v1/chat/completions", orjson.dumps({"model": "fake", "messages": [SAID]}), headers)
    response = connection.getresponse()
    assert response.status == 400
    assert "must be a user's" in response.read().decode()
    assert server.violations() == ["messages[0]: the first message that is not the system's must be a user's"]
    connection.close()


def test_an_answer_in_one_piece_is_given_to_those_who_do_not_stream(server: OpenAIServer) -> None:
    connection = http.client.HTTPConnection(server.base_url.split("/")[2])
    headers = {"Authorization": f"Bearer {server.key}"}
    connection.request("POST", "/v1/chat/completions", orjson.dumps({"model": "fake", "messages": [USER]}), headers)
    body = orjson.loads(connection.getresponse().read())
    assert body["choices"][0]["message"] == {"role": "assistant", "content": "hi"}
    connection.close()


def asked(text: str, *since: dict[str, Any]) -> str:
    said = answer_to([USER, SAID, {"role": "user", "content": text}, *since])
    return " ".join([said.text, *(f"{name}{arguments}" for name, arguments in said.calls)]).strip()


def test_answers_follow_from_the_conversation() -> None:
    assert asked("good morning") == "good morning"
    assert asked("[Ann] say:one\ntwo") == "one\ntwo"
    assert asked("words:3") == "w1 w2 w3"
    assert asked("recall:") == "hi\nrecall:"


def test_rounds_of_calls_follow_from_how_many_were_made() -> None:
    text = 'tool:a:{"x": 1}\ntool:b:{}\nthen\ntool:c:{}\nsay:finished'
    assert asked(text) == 'a{"x": 1} b{}'
    first = [calling("1", "2"), result("1"), result("2")]
    assert asked(text, *first) == "c{}"
    assert asked(text, *first, calling("3"), result("3")) == "finished"
    assert asked("tool:a:{}", calling("1"), result("1", "it is noon")) == "it is noon"


@pytest.mark.parametrize("text", ["", " ", "a", " a  b\n", "a\n\n", "  "])
def test_words_joined_are_the_text(text: str) -> None:
    assert "".join(words(text)) == text


def test_resetting_forgets_script_faults_settings_and_log(server: OpenAIServer) -> None:
    server.set(key="x", models=["y"], refuse=["stream"])
    server.fault("error", times=9)
    server.say("z")
    server.reset()
    connection = http.client.HTTPConnection(server.base_url.split("/")[2])
    headers = {"Authorization": f"Bearer {server.key}"}
    connection.request("POST", "/v1/chat/completions", orjson.dumps({"model": "fake", "messages": [USER]}), headers)
    assert b'"content":"hi"' in connection.getresponse().read().replace(b": ", b":")
    assert server.counts() == {"asked": 1, "running": 0}
    connection.close()
