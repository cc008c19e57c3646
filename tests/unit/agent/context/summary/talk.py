"""Conversations that the tests sum up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from gateway.agent.context.summary.job import Job
from gateway.contracts.context import Row
from gateway.llm.tokens.messages import Estimates
from gateway.llm.tokens.text import estimate_text
from gateway.log.redact import Redactor
from gateway.messages import Message, ToolCall

SECRET = "correct-horse-battery"
REDACT = Redactor([SECRET])
COUNT = estimate_text


def rows(*messages: Message) -> list[Row]:
    return [Row(number, message) for number, message in enumerate(messages, 1)]


def user(text: str) -> Message:
    return Message("user", text)


def agent(text: str) -> Message:
    return Message("assistant", text)


def call(id: str, name: str, result: str, text: str = "", **arguments: object) -> list[Message]:
    """A call of a tool and what came of it."""
    called = ToolCall(id, name, json.dumps(arguments, ensure_ascii=False))
    return [Message("assistant", text, (called,)), Message("tool", result, call_id=id, name=name)]


def job(said: Sequence[Row], **other: object) -> Job:
    """A job of these rows, with room enough."""
    tokens = list(Estimates().each([row.message for row in said]))
    return replace(Job(said, tokens, 2_000, 8_000), **other)  # type: ignore[arg-type]


def long_talk(turns: int = 40, words: str = "The report has to say what was found, and why.") -> list[Row]:
    """A talk long enough that any summary of it is shorter."""
    said = [message for n in range(turns) for message in (user(f"ask {n}: {words}"), agent(f"answer {n}: {words * 3}"))]
    return rows(*said)
