"""terminal.

In: a shell command, the workspace of the turn. Out: what the command wrote and how it ended; or why this machine
runs none, and what to do about it. For owners only.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from gateway.agent.tools.process import Ended, run
from gateway.agent.tools.sandbox import Bubblewrap
from gateway.errors import ToolError
from gateway.toolkit.function import Tool, tool
from gateway.toolkit.limits import narrow
from gateway.types import Role, Turn

LONGEST_COMMAND = 100_000  # bytes; Linux takes 131,071 in one argument
WIDTH = 2_000  # characters of a line of output, by the reference


class TerminalSettings(BaseModel):
    """Where shell commands of an owner run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    backend: Literal["bubblewrap", "docker", "podman", "none"] = "bubblewrap"
    """What keeps a command in the workspace; `none` offers no terminal at all."""
    image: str = ""
    """The container image for docker and podman."""
    network: bool = False
    """Whether commands reach the network."""
    timeout_seconds: float = Field(default=120, gt=0, le=86_400)
    """How long a command may run, and does where the call asks for no less."""


class Terminal:
    """The terminal of all sessions: each call is a sandbox of its own, in the turn's workspace."""

    def __init__(self, settings: TerminalSettings, named: Mapping[str, Path] | None = None) -> None:
        self._settings = settings
        self._sandbox = Bubblewrap(network=settings.network, named=named)

    async def problem(self) -> str:
        """Say why no command can run here and what to do, or ""; for the tool and for doctor."""
        if self._settings.backend == "bubblewrap":
            return await self._sandbox.problem()
        return f"terminal.backend {self._settings.backend} is not supported in this version; set bubblewrap or none"

    def tool(self) -> Tool:
        return tool(name="terminal", role=Role.OWNER)(self.run)

    async def run(
        self,
        command: str,
        turn: Turn,
        timeout: Annotated[int, Field(ge=0)] = 0,  # noqa: ASYNC109 (the name that models know)
    ) -> str:
        """
        Run a shell command in the workspace and return what it prints.

        It gets no input and sees no files but the workspace and the system's programs; what it leaves running ends
        with it.

        Args:
            command: The command, for bash.
            timeout: Seconds after which it is stopped; 0 for as long as the settings allow.
        """
        if not turn.workspace:
            raise ToolError("this conversation has no workspace folder")
        if not command.strip() or "\0" in command or len(command.encode()) > LONGEST_COMMAND:
            raise ToolError("a command is 1 to 100,000 bytes long, without NUL; write a longer script to a file")
        if problem := await self.problem():
            raise ToolError(f"no command can be run here: {problem}")
        most = self._settings.timeout_seconds
        ended = await run(self._sandbox.command(Path(turn.workspace), command), seconds=min(timeout or most, most))
        return _told(ended)


def _told(ended: Ended) -> str:
    output = narrow(ended.output, width=WIDTH).strip("\n")
    end = ended.stopped or (f"exit code {ended.code}" if ended.code else "")
    return "\n".join(part for part in (output or "(no output)", f"[{end}]" if end else "") if part)
