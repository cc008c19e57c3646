"""Tool: a function the model may call, and a set of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gateway.messages import ToolCall
from gateway.types import Role, Turn


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """
    What the model is told of a tool, and what we know of it.

    `parameters` is a JSON Schema object. `parallel`: safe to run beside others of its kind. `repeatable`: running it
    twice does no harm, so that a call cut off by a crash may run again; of all others a crash leaves "outcome
    unknown". `role`: the least role that may use it.
    """

    name: str
    description: str
    parameters: dict[str, Any] = field(default_factory=dict)
    parallel: bool = False
    repeatable: bool = False
    role: Role = Role.GUEST


class Tools(ABC):
    """
    What the model may do in one turn.

    Narrowing, approval and auditing are wrappers over this contract, not flags in it.
    """

    @abstractmethod
    def specs(self) -> Sequence[ToolSpec]:
        """Return the tools offered, in an order that never changes within a process."""

    @abstractmethod
    async def call(self, call: ToolCall, turn: Turn) -> str:
        """Return the answer for the model or raise `ToolError` with a sentence that says what to do."""
