"""The conversation as a review is shown it: all of it, or a digest of its beginning and its end as it was. Pure.

In: a history that a strict provider accepts, and how many tokens it may have. Out: another one.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateway.agent.history import repair
from gateway.llm.tokens.messages import estimate
from gateway.llm.tokens.text import estimate_text
from gateway.messages import Message

TAIL = 24
"""Messages of a digest that stay as they were; the number is the reference's, as are the lengths of lines."""
PERSON_CHARS, AGENT_CHARS = 300, 200
HEAD = "[Earlier conversation digest: the person's messages and yours, cut short, oldest first]"


def tokens(history: Sequence[Message]) -> int:
    """Return about how many tokens messages take."""
    return sum(map(estimate, history))


def replayed(history: Sequence[Message], room: int) -> list[Message]:
    """Return the history as it is, or its digest where it has more than `room` tokens."""
    return list(history) if tokens(history) <= room else digest(history, room)


def digest(history: Sequence[Message], room: int) -> list[Message]:
    """Return the last messages as they are, behind the earlier ones cut short, in at most about `room` tokens."""
    start = max(0, len(history) - TAIL)
    while start > 0 and history[start].role == "tool":  # a result goes with what called for it
        start -= 1
    while start < len(history) and tokens(history[start:]) > room * 2 // 3:
        start += (len(history) - start + 1) // 2
    while start < len(history) and history[start].role == "tool":
        start += 1
    tail = history[start:]
    lines = _newest([line for message in history[:start] if (line := _line(message))], room - tokens(tail))
    earlier = [Message("user", "\n".join([HEAD, *lines]))] if lines else []
    return repair([*earlier, *tail])


def _line(message: Message) -> str:
    """Return a message in a line; results are left out, since the names of the calls say what was done."""
    text = " ".join(message.text.split())
    if message.role == "user":
        return f"Person: {_cut(text, PERSON_CHARS)}"
    if message.role != "assistant":
        return ""
    called = f"[called: {', '.join(dict.fromkeys(call.name for call in message.calls))}]" if message.calls else ""
    return " ".join(part for part in ("You:", _cut(text, AGENT_CHARS), called) if part)


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[:chars]}…"


def _newest(lines: Sequence[str], room: int) -> list[str]:
    """Return as many of the last lines as there is room for."""
    kept: list[str] = []
    for line in reversed(lines):
        room -= estimate_text(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept[::-1]
