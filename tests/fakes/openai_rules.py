"""What a strict provider demands of a request: a body in, the first thing wrong with it out ("" where nothing is)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

ROLES = {"system", "developer", "user", "assistant", "tool"}


def fault_of(body: Mapping[str, Any]) -> str:
    """Name the first fault of a chat-completions request."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return "messages: must be a list with at least one message"
    if not isinstance(body.get("model"), str) or not body["model"]:
        return "model: is missing"
    return next(_shapes(messages), "") or next(_order(messages), "") or next(_pairs(messages), "") or _tools(body)


def _shapes(messages: Sequence[Any]) -> Iterator[str]:
    for number, message in enumerate(messages):
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            yield f"messages[{number}]: has no role that exists"
            return
        content, calls = message.get("content"), message.get("tool_calls")
        if content is None and not calls:
            yield f"messages[{number}].content: is missing"
        if content is not None and not isinstance(content, str | list):
            yield f"messages[{number}].content: must be a string"
        if isinstance(content, str) and not content.strip() and message["role"] in {"user", "assistant"} and not calls:
            yield f"messages[{number}].content: must not be empty"
        if isinstance(content, str) and "\0" in content:
            yield f"messages[{number}].content: holds a NUL"


def _order(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Demand a user's message first, then user and assistant by turns; tool rows belong to the assistant."""
    before = "assistant"
    talked = False
    for number, message in enumerate(messages):
        role = message["role"]
        if role in {"system", "developer"}:
            if talked:
                yield f"messages[{number}]: a system message after the conversation has begun"
            continue
        if not talked and role != "user":
            yield f"messages[{number}]: the first message that is not the system's must be a user's"
        talked = True
        if role == "user" and before in {"user", "open"}:
            yield f"messages[{number}]: a user's message after {'a call' if before == 'open' else 'a user message'}"
        if role == "assistant" and before == "assistant":
            yield f"messages[{number}]: two assistant messages in a row"
        # After its calls were answered the assistant speaks again: the answers stand where a user would.
        before = {"tool": "answered", "user": "user"}.get(role, "open" if message.get("tool_calls") else "assistant")
    if not talked:
        yield "messages: nothing but system messages"
    if before in {"assistant", "open"}:
        yield f"messages[{len(messages) - 1}]: the last message must be a user's or a tool's"


def _pairs(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Demand exactly one result for each call, directly after the message that made it."""
    waiting: set[str] = set()
    seen: set[str] = set()
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            call = message.get("tool_call_id")
            if call not in waiting:
                yield f"messages[{number}]: the result of a call nobody waits for ({call!r})"
            waiting.discard(str(call))
            continue
        if waiting:
            yield f"messages[{number}]: calls without a result: {', '.join(sorted(waiting))}"
        for call in message.get("tool_calls") or ():
            yield from _call(number, call, seen)
            waiting.add(call["id"])
            seen.add(call["id"])
    if waiting:
        yield f"messages: calls without a result: {', '.join(sorted(waiting))}"


def _call(number: int, call: Any, seen: set[str]) -> Iterator[str]:
    where = f"messages[{number}].tool_calls"
    if not isinstance(call, dict) or not isinstance(call.get("function"), dict) or call.get("type") != "function":
        yield f"{where}: must be functions"
        return
    if not isinstance(call.get("id"), str) or not call["id"]:
        yield f"{where}: a call without an id"
        return
    if call["id"] in seen:
        yield f"{where}: the id {call['id']} is used twice"
    if not call["function"].get("name"):
        yield f"{where}: a call without a name"
    try:
        arguments = orjson.loads(call["function"].get("arguments", ""))
    except (orjson.JSONDecodeError, TypeError):
        arguments = None
    if not isinstance(arguments, dict):
        yield f"{where}: the arguments of {call['id']} are no JSON object"


def _tools(body: Mapping[str, Any]) -> str:
    tools = body.get("tools")
    if tools is None:
        return ""
    if not isinstance(tools, list) or not tools:
        return "tools: must be a list with at least one tool"
    for number, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not function.get("name"):
            return f"tools[{number}]: has no name"
        if not isinstance(function.get("parameters", {}), dict):
            return f"tools[{number}].parameters: must be a JSON Schema object"
    return ""
