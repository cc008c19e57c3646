"""Where the home is, who may have it, and what is said when it cannot be used."""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from gateway.config import load
from gateway.errors import ConfigError
from gateway.home import Home, HomeInUse

NOBODY = 65534


@contextmanager
def an_ordinary_user(place: Path) -> Iterator[None]:
    """Work with the rights of somebody who is not root, for whom alone permissions mean something."""
    if os.geteuid() != 0:
        yield
        return
    for directory in place.parents:
        if directory.stat().st_mode & 0o777 == 0o700:  # pytest's, which only root may enter
            directory.chmod(0o755)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_the_home_given_wins_over_the_environment(tmp_path: Path) -> None:
    assert Home.find(tmp_path / "given", {"HERMES_HOME": "/elsewhere"}).path == tmp_path / "given"


def test_the_environment_names_the_home(tmp_path: Path) -> None:
    assert Home.find(None, {"HERMES_HOME": str(tmp_path)}).path == tmp_path


@pytest.mark.parametrize("environ", [{}, {"HERMES_HOME": ""}])
def test_without_a_name_the_home_is_the_reference_s(environ: dict[str, str]) -> None:
    assert Home.find(None, environ).path == Path("~/.hermes").expanduser()


def test_a_tilde_and_a_relative_name_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Home.find("~/bot", {}).path == Path("~/bot").expanduser()
    assert Home.find("sub/../bot", {}).path == tmp_path / "bot"


@pytest.mark.parametrize("name", ["東京 🤖", "مرحبا", "a b", "x" * 200])
def test_any_name_a_directory_can_have_is_a_home(tmp_path: Path, name: str) -> None:
    home = Home.find(tmp_path / name, {})
    home.create()
    assert (tmp_path / name).is_dir()


@pytest.mark.parametrize("name", ["a\0b", "~nobody-of-this-name/x"])
def test_a_name_that_is_none_is_one_sentence(name: str) -> None:
    with pytest.raises(ConfigError) as error:
        Home.find(name, {})
    assert "\n" not in str(error.value)


def test_a_home_of_a_state_database_beside_ours_names_both(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert (home.state_db.name, home.gateway_db.name) == ("state.db", "gateway.db")


def test_a_new_home_is_for_its_owner_only(tmp_path: Path) -> None:
    home = Home(tmp_path / "new" / "home")
    home.create()
    assert stat.S_IMODE(home.path.stat().st_mode) == 0o700
    assert list(home.path.iterdir()) == []


def test_a_home_that_exists_keeps_its_mode_and_its_files(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "SOUL.md").write_text("I am kind.")
    Home(tmp_path).create()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
    assert (tmp_path / "SOUL.md").read_text() == "I am kind."


def test_a_home_that_cannot_be_written_is_one_sentence_with_a_way_out(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.path.mkdir()
    home.path.chmod(0o555)
    with an_ordinary_user(home.path), pytest.raises(ConfigError) as error:
        home.create()
    assert str(error.value) == (
        f"the home {home.path} cannot be written: Permission denied; "
        "give it to this user, or name another with --home or HERMES_HOME"
    )


def test_a_file_in_place_of_the_home_is_said(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.path.write_text("")
    for use in (home.create, lambda: load(home.path, environ={})):
        with pytest.raises(ConfigError, match=f"^the home {home.path} is a file, not a directory; name a directory"):
            use()


def hold(path: Path, held: Event, leave: Event) -> None:
    with Home(path).lock():
        held.set()
        leave.wait()


def test_a_second_gateway_hears_who_is_there(tmp_path: Path) -> None:
    processes = multiprocessing.get_context("spawn")
    held, leave = processes.Event(), processes.Event()
    other = processes.Process(target=hold, args=(tmp_path, held, leave))
    other.start()
    try:
        assert held.wait(30)
        with pytest.raises(HomeInUse) as error, Home(tmp_path).lock():
            pass
        assert f"another gateway runs on this home: pid {other.pid} on {socket.gethostname()} since 20" in str(
            error.value
        )
        with pytest.raises(HomeInUse, match=f"pid {other.pid} "), Home(tmp_path).lock():
            pass
    finally:
        leave.set()
        other.join()
    with Home(tmp_path).lock():
        assert json.loads(Home(tmp_path).lock_file.read_bytes())["pid"] == os.getpid()


def test_the_lock_of_a_killed_gateway_is_free(tmp_path: Path) -> None:
    processes = multiprocessing.get_context("spawn")
    held, leave = processes.Event(), processes.Event()
    other = processes.Process(target=hold, args=(tmp_path, held, leave))
    other.start()
    assert held.wait(30)
    other.kill()
    other.join()
    with Home(tmp_path).lock():
        assert Home(tmp_path).lock_file.exists()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[]", b"4711", b'{"pid": "x"}'])
def test_a_lock_that_somebody_else_signed_is_still_a_lock(tmp_path: Path, content: bytes) -> None:
    home = Home(tmp_path)
    with home.lock():
        home.lock_file.write_bytes(content)
        with pytest.raises(HomeInUse) as error, Home(tmp_path).lock():
            pass
    assert str(error.value) == f"another gateway runs on this home: {home.lock_file} is locked"


def test_a_directory_in_place_of_the_lock_is_one_sentence(tmp_path: Path) -> None:
    Home(tmp_path).lock_file.mkdir()
    with pytest.raises(ConfigError, match="gateway.lock cannot be locked: Is a directory"), Home(tmp_path).lock():
        pass
