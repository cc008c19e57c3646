"""`run`: the gateway started and stopped as a service manager does it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest

from gateway.cli import exits
from gateway.home import Home
from tests.fakes.telegram_server import TelegramServer

Process = subprocess.Popen[str]
SECONDS = 20.0
"""By when a process must have ended, on a busy machine; a drain alone would take longer."""


@contextmanager
def gateway(home: Path, *arguments: str, **environ: str) -> Iterator[Process]:
    command = [sys.executable, "-m", "gateway.cli", "run", "--home", str(home), *arguments]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "HERMES_GATEWAY"))}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**clean, **environ}
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def result(process: Process) -> tuple[int, str, str]:
    out, err = process.communicate()
    return process.returncode, out, err


def first_url(process: Process) -> str:
    """Wait until the gateway says where it is."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert "http://" in line, (line, process.stderr and process.stderr.read())
    return line[line.index("http://") :].strip()


@pytest.mark.parametrize(("how", "code"), [(signal.SIGTERM, exits.TERMINATED), (signal.SIGINT, exits.INTERRUPTED)])
def test_it_runs_until_it_is_told_to_stop(tmp_path: Path, how: signal.Signals, code: int) -> None:
    home = tmp_path / "new" / "home"
    with gateway(
        home, "--port", "0", OPENAI_BASE_URL="http://127.0.0.1:9/v1", OPENAI_API_KEY="sk-of-this-test"
    ) as running:
        url = first_url(running)
        with build_opener(ProxyHandler({})).open(f"{url}healthz") as answer:
            assert answer.status == 200
        running.send_signal(how)
        returned, _, err = result(running)
    assert returned == code, err
    assert "Traceback" not in err
    lines = [json.loads(line) for line in Home(home).log_file.read_text().splitlines()]
    assert lines
    assert {"event", "level", "logger", "timestamp"} <= lines[0].keys()
    assert "sk-of-this-test" not in Home(home).log_file.read_text()


def told_to_stop(process: Process) -> int:
    """Say SIGTERM once; return the exit code of a process that ended with nothing to complain of."""
    process.terminate()
    _, err = process.communicate(timeout=SECONDS)
    assert "Traceback" not in err
    return process.returncode


def starts_again(home: Path) -> None:
    with gateway(home, "--port", "0") as running:
        first_url(running)
        assert told_to_stop(running) == exits.TERMINATED


@pytest.mark.parametrize("made", [".", "logs/agent.log", "gateway.lock", "state.db"])
def test_it_can_be_stopped_while_it_starts_and_starts_again(tmp_path: Path, made: str) -> None:
    home = tmp_path / "home"
    with gateway(home, "--port", "0") as starting:
        while not (home / made).exists():
            assert starting.poll() is None
        # Until it hears signals, which it does before it holds the lock, the system ends it by the signal.
        by_signal = set() if made in {"gateway.lock", "state.db"} else {-signal.SIGTERM}
        assert told_to_stop(starting) in {exits.TERMINATED} | by_signal
    starts_again(home)


def test_it_can_be_stopped_while_a_platform_does_not_answer(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(SECONDS)
        pretended = {
            "token": "4711:of-a-server-that-says-nothing-at-all",
            "api_base": f"http://127.0.0.1:{silent.getsockname()[1]}",
        }
        settings = {"platforms": {"telegram": pretended}, "web": {"port": 0}}
        (tmp_path / "config.yaml").write_text(json.dumps(settings))
        with gateway(tmp_path) as starting:
            connection, _ = silent.accept()
            with connection:
                assert told_to_stop(starting) == exits.TERMINATED
    (tmp_path / "config.yaml").unlink()
    starts_again(tmp_path)


def test_a_mistake_in_the_settings_stops_it_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("web: {prot: 1}\n")
    with gateway(tmp_path) as running:
        assert result(running) == (exits.CONFIG, "", "config.yaml:1:7: web.prot: unknown key; did you mean port?\n")
    assert [file.name for file in tmp_path.iterdir()] == ["config.yaml"]


def test_a_home_in_use_is_told_with_who_uses_it(tmp_path: Path) -> None:
    with Home(tmp_path).lock(), gateway(tmp_path, "--port", "0") as running:
        code, out, err = result(running)
    assert (code, out) == (exits.TEMPORARY, "")
    assert f"hermes-gateway: another gateway runs on this home: pid {os.getpid()} on " in err
    assert "Traceback" not in err


def test_a_port_in_use_is_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with gateway(tmp_path, "--port", str(port)) as running:
            code, _, err = result(running)
    assert code not in {0, exits.USAGE}
    assert str(port) in err.splitlines()[-1]
    assert "in use" in err.splitlines()[-1].lower()
    assert "Traceback" not in err


def test_a_home_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with gateway(tmp_path / "file" / "home") as running:
        code, out, err = result(running)
    assert (code, out) == (exits.CONFIG, "")
    assert err.startswith(f"the home {tmp_path / 'file' / 'home'} cannot be written: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("arguments", [("--port", "x"), ("--port", "70000"), ("--role", "boss"), ("--zzz",)])
def test_a_flag_that_is_wrong_is_a_mistake_of_usage(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    with gateway(tmp_path, *arguments) as running:
        code, out, err = result(running)
    assert (code, out) == (exits.USAGE, "")
    assert err.endswith("; see hermes-gateway run --help\n")


def test_it_ends_where_the_only_platform_refuses_the_token(tmp_path: Path) -> None:
    telegram = TelegramServer()
    telegram.start()
    try:
        pretended = {"token": "4711:never-heard-of-this-one-before-abcdef", "api_base": telegram.url}
        settings = {"platforms": {"telegram": pretended, "webchat": {"enabled": False}}, "web": {"port": 0}}
        (tmp_path / "config.yaml").write_text(json.dumps(settings))
        with gateway(tmp_path) as running:
            code, _, err = result(running)
    finally:
        telegram.stop()
    assert code == exits.AUTH, err
    assert "@BotFather" in err.splitlines()[-1]
    assert "Traceback" not in err
