"""What came of calls of memory and skill_manage, read from their answers. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gateway.agent.review.report import KeptSkill
from gateway.agent.tools.notes import NAME
from gateway.agent.tools.skills import MANAGE
from gateway.messages import Message, ToolCall


def said(answer: str) -> dict[str, Any]:
    """Read an answer of a tool, or what it was called with; whatever is not its JSON says nothing."""
    try:
        told = json.loads(answer)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def saved(added: Sequence[Message]) -> bool:
    """Say whether a turn has written notes, not only read them or asked for approval."""
    answers = (said(message.text) for message in added if message.role == "tool" and message.name == NAME)
    return any(told.get("success") is True and told.get("done") is True for told in answers)


def managed(added: Sequence[Message]) -> bool:
    """Say whether a turn has changed skills, or wants to."""
    answers = (said(message.text) for message in added if message.role == "tool" and message.name == MANAGE)
    return any(told.get("success") is True for told in answers)


def kept_skill(call: ToolCall, told: Mapping[str, Any]) -> KeptSkill | None:
    """Return the skill that a call has changed, or None for one that came to nothing."""
    if call.name != MANAGE or told.get("success") is not True:
        return None
    wanted = said(call.arguments)
    name = str(wanted.get("name") or "").strip() or "?"
    return KeptSkill(name, str(wanted.get("action") or ""), str(told.get("pending_id") or ""))


def steps(added: Sequence[Message]) -> int:
    """Count the answers of a turn that called tools."""
    return sum(bool(message.calls) for message in added)
