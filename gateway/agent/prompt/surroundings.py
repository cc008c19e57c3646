"""Where the agent works and what it can do: the folder and the sandbox of its tools, and what there is no tool for.

Nothing of the machine itself is named: neither a path of it nor who runs the gateway.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from gateway.agent.prompt.prompt import Section, Tier
from gateway.agent.tools.named import SKILLS

FILES = ("read_file", "write_file")
Per = Literal["session", "chat", "profile", "fixed"]
OWNERS: dict[Per, str] = {
    "session": "this conversation alone",
    "chat": "all conversations of this chat",
    "profile": "all conversations of this agent",
    "fixed": "a project that exists outside of this conversation",
}
"""Whose the workspace is, by `workspace.per`."""
ABILITIES = {
    "write_file": "read and write files in the workspace",
    "terminal": "run shell commands",
    "memory": "keep notes for later conversations",
    "session_search": "look up earlier conversations",
    "skill_view": "follow skills",
    "web_search": "search the web",
    "web_extract": "read web pages",
    "vision_analyze": "look at pictures",
    "text_to_speech": "answer with your voice",
    "cronjob": "do something at a later time or regularly",
    "send_message": "write to other chats",
}
"""What people expect an assistant to do, by the tool that does it."""
SENDING = "send files and pictures"
CHAT = "This is a gateway between chat programs and you. Commands that begin with / are the person's; /help lists them."


@dataclass(frozen=True, slots=True)
class Surroundings:
    """
    `folder` is the workspace as the tools know it, `per` whose it is (as in `workspace.per`).

    `backend` names the sandbox of the terminal, and `network` whether commands reach the network.
    """

    folder: str
    per: Per
    backend: str = ""
    network: bool = False


def environment(tools: Collection[str], around: Surroundings) -> Section | None:
    """Return what a model with file tools or a terminal is told of where they work; None for one without."""
    if not any(name in tools for name in (*FILES, "terminal")):
        return None
    lines = [
        "# Environment",
        f"Your workspace is the folder {around.folder}; it belongs to {OWNERS[around.per]}. Paths are relative to it.",
    ]
    if "skill_view" in tools:
        lines.append(f"The files of skills lie in {SKILLS}, and can only be read.")
    if "terminal" in tools:
        reach = "They reach the network." if around.network else "They reach no network."
        lines.append(
            f"Commands run with bash on Linux in a sandbox ({around.backend}) that holds the system's programs and"
            f" these folders, and nothing else of the machine. {reach} Each call begins in the workspace, in a process"
            " of its own: what it leaves running ends with it, and files outside of the workspace are gone."
        )
    origin = ", ".join(["workspace", *(["terminal"] if "terminal" in tools else [])])
    return Section("environment", origin, "\n".join(lines), Tier.STABLE)


def capabilities(tools: Collection[str], *, sends_files: bool, people: bool) -> Section:
    """
    Return what this deployment lets the model do and what not.

    `sends_files` says that the platform takes files from us, `people` that somebody is there to read and to answer.
    """
    can = [text for name, text in ABILITIES.items() if name in tools]
    cannot = [text for name, text in ABILITIES.items() if name not in tools]
    (can if sends_files else cannot).append(SENDING)
    lines = ["# What is possible here", *([CHAT] if people else [])]
    if can:
        lines.append(f"You can {_listed(can)}.")
    lines.append(
        f"There is no way for you here to {_listed(cannot, 'or')}."
        + (" When somebody asks for that, say so; do not promise it." if people else " Do not count on it.")
        if cannot
        else ""
    )
    return Section("capabilities", "the tools of this session", "\n".join(filter(None, lines)), Tier.STABLE)


def _listed(words: Collection[str], joined: str = "and") -> str:
    *first, last = words
    return f"{', '.join(first)} {joined} {last}" if first else last
