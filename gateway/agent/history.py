"""
Makes a history one that a strict provider accepts. Pure, and the identity on a history that already is.

The rules: the first message is a user's and the last an assistant's answer; user and assistant alternate, and no
message is empty; each call has an id of its own in the whole history, and exactly one result; the results follow the
message that called, in the order of its calls. The system's prompt is the session's, not the history's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set
from dataclasses import replace

import orjson

from gateway.messages import Message, ToolCall
from gateway.types import clean

INTERRUPTED = "[interrupted: this call did not end, and it is not known whether it had an effect]"
NOT_BEGUN = "[not run: the turn ended before this call began]"
NO_ANSWER = "[no answer was given]"

_Results = dict[tuple[int, str], list[Message]]


def repair(history: Sequence[Message]) -> list[Message]:
    """Return the history with lost results filled in, stray ones dropped, and neighbours of one role joined."""
    results, used, repaired = _by_call(history), set[str](), list[Message]()
    for place, message in enumerate(history):
        if message.role in {"tool", "system"} or not (message.calls or message.content.strip()):
            continue
        if not repaired and message.role != "user":
            continue
        calls = _own_ids(message.calls, used)
        _add(repaired, message if calls == message.calls else replace(message, calls=calls))
        for old, new in zip(message.calls, calls, strict=True):
            repaired.append(_result(results[place, old.id], new))
    if repaired and repaired[-1].role != "assistant":
        repaired.append(Message("assistant", NO_ANSWER))
    return repaired


def _by_call(history: Sequence[Message]) -> _Results:
    """Find the results of each call after the message that called, before anybody else speaks."""
    found: _Results = defaultdict(list)
    caller = -1
    for place, message in enumerate(history):
        if message.role == "tool":
            found[caller, message.call_id].append(message)
        elif message.role != "system":
            caller = place
    return found


def _result(found: list[Message], call: ToolCall) -> Message:
    """Take the first result that is left for a call."""
    if not found:
        return unanswered(call)
    result = found.pop(0)
    return result if result.call_id == call.id else replace(result, call_id=call.id)


def unanswered(call: ToolCall, *, begun: bool = True) -> Message:
    """Return the result that stands for a call that was cut off, or never `begun`."""
    return Message("tool", INTERRUPTED if begun else NOT_BEGUN, call_id=call.id, name=call.name)


def closing(said: Sequence[Message], begun: Set[str]) -> list[Message]:
    """Return a result for every call of an ended turn that has none; `begun` are the ids of those that were started."""
    results = {message.call_id for message in said}
    calls = [call for message in said for call in message.calls if call.id not in results]
    return [unanswered(call, begun=call.id in begun) for call in calls]


def _add(repaired: list[Message], message: Message) -> None:
    last = repaired[-1] if repaired else None
    if last is None:
        repaired.append(message)
    elif last.role == message.role:
        repaired[-1] = _joined(last, message)
    elif last.role == "tool" and message.role == "user":
        repaired += [Message("assistant", NO_ANSWER), message]
    else:
        repaired.append(message)


def _joined(first: Message, second: Message) -> Message:
    text = "\n\n".join(part for part in (first.text, second.text) if part)
    shown = "\n\n".join(part for part in (first.content, second.content) if part)
    return replace(first, text=text, api_content=None if shown == text else shown, calls=second.calls)


def later_half(history: Sequence[Message]) -> list[Message]:
    """Return roughly the newer half, beginning with a user's message; empty where nothing can be left out."""
    starts = [index for index, message in enumerate(history) if message.role == "user"]
    later = [index for index in starts if index >= max(1, len(history) // 2)]
    return list(history[later[0] :]) if later else []


def distinct(calls: Sequence[ToolCall], before: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Give every call an id that none had before; some models begin to count anew with every answer."""
    cleaned = [replace(call, id=clean(call.id), name=clean(call.name)) for call in calls]
    return _own_ids(cleaned, {call.id for message in before for call in message.calls})


def _own_ids(calls: Sequence[ToolCall], used: set[str]) -> tuple[ToolCall, ...]:
    named: list[ToolCall] = []
    for call in calls:
        id, number = call.id or "call", 1
        while id in used:
            number += 1
            id = f"{call.id or 'call'}_{number}"
        used.add(id)
        named.append(call if id == call.id else replace(call, id=id))
    return tuple(named)


def is_object(arguments: str) -> bool:
    """Say whether the arguments of a call are what every provider accepts on a replay: the JSON of an object."""
    try:
        return isinstance(orjson.loads(arguments), dict)
    except orjson.JSONDecodeError:
        return False
