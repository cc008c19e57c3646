"""From messages and tools to the bytes of a chat-completions request. Pure: the same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from gateway.contracts.tool import ToolSpec
from gateway.messages import Message
from gateway.types import clean


def request_body(options: Mapping[str, Any], messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> bytes:
    """
    Write the request. What no endpoint takes is cleaned: lone surrogates and NUL.

    400 messages take half a millisecond, so nothing is remembered from one request to the next.
    """
    body = {**options, "messages": [written(message) for message in messages]}
    if tools:
        body["tools"] = [_tool(spec) for spec in tools]
    try:
        encoded = orjson.dumps(body)
    except orjson.JSONEncodeError:  # a lone surrogate
        return orjson.dumps(_cleaned(body))
    return orjson.dumps(_cleaned(body)) if b"\\u0000" in encoded else encoded


def written(message: Message) -> dict[str, Any]:
    """Write one message as the endpoint reads it."""
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
    if not message.calls:
        return {"role": message.role, "content": message.content}
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in message.calls
    ]
    return {"role": message.role, "content": message.content or None, "tool_calls": calls}


def _tool(spec: ToolSpec) -> dict[str, Any]:
    parameters = spec.parameters or {"type": "object", "properties": {}}
    return {
        "type": "function",
        "function": {"name": spec.name, "description": spec.description, "parameters": parameters},
    }


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(item) for item in value]
    return value
