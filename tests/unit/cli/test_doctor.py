"""``doctor``: what it finds, what it says mends it, and that it only looks."""

from __future__ import annotations

import asyncio
import json
import socket
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from gateway.access import people
from gateway.bus import lanes, letters
from gateway.cli.checks import Finding
from gateway.cli.checks.services import check_access
from gateway.cli.status import standing_of
from gateway.config import Config, load
from gateway.delivery import outbox
from gateway.delivery.outbox import Outgoing
from gateway.sessions.keys import private_key
from gateway.storage import lease
from gateway.storage.database import Connection
from gateway.storage.lease import Worker
from gateway.types import Address, Event, Part, Rendered, Role, Sender
from tests.console import Console, Ran

KEY = "sk-0123456789abcdef0123"


class Endpoint(HTTPServer):
    """Lists its models to whoever has the key, and tells the rest how the gateway is."""

    def __init__(self) -> None:
        self.models = ["good", "better"]
        self.failed: dict[str, str] = {}
        super().__init__(("127.0.0.1", 0), _Answering)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Answering(BaseHTTPRequestHandler):
    server: Endpoint

    def do_GET(self) -> None:
        if self.path == "/readyz":
            status = {"status": "not ready", "failed": self.server.failed} if self.server.failed else {"status": "ok"}
            self._answer(503 if self.server.failed else 200, status)
        elif self.headers.get("Authorization") != f"Bearer {KEY}":
            self._answer(401, {"error": {"message": "Incorrect API key provided"}})
        else:
            self._answer(200, {"object": "list", "data": [{"id": name} for name in self.server.models]})

    def _answer(self, status: int, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        return


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def settings(endpoint: Endpoint) -> dict[str, Any]:
    """Settings that are all well."""
    return {
        "model": {"base_url": endpoint.url, "api_key": KEY, "default": "good"},
        "terminal": {"backend": "none"},
        "web": {"port": 0},
    }


@pytest.fixture
def examine(console: Console) -> Callable[[dict[str, Any]], Ran]:
    """Run the doctor with settings; JSON is YAML."""

    def run(settings: dict[str, Any]) -> Ran:
        console.configure(json.dumps(settings))
        return console.run("doctor", "--json")

    return run


Examine = Callable[[dict[str, Any]], Ran]


def found(ran: Ran, about: str) -> dict[str, str]:
    """The one finding about something."""
    assert ran.code == 1
    assert not ran.json["ok"]
    [finding] = [finding for finding in ran.json["findings"] if finding["about"] == about]
    assert all(finding.values()), "a finding says what, why, and what mends it"
    return dict(finding)


def test_where_all_is_well_nothing_is_found(console: Console, settings: dict[str, Any], examine: Examine) -> None:
    console.write(lambda connection: None)
    ran = examine(settings)
    assert ran.json["findings"] == []
    assert (ran.code, ran.json["ok"], ran.err) == (0, True, "")
    assert console.run("doctor").out.startswith("0 findings; checked: configuration, home, disk, database")


def test_a_home_that_nobody_has_used_is_well_and_stays_unused(console: Console) -> None:
    ran = console.run("doctor", "--json")
    assert {finding["about"] for finding in ran.json["findings"]} <= {"model", "terminal", "web"}
    assert not console.home.exists()


def test_every_mistake_of_the_settings_is_a_finding_with_its_place(console: Console) -> None:
    console.configure("web:\n  prot: 1\n  port: many\n")
    ran = console.run("doctor", "--json")
    assert ran.code == 1
    problems = [finding["problem"] for finding in ran.json["findings"]]
    assert any("config.yaml:2:3" in problem and "prot" in problem for problem in problems)
    assert any("config.yaml:3" in problem for problem in problems)
    assert ran.json["checked"] == ["configuration", "home", "disk"]


def test_settings_that_do_not_fit_together_are_found(settings: dict[str, Any], examine: Examine) -> None:
    ran = examine({**settings, "gateway": {"role": "edge"}})
    assert "redis://" in found(ran, "configuration")["mend"]


def test_a_door_open_to_other_machines_without_a_password_is_found(settings: dict[str, Any], examine: Examine) -> None:
    ran = examine({**settings, "web": {"host": "0.0.0.0", "port": 0}})
    assert "web.admin_password_file" in found(ran, "configuration")["mend"]


def test_a_home_that_others_can_read_is_found(console: Console, settings: dict[str, Any], examine: Examine) -> None:
    console.home.mkdir(mode=0o755)
    console.home.chmod(0o755)
    finding = found(examine(settings), "home")
    assert "config.yaml" in finding["problem"]
    assert finding["mend"] == f"chmod 700 {console.home}"


def test_a_home_that_is_a_file_is_found(console: Console) -> None:
    console.home.write_text("not a directory")
    ran = console.run("doctor", "--json")
    assert any("is not a directory" in finding["problem"] for finding in ran.json["findings"])


def test_a_damaged_database_is_found(console: Console, settings: dict[str, Any], examine: Examine) -> None:
    console.write(lambda connection: None)
    file = console.home / "state.db"
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + b"\xff" * 8192 + whole[12288:])
    assert "damaged" in found(examine(settings), "database")["problem"]


def test_a_database_of_a_later_version_is_found(console: Console, settings: dict[str, Any], examine: Examine) -> None:
    console.write(lambda connection: connection.execute(text("UPDATE alembic_version SET version_num = '9999_later'")))
    finding = found(examine(settings), "database")
    assert "9999_later, newer than" in finding["problem"]
    assert "update hermes-gateway" in finding["mend"]


def test_the_doctor_changes_nothing(console: Console, settings: dict[str, Any], examine: Examine) -> None:
    """Not even a schema that is out of date."""
    console.write(lambda connection: connection.execute(text("UPDATE alembic_version SET version_num = '0000_before'")))
    console.configure(json.dumps(settings))
    before = {file.name: file.read_bytes() for file in console.home.iterdir()}
    assert console.run("doctor", "--json").json["findings"] == []
    after = {file.name: file.read_bytes() for file in console.home.iterdir()}
    assert {name: content for name, content in after.items() if not name.endswith(("-wal", "-shm"))} == before


@pytest.mark.parametrize("lock", ["BEGIN IMMEDIATE", "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE"])
def test_a_locked_database_is_a_finding_like_any_other(
    console: Console, settings: dict[str, Any], examine: Examine, lock: str
) -> None:
    console.write(lambda connection: None)
    settings["model"]["default"] = "best"
    with closing(sqlite3.connect(console.home / "state.db", isolation_level=None)) as other:
        other.executescript(lock)
        ran = examine(settings)
    finding = found(ran, "database")
    assert "is locked by another program" in finding["problem"]
    assert finding["mend"] == "close it and try again"
    assert "does not list best" in found(ran, "model")["problem"]
    assert ran.json["checked"][-1] == "access"


def test_what_was_given_up_is_found_with_how_to_see_it(
    console: Console, settings: dict[str, Any], examine: Examine
) -> None:
    chat = Address(platform="telegram", chat="42")
    event = Event(id="e1", origin=chat, sender=Sender("42"), text="hi")

    def give_up(connection: Connection) -> None:
        lanes.put(connection, private_key(chat), "e1", event, Role.MEMBER, command=False, limit=9)
        letters.bury(connection, [1])
        outbox.add(connection, [Outgoing(chat, Part(Rendered("x", 1), "x"))])
        outbox.refuse(connection, 1, "no")

    console.write(give_up)
    ran = examine(settings)
    assert "1 part of answers could not be delivered" in found(ran, "deliveries")["problem"]
    assert "hermes-gateway deliveries list --dead" in found(ran, "deliveries")["mend"]
    assert "hermes-gateway deliveries list --in --dead" in found(ran, "messages")["mend"]


def test_a_port_that_another_program_has_is_found(settings: dict[str, Any], examine: Examine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        finding = found(examine({**settings, "web": {"port": port}}), "web")
    assert f"127.0.0.1:{port} is in use" in finding["problem"]
    assert "web.port" in finding["mend"]


def test_the_port_of_a_gateway_that_runs_is_its_own(
    console: Console, endpoint: Endpoint, settings: dict[str, Any], examine: Examine
) -> None:
    console.write(lambda connection: lease.alive(connection, Worker("w1", "here", 1, "all")))
    assert examine({**settings, "web": {"port": endpoint.server_port}}).json["findings"] == []


def test_a_refused_key_is_found_and_never_shown(settings: dict[str, Any], examine: Examine) -> None:
    settings["model"]["api_key"] = "sk-wrong-0123456789abcdef"
    ran = examine(settings)
    finding = found(ran, "model")
    assert "does not accept the key" in finding["problem"]
    assert finding["mend"] == "hermes-gateway config set model.api_key"
    assert "sk-wrong" not in ran.out + ran.err


def test_a_model_that_is_not_there_is_found_with_those_that_are(settings: dict[str, Any], examine: Examine) -> None:
    settings["model"]["default"] = "best"
    finding = found(examine(settings), "model")
    assert "does not list best" in finding["problem"]
    assert finding["mend"] == "hermes-gateway config set model.default NAME, with one of better, good"


def test_an_endpoint_that_is_down_is_found(settings: dict[str, Any], examine: Examine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        settings["model"]["base_url"] = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
    finding = found(examine(settings), "model")
    assert "cannot be reached" in finding["problem"]
    assert finding["mend"] == "hermes-gateway config set model.base_url URL"


def test_a_sandbox_that_cannot_be_is_found(settings: dict[str, Any], examine: Examine) -> None:
    finding = found(examine({**settings, "terminal": {"backend": "docker"}}), "terminal")
    assert "docker is not supported" in finding["problem"]
    assert finding["mend"].endswith("hermes-gateway config set terminal.backend none")


# --- platforms: those of a plugin, which is found like any other


PIGEON = '''
from contextlib import asynccontextmanager
from pydantic import BaseModel, ConfigDict, SecretStr
from gateway.contracts.adapter import Adapter
from gateway.errors import TokenRefused
from gateway.types import Receipt


class Settings(BaseModel):
    """Pigeons."""
    model_config = ConfigDict(frozen=True, extra="forbid")
    token: SecretStr = SecretStr("")
    """The ring."""
    allowed_users: list[str] = []
    """Who may speak."""


class Pigeon(Adapter):
    def __init__(self, name): self.name = name
    async def listen(self, emit): ...
    async def send(self, target, part): return Receipt(target, "1")


class Asking(Pigeon):
    async def check(self): raise TokenRefused("no pigeon wears this ring")


def create(name, account, settings):
    return (Asking if settings.token.get_secret_value() == "wrong-ring" else Pigeon)(name)
'''


@pytest.fixture
def pigeons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A platform that a package brings."""
    folder = tmp_path / "site"
    meta = folder / "hermes_pigeon-1.0.dist-info"
    meta.mkdir(parents=True)
    (folder / "hermes_pigeon.py").write_text(PIGEON)
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: hermes-pigeon\nVersion: 1.0\n")
    (meta / "entry_points.txt").write_text("[hermes_gateway.adapters]\npigeon = hermes_pigeon\n")
    monkeypatch.syspath_prepend(str(folder))


@pytest.mark.usefixtures("pigeons")
def test_a_token_is_asked_about_through_the_adapter(settings: dict[str, Any], examine: Examine) -> None:
    ran = examine({**settings, "platforms": {"pigeon": {"token": "wrong-ring", "allowed_users": ["1"]}}})
    finding = found(ran, "pigeon")
    assert finding["problem"] == "no pigeon wears this ring"
    assert finding["mend"] == "hermes-gateway config set platforms.pigeon.token"


@pytest.mark.usefixtures("pigeons")
def test_where_the_adapter_cannot_ask_the_gateway_that_runs_knows(
    console: Console, endpoint: Endpoint, settings: dict[str, Any], examine: Examine
) -> None:
    console.write(lambda connection: lease.alive(connection, Worker("w1", "here", 1, "all")))
    endpoint.failed = {"pigeon": "the ring was refused", "database": "full"}
    platforms = {"pigeon": {"token": "a-ring", "allowed_users": ["1"]}}
    ran = examine({**settings, "platforms": platforms, "web": {"port": endpoint.server_port}})
    assert found(ran, "pigeon")["problem"] == "the ring was refused"
    endpoint.failed = {}
    assert examine({**settings, "platforms": platforms, "web": {"port": endpoint.server_port}}).code == 0


@pytest.mark.usefixtures("pigeons")
def test_a_platform_where_nobody_may_talk_is_found(settings: dict[str, Any], examine: Examine) -> None:
    finding = found(examine({**settings, "platforms": {"pigeon": {"token": "a-ring"}}}), "access")
    assert finding["problem"] == "nobody may talk on pigeon"
    assert "hermes-gateway config set platforms.pigeon.allowed_users" in finding["mend"]


async def nobody(config: Config) -> list[Finding]:
    findings: AsyncIterator[Finding] = check_access(config, standing_of(config))
    return [finding async for finding in findings]


@pytest.mark.usefixtures("pigeons")
@pytest.mark.parametrize(
    "allowed",
    [
        {"access": {"allow_all": True}},
        {"access": {"owners": ["pigeon:1"]}},
        {"platforms": {"pigeon": {"token": "a-ring", "allowed_users": ["1"]}}},
        {"platforms": {"pigeon": {"token": "a-ring", "enabled": False}}},
    ],
    ids=["everybody", "an owner", "somebody", "switched off"],
)
def test_where_somebody_may_talk_or_nobody_should_nothing_is_found(console: Console, allowed: dict[str, Any]) -> None:
    console.configure(json.dumps({"platforms": {"pigeon": {"token": "a-ring"}}, **allowed}))
    assert asyncio.run(nobody(load(console.home, environ={}))) == []


@pytest.mark.usefixtures("pigeons")
def test_an_owner_of_another_platform_does_not_open_this_one(console: Console) -> None:
    console.configure(json.dumps({"platforms": {"pigeon": {"token": "a-ring"}}}))
    console.write(lambda connection: people.make_owner(connection, "visitor"))
    assert len(asyncio.run(nobody(load(console.home, environ={})))) == 1


@pytest.mark.parametrize(
    ("memory", "problem", "mend"),
    [
        ({"provider": "hologaphic"}, "there is no provider 'hologaphic'", "there are holographic"),
        ({"provider": "mem0"}, "memory.mem0.api_key: is missing", "MEM0_API_KEY"),
    ],
)
def test_a_memory_service_that_keeps_the_gateway_from_starting_is_found(
    settings: dict[str, Any], examine: Examine, memory: dict[str, Any], problem: str, mend: str
) -> None:
    finding = found(examine({**settings, "memory": memory}), "memory service")
    assert problem in finding["problem"]
    assert mend in finding["mend"]


def test_a_memory_plugin_that_breaks_is_found(console: Console, settings: dict[str, Any], examine: Examine) -> None:
    folder = console.home / "plugins" / "memory" / "mine"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("def create(settings, home): raise RuntimeError('boom')", "utf-8")
    ran = examine({**settings, "memory": {"provider": "mine"}, "plugins": {"allow": ["mine"]}})
    finding = found(ran, "memory service")
    assert "mine fails to load" in finding["problem"]
    assert str(folder) in finding["mend"]


@pytest.mark.parametrize(
    ("allow", "problem", "mend"),
    [
        ([], "the plugin mine is not allowed", "add its name to plugins.allow"),
        (["mine"], "the plugin mine failed to load: RuntimeError: boom", "mend it, and start the gateway again"),
    ],
)
def test_a_context_engine_that_cannot_be_used_is_found(
    console: Console, settings: dict[str, Any], examine: Examine, allow: list[str], problem: str, mend: str
) -> None:
    folder = console.home / "plugins" / "context_engine" / "mine"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("def create(settings, home): raise RuntimeError('boom')", "utf-8")
    ran = examine({**settings, "context": {"engine": "mine"}, "plugins": {"allow": allow}})
    finding = found(ran, "context engine")
    assert finding["problem"] == f"context.engine: {problem}"
    assert finding["mend"] == mend
    assert "the compressor stands in" in finding["why"]


def test_a_window_that_prompt_and_tools_fill_is_found_with_the_figures(
    console: Console, settings: dict[str, Any], examine: Examine
) -> None:
    console.home.mkdir()
    (console.home / "SOUL.md").write_text("You are very careful with the garden. " * 500, "utf-8")
    model = {**settings["model"], "context_length": 4096}
    finding = found(examine({**settings, "model": model}), "window")
    assert "of 4,096 tokens, and compression begins at 3,481" in finding["problem"]
    assert finding["mend"].startswith("take a model with a larger window")


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"Likes na\xefve art\n", "MEMORY.md is damaged"), (b"- much\n" * 500, "3,499 of 2,200 characters")],
)
def test_notes_that_cannot_be_read_or_have_no_room_are_found(
    console: Console, settings: dict[str, Any], examine: Examine, content: bytes, words: str
) -> None:
    folder = console.home / "memories" / "users" / "b0b"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_bytes(content)
    assert words in found(examine(settings), "memory")["problem"]


def test_what_is_wrong_with_a_profile_is_found_with_its_name(
    console: Console, settings: dict[str, Any], examine: Examine
) -> None:
    home = console.home / "coder"
    console.home.mkdir(mode=0o700)
    home.mkdir(mode=0o700)
    settings["profiles"] = [{"home": "coder", "match": {"chat": "a"}}]
    assert examine(settings).json["findings"] == []
    (home / "config.yaml").write_text("model: {default: best}", "utf-8")
    finding = found(examine(settings), "coder: model")
    assert "best" in finding["problem"]
    assert f"hermes-gateway config set --home {home} model.default NAME" in finding["mend"]
    (home / "config.yaml").write_text("memory: {provider: nobodys}", "utf-8")
    assert "nobodys" in found(examine(settings), "coder: memory service")["problem"]
    (home / "config.yaml").unlink()
    (home / ".env").write_text("A=b", "utf-8")
    home.chmod(0o755)
    assert "other users" in found(examine(settings), "coder: home")["problem"]


def test_who_the_agent_is_and_what_it_can_do_must_be_readable(
    console: Console, settings: dict[str, Any], examine: Examine, tmp_path: Path
) -> None:
    (console.home / "coder" / "SOUL.md").mkdir(mode=0o700, parents=True)
    for folder in (console.home, console.home / "coder"):
        folder.chmod(0o700)
    (console.home / "SOUL.md").symlink_to("nowhere")
    settings["profiles"] = [{"home": "coder", "match": {"chat": "a"}}]
    settings["skills"] = {"external_dirs": [str(tmp_path / "shared")]}
    ran = examine(settings)
    assert "leads nowhere" in found(ran, "identity")["problem"]
    assert "is not a file" in found(ran, "coder: identity")["problem"]
    assert found(ran, "skills")["problem"] == f"there is no folder {tmp_path / 'shared'}"
    (console.home / "SOUL.md").unlink()
    (console.home / "SOUL.md").write_text("You are Ada.")
    (console.home / "coder" / "SOUL.md").rmdir()
    (tmp_path / "shared").mkdir()
    assert examine(settings).json["findings"] == []
