from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from gateway.agent.tools.workspace import WorkspaceSettings, workspace_for
from gateway.errors import ConfigError
from gateway.types import Address

SESSION = "20261129_230505_0a1b2c3d"


def test_each_session_has_a_folder_of_its_own_that_nobody_else_may_enter(tmp_path: Path) -> None:
    home = tmp_path / "home"
    one, other = (workspace_for(home, WorkspaceSettings(), session) for session in (SESSION, SESSION + "x"))
    assert one == home / "workspaces" / SESSION
    assert one != other
    for folder in (one, other, one.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (one / "kept").touch()
    assert workspace_for(home, WorkspaceSettings(), SESSION) == one
    assert (one / "kept").exists()


@pytest.mark.parametrize(
    "session", ["", ".", "..", ".hidden", "-x", "a/b", "../x", "a\0b", "a b", "é", "a\n", "x" * 129, "\ud83d", "a:b"]
)
def test_an_id_that_is_no_safe_name_is_refused(tmp_path: Path, session: str) -> None:
    with pytest.raises(ValueError, match="not a session id"):
        workspace_for(tmp_path, WorkspaceSettings(), session)
    assert list(tmp_path.iterdir()) == []


def test_the_sessions_of_a_chat_share_a_folder_where_the_settings_say_so(tmp_path: Path) -> None:
    settings = WorkspaceSettings(per="chat")
    chats = [
        Address(platform="fake", chat="1"),
        Address(platform="fake", chat="../1"),
        Address(platform="fake", chat="1", thread=".."),
        Address(platform="fake", chat="漢" * 200),
        Address(platform="fake", chat="漢" * 199),
    ]
    folders = [workspace_for(tmp_path, settings, SESSION, chat=chat) for chat in chats]
    assert len(set(folders)) == len(chats)
    assert {folder.resolve().parent for folder in folders} == {(tmp_path / "workspaces").resolve()}
    assert workspace_for(tmp_path, settings, "another", chat=chats[0]) == folders[0]
    with pytest.raises(ValueError, match="needs the chat"):
        workspace_for(tmp_path, settings, SESSION)


def test_all_sessions_of_a_profile_share_a_folder_where_the_settings_say_so(tmp_path: Path) -> None:
    settings = WorkspaceSettings(per="profile", dir=str(tmp_path / "elsewhere"))
    assert workspace_for(tmp_path / "home", settings, SESSION) == tmp_path / "elsewhere" / "profile"
    assert workspace_for(tmp_path / "home", settings, "b") == tmp_path / "elsewhere" / "profile"


def test_a_fixed_folder_is_taken_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    settings = WorkspaceSettings(per="fixed", dir=str(folder))
    with pytest.raises(ConfigError, match="is not a folder"):
        workspace_for(tmp_path / "home", settings, SESSION)
    folder.mkdir(mode=0o755)
    assert workspace_for(tmp_path / "home", settings, SESSION) == folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


@pytest.mark.parametrize("where", ["", "home", "link"])
def test_a_workspace_that_holds_the_home_and_its_secrets_is_refused(tmp_path: Path, where: str) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    for settings in (
        WorkspaceSettings(per="fixed", dir=str(tmp_path / where)),
        WorkspaceSettings(read_dirs=(tmp_path / where,)),
    ):
        with pytest.raises(ConfigError, match="holds the home"):
            workspace_for(tmp_path / "home", settings, SESSION)


def test_a_home_that_cannot_be_written_raises_what_the_system_says(tmp_path: Path) -> None:
    (tmp_path / "workspaces").touch()
    with pytest.raises(OSError, match="workspaces"):
        workspace_for(tmp_path, WorkspaceSettings(), SESSION)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"dir": "relative"}, "absolute path"),
        ({"dir": "~nobody-here/x"}, "absolute path"),
        ({"read_dirs": ["~nobody-here"]}, "absolute paths, unlike ~nobody-here"),
        ({"read_dirs": ["relative"]}, "absolute paths, unlike relative"),
        ({"per": "fixed"}, "per: fixed needs a dir"),
        ({"per": "user"}, "'session', 'chat', 'profile' or 'fixed'"),
        ({"directory": "/x"}, "Extra inputs"),
    ],
)
def test_settings_that_cannot_be_are_refused(values: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        WorkspaceSettings.model_validate(values)
