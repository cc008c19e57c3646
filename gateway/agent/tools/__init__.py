"""What the agent can do by itself.

In: the settings of the workspace and the terminal. Out: one set of tools, the same for every session; what differs
by session (its folder, its role) comes with the `Turn` of each call.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gateway.agent.tools.clock import clock_tool
from gateway.agent.tools.files import file_tools
from gateway.agent.tools.shell import Terminal, TerminalSettings
from gateway.agent.tools.workspace import WorkspaceSettings
from gateway.contracts.tool import Tools
from gateway.toolkit.toolset import FunctionTools


def builtin_tools(
    *,
    workspace: WorkspaceSettings,
    terminal: TerminalSettings,
    zone: str = "UTC",
    named: Mapping[str, Path] | None = None,
) -> Tools:
    """
    Return the tools that need nothing but the machine.

    `zone` is the IANA time zone of an owner who named none, `named` are folders that can be read by these names.
    """
    shell = () if terminal.backend == "none" else (Terminal(terminal, named).tool(),)
    return FunctionTools((*file_tools(workspace.read_dirs, named or {}), clock_tool(zone), *shell))
