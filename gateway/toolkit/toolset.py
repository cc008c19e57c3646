"""Sets of tools.

In: tools, or sets of them. Out: `Tools`, whose specs are in the order of their names, so that the same tools are
the same bytes in every process, and the cache of the endpoint holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from gateway.contracts.tool import Tools, ToolSpec
from gateway.errors import ToolError
from gateway.messages import ToolCall
from gateway.toolkit.arguments import unknown_tool
from gateway.toolkit.function import Tool
from gateway.types import Role, Turn

T = TypeVar("T")


class FunctionTools(Tools):
    """Tools made one by one. A turn without the role is refused."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        listed = _by_name((tool.spec.name, tool) for tool in tools)
        self._tools = listed
        self._specs = tuple(tool.spec for tool in listed.values())

    def specs(self) -> Sequence[ToolSpec]:
        return self._specs

    async def call(self, call: ToolCall, turn: Turn) -> str:
        if (tool := self._tools.get(call.name)) is None:
            raise unknown_tool(call.name, self._tools)
        _check(tool.spec, turn.role)
        return await tool.run(call, turn)


class Union(Tools):
    """Several sets as one."""

    def __init__(self, *parts: Tools) -> None:
        listed = _by_name((spec.name, (spec, part)) for part in parts for spec in part.specs())
        self._owners = {name: part for name, (_, part) in listed.items()}
        self._specs = tuple(spec for spec, _ in listed.values())

    def specs(self) -> Sequence[ToolSpec]:
        return self._specs

    async def call(self, call: ToolCall, turn: Turn) -> str:
        if (owner := self._owners.get(call.name)) is None:
            raise unknown_tool(call.name, self._owners)
        return await owner.call(call, turn)


class Narrowed(Tools):
    """
    What one role may use: the rest is not offered, and refused when it is called all the same.

    Made once per role and kept, so that all turns of a role send the same bytes.
    """

    def __init__(self, tools: Tools, role: Role) -> None:
        self._tools, self._role = tools, role
        self._known = {spec.name: spec for spec in tools.specs()}
        self._specs = tuple(spec for spec in tools.specs() if role.covers(spec.role))

    def specs(self) -> Sequence[ToolSpec]:
        return self._specs

    async def call(self, call: ToolCall, turn: Turn) -> str:
        if (spec := self._known.get(call.name)) is None:
            raise unknown_tool(call.name, (spec.name for spec in self._specs))
        _check(spec, self._role)
        _check(spec, turn.role)
        return await self._tools.call(call, turn)


def _check(spec: ToolSpec, role: Role) -> None:
    if not role.covers(spec.role):
        raise ToolError(f"{spec.name} needs the role {spec.role}; the people of this turn have the role {role}")


def _by_name(pairs: Iterable[tuple[str, T]]) -> dict[str, T]:
    listed: dict[str, T] = {}
    for name, value in pairs:
        if name in listed:
            raise ValueError(f"two tools are named {name}")
        listed[name] = value
    return dict(sorted(listed.items()))
