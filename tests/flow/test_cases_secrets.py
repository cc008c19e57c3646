"""Failures that users of such gateways reported about secrets, with an agent of its own home; codes by case."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.console import Console
from tests.fakes.openai_server import OpenAIServer

GATEWAYS, CODERS, SERVICES = "sk-gateways-0123456789", "sk-coders-9876543210", "sk-of-a-service-555666777"


@pytest.fixture(scope="module")
def running_server() -> Iterator[OpenAIServer]:
    with OpenAIServer(key=CODERS, models=("fake",)) as server:
        yield server


@pytest.fixture
def server(running_server: OpenAIServer) -> OpenAIServer:
    running_server.reset()
    return running_server


@pytest.fixture
def console(
    tmp_path: Path, server: OpenAIServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Console:
    """A home whose command line is for the coder, with keys in both homes, and links in the coder's skills."""
    console = Console(tmp_path / "home", capsys, monkeypatch)
    model = {"base_url": server.base_url, "default": "fake", "context_length": 100_000}
    settings: dict[str, object] = {
        "model": model,
        "log": {"level": "debug"},
        "profiles": [{"home": "coder", "match": {"platform": "cli"}}],
    }
    console.configure(json.dumps(settings))
    coder = console.home / "coder"
    for folder in ("memories", "skills/x/references"):
        (coder / folder).mkdir(mode=0o700, parents=True)
    (coder / "config.yaml").write_text(json.dumps({"model": model, "terminal": {"backend": "none"}}))
    (coder / ".env").write_text(f"OPENAI_API_KEY={CODERS}\nWEATHER_API_KEY={SERVICES}\n")
    (coder / "memories" / "MEMORY.md").write_text("Not for files.")
    (coder / "skills/x/SKILL.md").write_text("---\nname: x\ndescription: X\n---\nDo x.\n")
    (coder / "skills/x/link").symlink_to("../../.env")
    (coder / "skills/x/references/link.md").symlink_to("../../../.env")
    (coder / "skills/x/notes.md").symlink_to("../../memories/MEMORY.md")
    (console.home / ".env").write_text(f"OPENAI_API_KEY={GATEWAYS}\n")
    return console


def holding(home: Path, text: str) -> list[str]:
    """Return the files that hold a text; those of keys are where it belongs."""
    files = (path for path in home.rglob("*") if path.is_file() and not path.is_symlink() and path.name != ".env")
    return [str(path.relative_to(home)) for path in files if text.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    "path",
    [
        "/skills/../.env",
        "/skills/x/link",
        "/skills/x/notes.md",
        "/skills/x/../../memories/MEMORY.md",
        "/skills/../../.env",
        "/workspace/../../.env",
        "../../config.yaml",
        "{home}/.env",
        "{home}/coder/.env",
        "{home}/coder/memories/MEMORY.md",
        "file://{home}/.env",
        "/proc/self/environ",
    ],
)
def test_no_path_leads_a_file_tool_to_what_a_home_keeps(console: Console, path: str) -> None:
    """SEC-01: neither the home of the agent nor the gateway's is read, by whatever name."""
    asked = json.dumps({"path": path.format(home=console.home)})
    ran = console.run("chat", "-m", f"tool:read_file:{asked}")
    assert ran.code == 0
    assert any(why in ran.out for why in ("leads out of the workspace", "is not in the workspace", "no such file"))


@pytest.mark.parametrize("path", ["../../.env", "link", "references/link.md", "references/../../../.env"])
def test_no_file_of_a_skill_is_one_of_the_home(console: Console, path: str) -> None:
    """SEC-01: a skill that somebody else has made brings no link to the keys."""
    ran = console.run("chat", "-m", f"tool:skill_view:{json.dumps({'name': 'x', 'file_path': path})}")
    assert '"success": false' in ran.out
    assert holding(console.home, CODERS) == []


@pytest.mark.parametrize(
    "fault", [{"status": 500, "message": f"oops: {CODERS}"}, {"status": 401, "message": f"Incorrect key {CODERS}"}]
)
def test_a_key_of_a_profile_is_nowhere_but_in_its_own_file(
    console: Console, server: OpenAIServer, fault: dict[str, object]
) -> None:
    """SEC-03: not in the logs of every detail, the rows, what is said, nor what is shown of the settings."""
    (console.home / "coder" / "SOUL.md").mkdir()
    server.fault("status", times=9, **fault)
    said = [console.run("chat", "-m", f"what is {SERVICES[:5]}?")]
    server.reset()
    said += [
        console.run("chat", "-m", "hello"),
        console.run("-vv", "doctor"),
        console.run("config", "show", "--origin"),
        console.run("config", "validate"),
        console.run("context-files", "list", "--profile", "coder"),
    ]
    assert said[1].out == "hello\n"
    assert (console.home / "logs" / "agent.log").stat().st_size > 0
    for secret in (GATEWAYS, CODERS, SERVICES):
        assert holding(console.home, secret) == []
        assert not any(secret in ran.out + ran.err for ran in said)
        assert secret not in json.dumps(server.requests())
