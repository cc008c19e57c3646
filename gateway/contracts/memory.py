"""MemoryProvider: a service that remembers beyond the notes, and is asked before each turn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.contracts.resource import Resource
from gateway.contracts.tool import ToolSpec
from gateway.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """
    Whose memory a call is about, with every call: a provider keeps no notion of a current person or session.

    `owner` is whose memory it is (a person, a group or the home; see `gateway.agent.memory.scopes`), and the only thing
    by which what is remembered may be found again: two owners recall nothing of each other. `user_id` is the person who
    speaks, `chat_id` the written address of the chat, `gateway_session_key` the lane. `context` is ``primary``, or what
    a run without a person is (``cron``, ``subagent``, ``flush``); writes belong to ``primary`` alone.
    """

    owner: str
    user_id: str
    chat_id: str
    gateway_session_key: str
    session_id: str
    platform: str
    user_name: str = ""
    model: str = ""
    context: str = "primary"


class MemoryProvider(Resource, ABC):
    """
    The hooks of the reference's `MemoryProvider`, async, each told whose memory it is about.

    Made without touching the network, where a `ConfigError` says what is missing; entered once per process, left after
    what was queued has been written. One object serves every session, many at the same time. Only `name`, `specs`,
    `prefetch` and `sync_turn` must be written. A hook may raise anything: the manager logs it, goes on without it, and
    leaves a provider alone for a while that fails again and again. Hooks are awaited with a time limit and may be
    cancelled.
    """

    name: str

    @abstractmethod
    def specs(self) -> Sequence[ToolSpec]:
        """Return the tools it offers, the same all its life."""

    async def call(self, name: str, arguments: Mapping[str, Any], scope: Scope) -> str:
        """Answer a call of one of its tools, or raise `ToolError` with a sentence that says what to do."""
        raise NotImplementedError(f"{self.name} has no tool {name}")

    def system_prompt_block(self) -> str:
        """Return what the system prompt says of it: the same text all its life."""
        return ""

    async def on_turn_start(self, number: int, message: str, scope: Scope) -> None:
        """Hear that a turn begins, before `prefetch`; `number` counts the session's user messages from 1."""
        return

    @abstractmethod
    async def prefetch(self, query: str, scope: Scope) -> str:
        """Return what is remembered that bears on the message of this turn, "" for nothing. Once per turn."""

    async def queue_prefetch(self, query: str, scope: Scope) -> None:
        """Begin to recall for the next turn, after one has ended."""
        return

    @abstractmethod
    async def sync_turn(self, user: str, assistant: str, scope: Scope) -> None:
        """Learn from a completed turn, once it is stored: what the person wrote and what was answered."""

    async def on_pre_compress(self, messages: Sequence[Message], scope: Scope) -> str:
        """Look at messages that a compression is about to hide; return what its summary must keep."""
        return ""

    async def on_memory_write(
        self, action: str, target: str, content: str, scope: Scope, metadata: Mapping[str, str]
    ) -> None:
        """Hear of a write of the notes that took effect; ``old_text`` is in `metadata` where there was one."""
        return

    async def on_session_end(self, messages: Sequence[Message], scope: Scope) -> None:
        """Hear that a conversation is over: /new, a reset. Never after each turn."""
        return

    async def on_session_switch(self, new_session_id: str, scope: Scope, *, reason: str) -> None:
        """
        Hear that the conversation of `scope` goes on under another id.

        `reason` is new, resume, branch, reset or compression.
        """
        return

    async def on_session_reset(self, scope: Scope) -> None:
        """Hear that the conversation of `scope` was emptied."""
        return

    async def on_delegation(self, task: str, result: str, scope: Scope, *, child_session_id: str) -> None:
        """Hear what a sub-agent was asked and what it brought."""
        return

    async def forget(self, scope: Scope) -> int:
        """Erase all that is remembered of the owner; return how many things, or raise `NotImplementedError`."""
        raise NotImplementedError(f"{self.name} cannot erase what it remembers of one owner")
