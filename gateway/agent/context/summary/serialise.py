"""Messages as the text that a model reads to sum them up. Pure, and linear in the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from gateway.agent.context.summary.clip import clip
from gateway.agent.context.summary.spoken import said
from gateway.contracts.context import Row
from gateway.messages import ToolCall

Redact = Callable[[str], str]
"""Takes secrets out of a text: `gateway.log.redact.Redactor`."""

MOST, HEAD = 6_000, 4_000
"""Characters of a message that are read, and how many of them are its beginning; the reference's, like those below."""
ARGUMENTS, ARGUMENTS_HEAD = 1_500, 1_200
"""Of the arguments of a call; longer ones are cut to the latter."""
CALLS = 6_000
"""Characters of all calls of one message."""

_LABELS = {"user": "USER", "assistant": "ASSISTANT", "system": "SYSTEM"}
_MEDIA = re.compile(r"MEDIA:\S+")
_IMAGE = re.compile(r"data:image/[\w.+-]{1,40};base64,[A-Za-z0-9+/=]+")
_POSING = re.compile(r"^(\[(?:USER|ASSISTANT|SYSTEM|TOOL RESULT[^\]\n]{0,200})\]:)", re.MULTILINE)
"""A line of a message that would pass for the beginning of another one."""


def serialise(rows: Iterable[Row], redact: Redact) -> str:
    """
    Return the messages as one text, a block for each, with a blank line between them.

    What stands for earlier messages is left out: it is the previous summary, not a turn. Secrets, thoughts and what
    would send a file or an image again are taken out before anything is cut.
    """
    return "\n\n".join(block(row, redact) for row in rows if not row.summary)


def block(row: Row, redact: Redact) -> str:
    """Return one message as ``[USER]: …``, ``[ASSISTANT]: …`` with its calls below, or ``[TOOL RESULT id]: …``."""
    message = row.message
    label = f"TOOL RESULT {message.call_id}" if message.role == "tool" else _LABELS[message.role]
    text = clip(_harmless(redact(said(message))), MOST, HEAD)
    calls = _calls(message.calls, redact)
    return f"[{label}]: {text}" + (f"\n{calls}" if calls else "")


def _calls(calls: Iterable[ToolCall], redact: Redact) -> str:
    lines = "\n".join(f"  {call.name}({_arguments(call, redact)})" for call in calls)
    return f"[Tool calls:\n{clip(lines, CALLS)}\n]" if lines else ""


def _arguments(call: ToolCall, redact: Redact) -> str:
    arguments = _harmless(redact(call.arguments or ""))
    return arguments if len(arguments) <= ARGUMENTS else f"{arguments[:ARGUMENTS_HEAD]}..."


def _harmless(text: str) -> str:
    if "MEDIA:" in text:
        text = _MEDIA.sub("[media attachment]", text)
    if "data:image/" in text:
        text = _IMAGE.sub("[image]", text)
    return _POSING.sub(r"| \1", text) if "]:" in text else text
