"""What the agent can do by itself.

In: the settings of the workspace and the terminal. Out: one set of tools, the same for every session; what differs
by session (its folder, its role) comes with the `Turn` of each call.
"""

from __future__ import annotations

from gateway.agent.tools.clock import clock_tool
from gateway.agent.tools.files import file_tools
from gateway.agent.tools.shell import Terminal, TerminalSettings
from gateway.agent.tools.workspace import WorkspaceSettings
from gateway.contracts.tool import Tools
from gateway.toolkit.toolset import FunctionTools


def builtin_tools(*, workspace: WorkspaceSettings, terminal: TerminalSettings, zone: str = "UTC") -> Tools:
    """Return all tools we bring; `zone` is the IANA time zone of an owner who named none."""
    shell = () if terminal.backend == "none" else (Terminal(terminal).tool(),)
    return FunctionTools((*file_tools(workspace.read_dirs), clock_tool(zone), *shell))
