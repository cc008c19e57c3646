"""The folder a session works in.

In: the home, the settings, a session's id. Out: a folder of the session's own (or one shared, as the settings say),
made if it was not there. The tools take it from `Turn.workspace` and reach nothing outside.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from gateway.errors import ConfigError
from gateway.types import Address, escape

INSIDE = "/workspace"
"""What every workspace is called where the agent works: the prompt, its tools and the sandbox tell no path of ours."""
SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
LONGEST_NAME = 255  # bytes, on every file system we know


class WorkspaceSettings(BaseModel):
    """Where files of a conversation lie, and what else may be read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dir: str = ""
    """The folder that holds the workspaces; empty for `workspaces` in the home. With `per: fixed`, the workspace."""
    per: Literal["session", "chat", "profile", "fixed"] = "session"
    """Who shares a folder: nobody (session), all sessions of one chat, all of the home, or `dir` as it is (fixed)."""
    read_dirs: tuple[Path, ...] = ()
    """Folders outside the workspace that may be read, as absolute paths."""

    @field_validator("dir")
    @classmethod
    def _absolute(cls, value: str) -> str:
        if value and not os.path.isabs(os.path.expanduser(value)):
            raise ValueError("must be an absolute path")
        return value

    @field_validator("read_dirs")
    @classmethod
    def _all_absolute(cls, value: tuple[Path, ...]) -> tuple[Path, ...]:
        folders = tuple(Path(os.path.expanduser(folder)) for folder in value)  # which leaves ~nobody as it is
        if wrong := [str(folder) for folder in folders if not folder.is_absolute()]:
            raise ValueError(f"must be absolute paths, unlike {', '.join(wrong)}")
        return folders

    @model_validator(mode="after")
    def _fixed_somewhere(self) -> Self:
        if self.per == "fixed" and not self.dir:
            raise ValueError("per: fixed needs a dir")
        return self


def workspace_for(home: Path, settings: WorkspaceSettings, session_id: str, *, chat: Address | None = None) -> Path:
    """
    Return the session's folder; where it did not exist it is made for its owner alone (0700).

    `chat` is needed where `per` is chat. Raise `ValueError` for an id that is no safe name, `ConfigError` for settings
    that cannot be, `OSError` where the folder cannot be made.
    """
    if not SAFE.fullmatch(session_id):
        raise ValueError(f"not a session id: {session_id!r}")
    folder = folder_for(home, settings, session_id, chat)
    for reached in (folder, *settings.read_dirs):
        if home.resolve().is_relative_to(reached.resolve()):
            raise ConfigError(f"{reached} holds the home {home}, and with it our secrets", hint="choose another folder")
    if settings.per != "fixed":
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    elif not folder.is_dir():
        raise ConfigError(f"workspace.dir {folder} is not a folder", hint="make it, or choose another")
    return folder


def workspace_of(home: Path, settings: WorkspaceSettings, session_id: str) -> Path | None:
    """Return the folder that a session has for itself alone, whether it is there or not; None where it has none."""
    return folder_for(home, settings, session_id) if settings.per == "session" and SAFE.fullmatch(session_id) else None


def remove_folders(folders: Iterable[Path]) -> int:
    """Remove folders with all that is in them, following no link; return how many files there were."""
    gone = 0
    for folder in folders:
        if folder.is_symlink() or not folder.is_dir():
            continue
        gone += sum(len(files) for _, _, files in os.walk(folder))
        shutil.rmtree(folder, ignore_errors=True)
    return gone


def folder_for(home: Path, settings: WorkspaceSettings, session_id: str, chat: Address | None = None) -> Path:
    """Return what `workspace_for` makes, whether it is there or not."""
    top = Path(os.path.expanduser(settings.dir)) if settings.dir else home / "workspaces"
    if settings.per == "chat":
        if chat is None:
            raise ValueError("a workspace per chat needs the chat's address")
        return top / _name(chat)
    return {"session": top / session_id, "profile": top / "profile", "fixed": top}[settings.per]


def _name(chat: Address) -> str:
    """Name a chat's folder after its address, or the hash of it where that is longer than a name may be."""
    name = escape(str(chat))
    return name if len(name) <= LONGEST_NAME else sha256(name.encode()).hexdigest()
