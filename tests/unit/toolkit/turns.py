"""Turns and calls for the tests of tools."""

from __future__ import annotations

import json
from pathlib import Path

from gateway.messages import ToolCall
from gateway.types import Address, Event, Role, Sender, SessionKey, Turn


def a_turn(role: Role = Role.OWNER, workspace: Path | str = "") -> Turn:
    event = Event(id="1", origin=Address(platform="fake", chat="7"), sender=Sender("7"), text="hello")
    key = SessionKey("agent:main:fake:dm:7")
    return Turn(id="t1", session=key, session_id="s1", events=(event,), role=role, workspace=str(workspace))


def a_call(name: str, **arguments: object) -> ToolCall:
    return ToolCall("c1", name, json.dumps(arguments))
