from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest
from pydantic import ValidationError

from gateway.agent.tools import builtin_tools
from gateway.agent.tools.shell import Terminal, TerminalSettings
from gateway.agent.tools.workspace import WorkspaceSettings
from gateway.contracts.tool import Tools
from gateway.errors import ToolError
from gateway.toolkit.toolset import FunctionTools
from gateway.types import Role
from tests.unit.toolkit.turns import a_call, a_turn

ROOT = Path(__file__).parents[3]
HOLD = "exec 3>alive; echo up >&3; (setsid sleep 1000 &) ; sleep 1000"
"""Keeps one end of a pipe open, here and in a process that has left the group."""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work space 漢"
    folder.mkdir()
    (tmp_path / "secret").write_text("the secret")
    return folder


def a_terminal(settings: TerminalSettings | None = None) -> Tools:
    return FunctionTools([Terminal(settings or TerminalSettings()).tool()])


async def run(work: Path, command: str, *, tools: Tools | None = None, **more: object) -> str:
    call = a_call("terminal", command=command, **more)
    return await (tools or a_terminal()).call(call, a_turn(workspace=work))


@contextmanager
def watched(work: Path) -> Iterator[BinaryIO]:
    """Make the pipe of `HOLD`, and open it for reading."""
    os.mkfifo(work / "alive")
    descriptor = os.open(work / "alive", os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "rb", buffering=0) as pipe:
        yield pipe


async def begun(pipe: BinaryIO) -> None:
    """Wait until the command of `HOLD` runs."""
    loop, readable = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(pipe, readable.set)
    await readable.wait()
    loop.remove_reader(pipe)
    assert pipe.read(3) == b"up\n"


async def test_a_command_runs_in_the_workspace_and_says_how_it_ended(work: Path) -> None:
    assert await run(work, "pwd; echo $HOME; echo made > file") == "/workspace\n/workspace"
    assert (work / "file").read_text() == "made\n"
    assert await run(work, "echo out; echo wrong >&2; exit 3") == "out\nwrong\n[exit code 3]"
    assert await run(work, "true") == "(no output)"
    assert await run(work, "kill -9 $$") == "(no output)\n[exit code 137]"
    assert await run(work, 'read line; echo "$line."') == "."
    assert (
        await run(work, "no-such-program") == "/bin/bash: line 1: no-such-program: command not found\n[exit code 127]"
    )


async def test_any_text_is_a_command_and_an_output(work: Path) -> None:
    assert await run(work, "echo \"שלום 漢字 😀\" '$HOME' \\\\") == "שלום 漢字 😀 $HOME \\"
    assert await run(work, r"printf 'a\xff\xe6\xbc\x00b\n'") == "a\ufffd\ufffd\0b"


async def test_nothing_of_ours_is_in_its_environment(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_SECRET", "the secret")
    names = {line.partition("=")[0] for line in (await run(work, "env")).splitlines()}
    assert names == {"PATH", "LANG", "TERM", "TMPDIR", "HOME", "PWD", "SHLVL", "_"}


async def test_it_sees_the_workspace_and_programs_and_nothing_else(work: Path) -> None:
    seen = set((await run(work, "ls ..")).split())
    assert (
        "workspace"
        in seen
        <= {"bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "tmp", "usr", "workspace"}
    )
    assert str(work) not in await run(work, "cat /proc/self/cmdline /proc/self/environ; ls -R /workspace")
    assert "No such file" in await run(work, "cat ../secret")
    assert "No such file" in await run(work, f"cat {ROOT}/pyproject.toml")
    assert (
        await run(work, "ls /root /home /var /run /sys /etc/passwd /etc/shadow 2>/dev/null")
        == "(no output)\n[exit code 2]"
    )
    assert "Read-only file system" in await run(work, "touch /usr/bin/mine")
    assert await run(work, "touch /tmp/a; ls /tmp/a") == "/tmp/a"
    assert "No such file" in await run(work, "ls /tmp/a")


async def test_it_has_no_rights_and_sees_no_process_but_its_own(work: Path) -> None:
    assert await run(work, "grep -h Cap /proc/self/status | sort -u -k2 | cut -f2") == "0000000000000000"
    assert int(await run(work, "ls -d /proc/[0-9]* | wc -l")) < 6
    assert "\n[exit code" in await run(work, "mount -t tmpfs none /usr; kill -0 4000000")
    assert await run(work, "hostname") == "sandbox"


@pytest.mark.parametrize("network", [False, True])
async def test_it_reaches_the_network_only_where_the_settings_say_so(work: Path, *, network: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]} && echo open"
        told = await run(work, command, tools=a_terminal(TerminalSettings(network=network)))
    assert (told == "open") is network
    assert ("Connection refused" in told or "unreachable" in told) is not network


async def test_a_link_made_inside_is_not_followed_outside(work: Path) -> None:
    tools = builtin_tools(workspace=WorkspaceSettings(), terminal=TerminalSettings())
    await run(work, "ln -s ../secret link; ln -s / root; mkfifo pipe; mkdir d; ln -s d/../../secret deep", tools=tools)
    for path in ("link", "root/etc/passwd", "pipe", "deep"):
        with pytest.raises(ToolError, match="out of the workspace|not a regular file"):
            await tools.call(a_call("read_file", path=path), a_turn(workspace=work))


async def test_long_output_keeps_its_beginning_and_its_end(work: Path) -> None:
    told = await run(work, "echo first; seq 100000; echo last; exit 1")
    assert told.startswith("first\n1\n2\n")
    assert told.endswith("\n99999\n100000\nlast\n[exit code 1]")
    assert "\n[cut: 5" in told
    assert len(told.encode()) < 50_100
    assert len(told.splitlines()) <= 2_002


async def test_many_short_lines_are_cut_and_counted(work: Path) -> None:
    told = await run(work, "yes | head -n 5000")
    assert told.splitlines() == ["y"] * 1_000 + ["[cut: 6,003 bytes]"] + ["y"] * 999


async def test_a_long_line_is_cut(work: Path) -> None:
    assert (
        await run(work, "printf 'x%.0s' $(seq 3000); echo; echo next") == f"{'x' * 2_000} [cut: 1,000 characters]\nnext"
    )


async def test_endless_output_ends_the_command(work: Path) -> None:
    told = await run(work, "yes flood")
    assert told.startswith("flood\nflood\n")
    assert told.endswith("\n[stopped after 16 MB of output]")
    assert len(told) < 50_200


async def test_a_full_tmp_is_the_commands_problem(work: Path) -> None:
    told = await run(work, "head -c 300M /dev/zero > /tmp/x; echo; df --output=size -B1M /tmp | tail -n 1")
    assert "No space left on device" in told
    assert told.endswith(" 256")


async def test_what_a_command_leaves_running_ends_with_it(work: Path) -> None:
    with watched(work) as pipe:
        assert await run(work, "exec 3>alive; echo up >&3; setsid sleep 1000 & echo done") == "done"
        assert await asyncio.to_thread(pipe.readall) == b"up\n"  # type: ignore[attr-defined]


async def test_a_command_that_takes_too_long_is_stopped_with_all_it_started(work: Path) -> None:
    with watched(work) as pipe:
        told = await run(work, f"echo so far; {HOLD}", timeout=1)
        assert told == "so far\n[stopped after 1 s]"
        assert await asyncio.to_thread(pipe.readall) == b"up\n"  # type: ignore[attr-defined]


async def test_no_call_may_take_longer_than_the_settings_say(work: Path) -> None:
    tools = a_terminal(TerminalSettings(timeout_seconds=0.5))
    assert await run(work, "sleep 1000", tools=tools, timeout=3_600) == "(no output)\n[stopped after 0.5 s]"
    assert await run(work, "sleep 1000", tools=tools) == "(no output)\n[stopped after 0.5 s]"


async def test_a_cancelled_turn_ends_the_command_with_all_it_started(work: Path) -> None:
    with watched(work) as pipe:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(run(work, HOLD))
            await begun(pipe)
            task.cancel()
        assert task.cancelled()
        assert await asyncio.to_thread(pipe.readall) == b""  # type: ignore[attr-defined]


async def test_a_cancelled_flood_leaves_nothing(work: Path) -> None:
    with watched(work) as pipe:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(run(work, "exec 3>alive; echo up >&3; (while :; do echo x; done)"))
            await begun(pipe)
            task.cancel()
        assert await asyncio.to_thread(pipe.readall) == b""  # type: ignore[attr-defined]


async def test_a_gateway_that_is_killed_takes_its_commands_with_it(work: Path) -> None:
    program = (
        "import asyncio, sys; from pathlib import Path; from tests.unit.tools.test_terminal import HOLD, run;"
        "asyncio.run(run(Path(sys.argv[1]), HOLD))"
    )
    with watched(work) as pipe:
        child = await asyncio.create_subprocess_exec(sys.executable, "-c", program, str(work), cwd=ROOT)
        try:
            await begun(pipe)
        finally:
            child.send_signal(signal.SIGKILL)
            await child.wait()
        assert await asyncio.to_thread(pipe.readall) == b""  # type: ignore[attr-defined]


async def test_commands_run_beside_each_other(work: Path) -> None:
    os.mkfifo(work / "meet")
    tools = a_terminal()
    told = await asyncio.gather(run(work, "echo hello > meet", tools=tools), run(work, "cat meet", tools=tools))
    assert list(told) == ["(no output)", "hello"]


@pytest.mark.parametrize("command", ["", " \n", "a\0b", "x" * 100_001, "字" * 40_000])
async def test_a_command_that_cannot_be_is_refused(work: Path, command: str) -> None:
    with pytest.raises(ToolError, match="a command is 1 to 100,000 bytes long, without NUL"):
        await run(work, command)


async def test_the_longest_command_runs(work: Path) -> None:
    assert await run(work, "echo ok #" + "x" * 99_990) == "ok"


@pytest.mark.parametrize("role", [Role.GUEST, Role.MEMBER])
async def test_only_owners_have_a_terminal(work: Path, role: Role) -> None:
    with pytest.raises(ToolError, match="terminal needs the role owner"):
        await a_terminal().call(a_call("terminal", command="true"), a_turn(role, work))


async def test_a_conversation_without_a_workspace_has_no_terminal() -> None:
    with pytest.raises(ToolError, match="has no workspace folder"):
        await a_terminal().call(a_call("terminal", command="true"), a_turn())


async def test_where_bubblewrap_is_missing_the_tool_says_so_until_it_is_installed(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    real = shutil.which("bwrap")
    assert real
    empty = tmp_path / "bin"
    empty.mkdir()
    monkeypatch.setenv("PATH", str(empty))
    tools = a_terminal()
    with pytest.raises(ToolError) as failed:
        await run(work, "touch ran", tools=tools)
    assert str(failed.value).startswith("no command can be run here: bubblewrap is not installed")
    assert "apt-get install bubblewrap" in str(failed.value)
    assert not (work / "ran").exists()
    (empty / "bwrap").symlink_to(real)
    assert await run(work, "echo works", tools=tools) == "works"


async def test_where_bubblewrap_does_not_work_the_tool_says_what_it_said(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\necho more; exit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError) as failed:
        await run(work, "true")
    assert "does not work here (bwrap: No permissions to create new namespace): the kernel must" in str(failed.value)


async def test_a_bwrap_that_is_no_program_is_said(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bwrap").write_bytes(b"\x7fELF")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="bwrap cannot be started: Exec format error"):
        await run(work, "true")


@pytest.mark.parametrize("backend", ["docker", "podman"])
async def test_backends_to_come_are_refused_with_a_sentence(work: Path, backend: str) -> None:
    tools = a_terminal(TerminalSettings.model_validate({"backend": backend}))
    with pytest.raises(ToolError, match=f"terminal.backend {backend} is not supported in this version"):
        await run(work, "true", tools=tools)


def test_the_tools_we_bring_are_the_same_in_every_process() -> None:
    tools = builtin_tools(workspace=WorkspaceSettings(), terminal=TerminalSettings())
    assert [spec.name for spec in tools.specs()] == ["current_time", "read_file", "terminal", "write_file"]
    assert [spec.name for spec in tools.specs() if spec.parallel] == ["current_time", "read_file"]
    assert [spec.name for spec in tools.specs() if spec.repeatable] == ["current_time", "read_file"]
    without = builtin_tools(workspace=WorkspaceSettings(), terminal=TerminalSettings(backend="none"))
    assert [spec.name for spec in without.specs()] == ["current_time", "read_file", "write_file"]


@pytest.mark.parametrize(
    "values", [{"backend": "bash"}, {"timeout_seconds": 0}, {"timeout_seconds": "soon"}, {"user": 1}]
)
def test_settings_that_cannot_be_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        TerminalSettings.model_validate(values)
