"""
Makes a history one that a strict provider accepts. Pure, and the identity on a history that already is.

The rules: each call has exactly one result, directly after the message that called; the first message that is not the
system's is a user's; user and assistant alternate, results of tools apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import orjson

from gateway.messages import Message, ToolCall

INTERRUPTED = "[interrupted: this call did not end, and it is not known whether it had an effect]"
NO_ANSWER = "[no answer was given]"


def repair(history: Sequence[Message]) -> list[Message]:
    """Return the history with lost results filled in, stray ones dropped, and neighbours of one role joined."""
    results = _by_call(history)
    repaired: list[Message] = []
    for message in history:
        if message.role in {"tool", "system"}:
            continue
        _add(repaired, message)
        if message.calls:
            repaired += [results.get((id(message), call.id)) or unanswered(call) for call in message.calls]
    while repaired and repaired[0].role != "user":
        del repaired[0]
    return repaired


def unanswered(call: ToolCall) -> Message:
    """Return the result that stands for a call that was cut off."""
    return Message("tool", INTERRUPTED, call_id=call.id, name=call.name)


def _by_call(history: Sequence[Message]) -> dict[tuple[int, str], Message]:
    """Find the first result of each call after the message that called, before anybody else speaks."""
    found: dict[tuple[int, str], Message] = {}
    caller: Message | None = None
    for message in history:
        if message.role != "tool":
            caller = message
        elif caller is not None and any(call.id == message.call_id for call in caller.calls):
            found.setdefault((id(caller), message.call_id), message)
    return found


def _add(repaired: list[Message], message: Message) -> None:
    last = repaired[-1] if repaired else None
    if last is None:
        repaired.append(message)
    elif last.role == message.role == "user":
        repaired[-1] = _joined(last, message)
    elif last.role == "assistant" and message.role == "assistant" and not last.calls:
        repaired[-1] = replace(_joined(last, message), calls=message.calls)
    elif last.role == "tool" and message.role == "user":
        repaired += [Message("assistant", NO_ANSWER), message]
    else:
        repaired.append(message)


def _joined(first: Message, second: Message) -> Message:
    text = "\n\n".join(part for part in (first.text, second.text) if part)
    shown = "\n\n".join(part for part in (first.content, second.content) if part)
    return replace(first, text=text, api_content=None if shown == text else shown)


def later_half(history: Sequence[Message]) -> list[Message]:
    """Return roughly the newer half, beginning with a user's message; empty where nothing can be left out."""
    starts = [index for index, message in enumerate(history) if message.role == "user"]
    later = [index for index in starts if index >= max(1, len(history) // 2)]
    return list(history[later[0] :]) if later else []


def distinct(calls: Sequence[ToolCall], before: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Give every call of a turn an id of its own; some models begin to count anew with every answer."""
    used = {call.id for message in before for call in message.calls}
    named: list[ToolCall] = []
    for call in calls:
        id, number = call.id or "call", 1
        while id in used or not id:
            number += 1
            id = f"{call.id or 'call'}_{number}"
        used.add(id)
        named.append(replace(call, id=id))
    return tuple(named)


def is_object(arguments: str) -> bool:
    """Say whether the arguments of a call are what every provider accepts on a replay: the JSON of an object."""
    try:
        return isinstance(orjson.loads(arguments), dict)
    except orjson.JSONDecodeError:
        return False
