"""What came of calls of the memory tool, read from its answers. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from gateway.agent.tools.notes import NAME
from gateway.messages import Message


def said(answer: str) -> dict[str, Any]:
    """Read an answer of the tool; whatever is not its JSON says nothing."""
    try:
        told = json.loads(answer)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def saved(added: Sequence[Message]) -> bool:
    """Say whether a turn has written notes, not only read them or asked for approval."""
    answers = (said(message.text) for message in added if message.role == "tool" and message.name == NAME)
    return any(told.get("success") is True and told.get("done") is True for told in answers)


def steps(added: Sequence[Message]) -> int:
    """Count the answers of a turn that called tools."""
    return sum(bool(message.calls) for message in added)
