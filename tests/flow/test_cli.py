"""A person at the terminal of the gateway's machine: ``chat`` without a gateway, beside one, and after one has died."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from gateway.app.gateway import Gateway
from gateway.app.mind import mind_of
from gateway.app.plan import plan_of
from gateway.app.process import Duties
from gateway.app.talk import Said, Talk
from gateway.app.terminal import PLATFORM, CommandLine, new_conversation
from gateway.bus import bindings, lanes
from gateway.config import load
from gateway.delivery import outbox
from gateway.delivery.outbox import Outgoing
from gateway.llm import open_models
from gateway.messages import Message
from gateway.sessions import store
from gateway.sessions.keys import private_key
from gateway.storage import lease
from gateway.storage.database import Connection
from gateway.supervise import beside
from gateway.types import Address, Event, Part, Rendered, Role, Sender
from tests.console import VARIABLES, Console
from tests.fakes.openai_server import OpenAIServer

ROOT = Path(__file__).resolve().parents[2]
TELEGRAM = Address(platform="telegram", chat="42")
START = """
import os
if os.isatty(0): os.login_tty(0)  # so that Ctrl-C is for this process
from gateway.cli import main
main()
"""
SECONDS = 50.0
"""How long a person waits before they give up."""


@pytest.fixture(scope="module")
def running_server() -> Iterator[OpenAIServer]:
    with OpenAIServer(models=("fake", "other")) as server:
        yield server


@pytest.fixture
def server(running_server: OpenAIServer) -> OpenAIServer:
    running_server.reset()
    return running_server


@pytest.fixture
def settings(server: OpenAIServer) -> dict[str, object]:
    return {
        "model": {"base_url": server.base_url, "api_key": server.key, "default": "fake", "context_length": 8000},
        "terminal": {"backend": "none"},
        "web": {"port": 0},
    }


@pytest.fixture
def console(
    tmp_path: Path,
    settings: dict[str, object],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Console:
    """A terminal at a home that is configured and was never used."""
    console = Console(tmp_path / "home", capsys, monkeypatch)
    console.configure(json.dumps(settings))
    return console


@contextmanager
def process(console: Console, *arguments: str, **pipes: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command as a process of its own, and end it."""
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    command = [sys.executable, "-c", START, "--home", str(console.home), *arguments]
    ends = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | pipes
    stdin, stdout, stderr = ends["stdin"], ends["stdout"], ends["stderr"]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdin=stdin, stdout=stdout, stderr=stderr) as running:
        try:
            yield running
        finally:
            running.kill()


@contextmanager
def gateway(console: Console) -> Iterator[subprocess.Popen[bytes]]:
    """Run a gateway on the home."""
    with process(console, "run", stderr=subprocess.DEVNULL) as running:
        assert running.stdout is not None
        assert b"The gateway runs" in running.stdout.readline()
        yield running


def until(holds: Callable[[], bool], what: str) -> None:
    """Look again and again at what happens in other processes."""
    late = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < late, f"never saw {what}"
        time.sleep(0.05)


Say = Callable[[str], asyncio.Task[Said]]


@asynccontextmanager
async def talking(console: Console) -> AsyncIterator[Say]:
    """A conversation in this process, whose messages are said in the background."""
    config = load(console.home, environ={})
    async with Talk(config, new_conversation(), lambda text: None) as talk, asyncio.TaskGroup() as group:
        stop = asyncio.Event()
        yield lambda text: group.create_task(talk.say(text, stop))


def begin(connection: Connection, session_id: str, *, at: Address = TELEGRAM) -> None:
    """Let a chat have a session in which one thing was said and answered."""
    key = private_key(at)
    event = Event(id=f"{session_id}-1", origin=at, sender=Sender("42"), text="remember the milk")
    lanes.put(connection, key, event.id, event, Role.MEMBER, command=False, limit=9)
    claimed = lanes.claim(connection, key, session_id, "")
    assert isinstance(claimed, lanes.Claimed)
    lanes.fence(connection, key, claimed.generation)
    store.append(connection, session_id, claimed.turn, [Message("user", event.text), Message("assistant", "I will")])
    lanes.done(connection, claimed.ids)


# --- without a gateway


def test_one_question_on_a_home_that_nobody_has_used(console: Console) -> None:
    ran = console.run("chat", "-m", "say:Good morning.")
    assert (ran.code, ran.out, ran.err) == (0, "Good morning.\n", "")
    assert console.run("status", "--json").json["counts"]["waiting"] == 0


def test_the_document_names_the_session_which_can_be_continued(console: Console) -> None:
    first = console.run("chat", "-m", "my name is Ann", "--json").json
    assert first == {"ok": True, "session": first["session"], "answer": first["answer"], "messages": [first["answer"]]}
    second = console.run("chat", "--session", first["session"], "-m", "recall:", "--json").json
    assert second["session"] == first["session"]
    assert second["answer"] == "my name is Ann\nrecall:"
    assert console.run("chat", "-m", "recall:").out == "recall:\n", "without it a conversation is a new one"


def test_a_home_of_the_reference_is_used_and_its_own_files_stay_as_they_were(
    console: Console, server: OpenAIServer, settings: dict[str, object]
) -> None:
    foreign = {
        "SOUL.md": "You are the keeper of the old light.",
        "memories/MEMORY.md": "The lamp burns oil.\n§\nThe stairs have 99 steps.",
        "skills/light/DESCRIPTION.md": "---\ndescription: All about the light\n---\n",
        "skills/light/lamp/SKILL.md": "---\nname: lamp\ndescription: How the lamp is lit\n---\nLight it.\n",
        "skills/.archive/old/SKILL.md": "---\nname: old\ndescription: Out of use\n---\n",
        "skills/.hub/lock.json": "{}",
        "skills/.bundled_manifest": "lamp:abc\n",
        "skills/.usage.json": '{"lamp": {"use_count": 3, "state": "active", "created_by": "agent"}}',
        "skills/.curator_state": '{"run_count": 2}',
        "auth.json": "{}",
        "channel_directory.json": "{}",
    }
    for name, text in foreign.items():
        (console.home / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        (console.home / name).write_text(text, "utf-8")
    with closing(sqlite3.connect(console.home / "state.db")) as database:
        database.executescript("CREATE TABLE sessions (id TEXT); INSERT INTO sessions VALUES ('old');")
    theirs = (console.home / "state.db").read_bytes()
    model = {**cast("dict[str, object]", settings["model"]), "provider": "custom", "context_length": 100_000}
    console.configure(
        json.dumps({**settings, "model": model, "curator": {"enabled": True}, "goals": {"max_turns": 20}})
    )
    ran = console.run("chat", "-m", "hello")
    assert (ran.code, ran.out) == (0, "hello\n")
    assert "goals: a setting of hermes-agent that the gateway does not use" in ran.err
    assert {name: (console.home / name).read_text("utf-8") for name in foreign} == foreign
    assert (console.home / "state.db").read_bytes() == theirs
    asked = str(server.requests()[-1]["messages"][0]["content"])
    for said in ("keeper of the old light", "The lamp burns oil.", "  light: All about the light\n    - lamp: How the"):
        assert said in asked
    assert "Out of use" not in asked


def test_whoever_sits_at_the_machine_is_the_owner(console: Console) -> None:
    assert "owner" in console.run("chat", "-m", "/whoami").out


def test_lines_are_messages_of_one_conversation(console: Console) -> None:
    typed = b"one\n\n   \ntwo\nrecall:\n/exit\nnever said\n"
    ran = console.run("chat", stdin=typed)
    assert (ran.code, ran.out) == (0, "one\ntwo\none\ntwo\nrecall:\n")
    session = ran.err.split()[-1]
    assert console.run("chat", "--session", session, stdin=b"recall:").out == "one\ntwo\nrecall:\nrecall:\n"


def test_a_new_conversation_can_be_begun_in_between(console: Console) -> None:
    ran = console.run("chat", stdin=b"one\n/new\nrecall:\n")
    assert ran.out.splitlines()[-1] == "recall:"
    assert len(console.run("sessions", "list", "--json").json["sessions"]) == 2


@pytest.mark.parametrize(
    "said",
    ["שלום \u202eעולם", "今日は", "👩‍👩‍👧", "x" * 300_000, "a\ud83db", "NUL\0NUL", "  spaces\n\nand lines  "],
    ids=["rtl", "cjk", "emoji", "300 KB", "surrogate", "nul", "blank"],
)
def test_any_text_gets_an_answer(console: Console, said: str) -> None:
    document = console.run("chat", "-m", "-", "--json", stdin=said.encode("utf-8", "surrogatepass")).json
    expected = said.encode("utf-8", "surrogatepass").decode("utf-8", "replace").replace("\0", "").strip()
    assert document["answer"].strip() == expected


@pytest.mark.parametrize("arguments", [("-m", ""), ("-m", " \n\t"), ("-m", "-"), ("--json",)])
def test_nothing_to_say_is_a_mistake_of_the_command_line(console: Console, arguments: tuple[str, ...]) -> None:
    ran = console.run("chat", *arguments)
    assert ran.code == 2
    assert not (console.home / "state.db").exists()


def test_a_model_that_fails_is_a_failure_with_its_reason(console: Console, server: OpenAIServer) -> None:
    server.fault("unauthorized", times=9)
    ran = console.run("chat", "-m", "hello")
    assert (ran.code, ran.out) == (6, "")
    assert "does not accept the key" in ran.err
    assert "/retry" not in ran.err, "which nobody can send on a command line that has ended"
    document = console.run("chat", "-m", "hello", "--json").json
    assert (document["ok"], document["error"]["type"]) == (False, "auth")
    assert "does not accept the key" in document["error"]["message"]
    assert server.key not in ran.err + json.dumps(document)


def test_an_endpoint_that_does_not_answer_is_told_from_other_failures(
    console: Console, settings: dict[str, object]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        model = {"base_url": f"http://127.0.0.1:{closed.getsockname()[1]}/v1", "default": "fake"}
    console.configure(json.dumps({**settings, "model": model | {"context_length": 8000}}))
    ran = console.run("chat", "-m", "hello")
    assert (ran.code, ran.out) == (5, "")
    assert "cannot be reached" in ran.err
    assert ran.err.endswith("; see hermes-gateway doctor\n")


def test_a_failure_does_not_end_the_conversation(console: Console, server: OpenAIServer) -> None:
    server.fault("unauthorized")
    ran = console.run("chat", stdin=b"hello\n/retry\n")
    assert ran.code == 0
    assert ran.out.splitlines()[-1] == "hello"


def test_a_session_there_is_not_cannot_be_continued(console: Console) -> None:
    assert console.run("chat", "--session", "nope", "-m", "hi").code == 3
    console.write(lambda connection: None)
    ran = console.run("chat", "--session", "nope", "-m", "hi")
    assert (ran.code, ran.out) == (3, "")
    assert "there is no session nope" in ran.err


def test_a_session_of_another_chat_stays_there(console: Console) -> None:
    console.write(partial(begin, session_id="s1"))
    ran = console.run("chat", "--session", "s1", "-m", "recall:")
    assert (ran.code, ran.out) == (1, "")
    assert "belongs to agent:main:telegram:dm:42" in ran.err


def test_a_session_that_its_chat_has_left_is_continued_here(console: Console) -> None:
    console.write(partial(begin, session_id="s1"))
    console.write(lambda connection: bindings.leave_session(connection, private_key(TELEGRAM)))
    document = console.run("chat", "--session", "s1", "-m", "recall:", "--json").json
    assert document["session"] == "s1"
    assert document["answer"] == "remember the milk\nrecall:"
    assert console.run("chat", "--session", "s1", "-m", "again").code == 0


def test_what_waits_for_a_gateway_is_left_to_it(console: Console, server: OpenAIServer) -> None:
    """A command at the terminal neither answers other people's messages nor touches their deliveries."""

    def fill(connection: Connection) -> None:
        event = Event(id="e1", origin=TELEGRAM, sender=Sender("42"), text="a message of somebody else")
        lanes.put(connection, private_key(TELEGRAM), "e1", event, Role.MEMBER, command=False, limit=9)
        outbox.add(connection, [Outgoing(TELEGRAM, Part(Rendered("x", 1), "an answer on its way"))])

    console.write(fill)
    before = console.run("deliveries", "list", "--json").json, console.run("deliveries", "list", "--in", "--json").json
    assert console.run("chat", "-m", "hello").out == "hello\n"
    after = console.run("deliveries", "list", "--json").json, console.run("deliveries", "list", "--in", "--json").json
    assert after == before
    assert server.counts()["asked"] == 1


async def test_two_conversations_at_once_are_both_answered(console: Console, server: OpenAIServer) -> None:
    server.set(delay=0.2)
    async with talking(console) as first, talking(console) as second:
        one, two = first("say:one and a half"), second("say:two and a half")
        assert (await one).texts == ("one and a half",)
        assert (await two).texts == ("two and a half",)


# --- stopping


@pytest.mark.parametrize(("by", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "SIGTERM"])
def test_a_turn_that_is_stopped_leaves_nothing_behind(
    console: Console, server: OpenAIServer, by: signal.Signals, code: int
) -> None:
    server.set(delay=0.3)
    with process(console, "chat", "-m", "words:500") as chat:
        until(lambda: server.counts()["running"] > 0, "the question at the model")
        chat.send_signal(by)
        out, err = chat.communicate()
    assert (chat.returncode, out) == (code, b"")
    assert b"interrupted" in err
    until(lambda: server.counts()["running"] == 0, "the end of the question")
    assert [row["state"] for row in inbox(console)] == ["done", "discarded"]


def inbox(console: Console) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = console.run("deliveries", "list", "--in", "--all", "--json").json["deliveries"]
    return rows


async def test_a_person_at_a_terminal_sees_the_answer_grow(console: Console, server: OpenAIServer) -> None:
    server.set(delay=0.1)
    ours, theirs = pty.openpty()
    with process(console, "chat", "--no-color", stdin=theirs, stdout=theirs, stderr=theirs) as chat:
        os.close(theirs)
        screen = Terminal(ours)
        await screen.shows("> ")
        screen.types("words:30\n")
        await screen.shows("w3 ")
        assert "w30" not in screen.text, "the beginning is there before the end"
        await screen.shows("w30")
        screen.types("words:500\n")
        await screen.shows("w31 ")
        screen.types("\x03")
        await screen.shows("[stopped]")
        screen.types("say:still here\n")
        await screen.shows("\nstill here\n> ")
        screen.types("\x04")
        assert await asyncio.to_thread(chat.wait) == 0
    os.close(ours)
    assert screen.text.count("w30") == 2, "nothing is said twice"


class Terminal:
    """The person's side of a terminal."""

    def __init__(self, file: int) -> None:
        self._file = file
        self.text = ""

    def types(self, text: str) -> None:
        os.write(self._file, text.encode())

    async def shows(self, text: str) -> None:
        """Wait until the screen shows a text."""
        async with asyncio.timeout(SECONDS):
            while text not in self.text:
                read = await asyncio.to_thread(os.read, self._file, 65_536)
                self.text += read.decode().replace("\r\n", "\n")


# --- beside a gateway


@pytest.mark.usefixtures("server")
def test_a_gateway_that_runs_answers_and_delivers(console: Console) -> None:
    with gateway(console) as running:
        ran = console.run("chat", stdin=b"/status\none\nrecall:\n")
        assert (ran.code, ran.out.splitlines()[-3:]) == (0, ["one", "one", "recall:"])
        assert "Model: `fake`" in ran.out
        standing = console.run("status", "--json").json
        assert [worker["pid"] for worker in standing["processes"]] == [running.pid]
        until(lambda: states(console) == {"sent"}, "every part delivered")


def states(console: Console) -> set[str]:
    return {one.state for one in console.read(lambda connection: outbox.listed(connection, "all", 50))}


async def test_a_gateway_that_dies_leaves_the_answer_to_the_command_that_waits(
    console: Console, server: OpenAIServer
) -> None:
    server.set(delay=0.3)
    async with talking(console) as say:
        with gateway(console) as running:
            said = say("say:not lost and said once")
            await asyncio.to_thread(until, lambda: server.counts()["running"] > 0, "the question at the model")
            running.kill()
        server.set(delay=0.0)
        await asyncio.to_thread(console.write, _ten_seconds_pass)
        assert (await said).texts == ("not lost and said once",)
    rows = await asyncio.to_thread(inbox, console)
    assert [(row["state"], row["attempts"]) for row in rows] == [("done", 2)]


def _ten_seconds_pass(connection: Connection) -> None:
    """Whoever has not renewed by then is gone."""
    for worker in lease.living(connection):
        lease.leave(connection, worker.id)


@pytest.mark.usefixtures("server")
async def test_over_postgres_and_redis_a_worker_answers_and_without_one_the_command_does(
    console: Console, settings: dict[str, object], postgres_url: str, redis_url: str
) -> None:
    console.configure(json.dumps({**settings, "gateway": {"database": postgres_url, "bus": redis_url}}))
    config = load(console.home, environ={})
    plan = replace(plan_of(config), duties=Duties.WORKER)
    async with open_models(config.settings.model) as models, talking(console) as say:
        assert (await say("alone")).texts == ("alone",)
        worker = Gateway(plan, {PLATFORM: CommandLine()}, {plan.main.name: mind_of(config, models)})
        async with worker, beside(worker.run()) as (running,):
            async with asyncio.timeout(SECONDS):
                while len(worker.shards.held) < lanes.SHARDS:
                    await asyncio.sleep(0.05)
            assert (await say("recall:")).texts == ("alone\nrecall:",)
            assert worker.cache.figures.entries == 1, "the worker took the turn"
            worker.stop()
            await running


# --- with several profiles


@pytest.fixture
def coder(console: Console, settings: dict[str, object], tmp_path: Path) -> Console:
    """A terminal that speaks with another profile than the gateway's own."""
    home = tmp_path / "coder"
    home.mkdir()
    (home / "config.yaml").write_text("model: {default: other}", "utf-8")
    (home / "SOUL.md").write_text("You are the coder.", "utf-8")
    console.configure(json.dumps(settings | {"profiles": [{"home": str(home), "match": {"platform": "cli"}}]}))
    return console


def test_the_terminal_speaks_with_the_agent_of_its_rule(coder: Console, server: OpenAIServer) -> None:
    ran = coder.run("--json", "chat", "-m", "say:Hello, coder.")
    assert ran.json["answer"] == "Hello, coder."
    assert server.requests(1)[-1]["model"] == "other"
    assert "You are the coder." in server.requests(1)[-1]["messages"][0]["content"]
    session = ran.json["session"]
    assert coder.run("chat", "--session", session, "-m", "recall:").out == "say:Hello, coder.\nrecall:\n"
    assert "other" in coder.run("context", session).out


def test_a_conversation_is_measured_with_all_the_tools_that_go_with_it(coder: Console, server: OpenAIServer) -> None:
    session = coder.run("--json", "chat", "-m", "say:Hello").json["session"]
    sent = server.requests(1)[-1]["tools"]
    assert coder.run("--json", "context", session).json["parts"]["tools"]["number"] == len(sent)


def test_a_session_of_another_agent_is_not_continued_in_the_terminal(
    coder: Console, settings: dict[str, object]
) -> None:
    session = coder.run("--json", "chat", "-m", "say:Hello").json["session"]
    coder.configure(json.dumps(settings))
    ran = coder.run("chat", "--session", session, "-m", "say:Hello again")
    assert ran.code != 0
    assert f"the session {session} is of the profile coder, and the command line speaks with main" in ran.err


def test_the_terminal_speaks_with_its_agent_through_a_gateway_that_runs(coder: Console, server: OpenAIServer) -> None:
    with gateway(coder):
        assert coder.run("chat", "-m", "say:Good morning.").out == "Good morning.\n"
    assert server.requests(1)[-1]["model"] == "other"
