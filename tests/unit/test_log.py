"""The log: what is written of a line, where to, and what is never written."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import stat
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.home import Home
from gateway.log.context import bound
from gateway.log.redact import MASK, Redactor
from gateway.log.settings import LogSettings
from gateway.log.setup import LONGEST, configure

SECRET = 'pass"word\\with/odd é signs'
TELEGRAM = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1"
KEYS = {
    "openai": "sk-proj-abcDEF123456_7890-abcDEFghijkl",
    "openai old": "sk-abcdefghijklmnopqrstuvwxyz012345",
    "anthropic": "sk-ant-api03-abcDEF123456_7890-abcDEFghijkl",
    "telegram": TELEGRAM,
    "slack bot": "xoxb-123456789012-123456789012-abcdefABCDEF",
    "slack app": "xapp-1-A0123456789-123456789-abcdef0123456789",
    "slack hook": "hooks.slack.com/services/T00000000/B00000000/abcdefghijkl",
    "discord": "MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcdE.abcdefghijklmnopqrstuvwxyz0123456789AB",
    "github": "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github fine": "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "google": "AIzaSyA-abcdefghijklmnopqrstuvwxyz01234",
    "google oauth": "ya29.a0AfH6SMBabcdefghijklmnop",
    "hugging face": "hf_abcdefghijklmnopqrstuvwxyz",
    "stripe": "sk_live_abcdefghijklmnopqrstuvwx",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghijklmnop",
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nMIIabc/def+ghi=\n-----END RSA PRIVATE KEY-----",
}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


class Log:
    """A log that is being written, and read back."""

    def __init__(self, home: Home, terminal: io.StringIO) -> None:
        self.file, self.terminal = home.log_file, terminal

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.file.read_text("utf-8").splitlines()]

    @property
    def everything(self) -> str:
        return self.file.read_text("utf-8") + self.terminal.getvalue()


@contextmanager
def writing(home: Home, *, secrets: tuple[str, ...] = (SECRET,), **chosen: Any) -> Iterator[Log]:
    terminal = io.StringIO()
    with configure(LogSettings(**chosen), home, secrets, stream=terminal):
        yield Log(home, terminal)


class TestLines:
    def test_a_line_says_when_who_how_bad_and_what(self, home: Home) -> None:
        with writing(home) as log:
            logging.getLogger("gateway.turns").warning("turn %s took %.1f s", "t1", 2.5, extra={"tokens": 7})
        (line,) = log.lines
        assert line.pop("timestamp").endswith("Z")
        assert line == {"event": "turn t1 took 2.5 s", "tokens": 7, "logger": "gateway.turns", "level": "warning"}

    def test_structlog_and_logging_write_the_same_log(self, home: Home) -> None:
        with writing(home) as log:
            structlog.get_logger("gateway.a").info("one", n=1)
            logging.getLogger("gateway.b").info("two")
        assert [(line["event"], line["logger"]) for line in log.lines] == [("one", "gateway.a"), ("two", "gateway.b")]

    def test_session_turn_and_message_are_on_every_line_below(self, home: Home) -> None:
        async def turn(name: str) -> None:
            with bound(session=f"s{name}", turn=name):
                await asyncio.sleep(0)
                logging.getLogger("aiohttp").warning("in %s", name)

        async def both() -> None:
            async with asyncio.TaskGroup() as group:
                for name in "ab":
                    group.create_task(turn(name))

        with writing(home) as log:
            asyncio.run(both())
            logging.getLogger("gateway").info("after")
        assert [(line["event"], line.get("session"), line.get("turn")) for line in log.lines] == [
            ("in a", "sa", "a"),
            ("in b", "sb", "b"),
            ("after", None, None),
        ]

    def test_warnings_of_python_are_lines(self, home: Home) -> None:
        with writing(home) as log, warnings.catch_warnings():
            warnings.simplefilter("always")
            logging.captureWarnings(capture=True)
            warnings.warn("old thing", DeprecationWarning, stacklevel=1)
        assert "DeprecationWarning: old thing" in log.lines[0]["event"]

    def test_an_exception_is_on_its_line(self, home: Home) -> None:
        with writing(home) as log:
            try:
                raise KeyError("gone")
            except KeyError:
                logging.getLogger("gateway").exception("it broke")
        (line,) = log.lines
        assert line["event"] == "it broke"
        assert line["exception"].splitlines()[-1] == "KeyError: 'gone'"

    @pytest.mark.parametrize(
        "text", ["", "東京 🤖 مرحبا", "a\0b", "half \ud83d", "\x1b[31mred", "line\nline", "x" * 10]
    )
    def test_any_text_is_a_line_of_json(self, home: Home, text: str) -> None:
        with writing(home) as log:
            logging.getLogger("gateway").info(text, extra={"more": [text, {text: text}]})
        (line,) = log.lines
        assert line["event"] == text
        assert line["more"] == [text, {text: text}]

    def test_a_text_without_end_is_cut(self, home: Home) -> None:
        with writing(home) as log:
            logging.getLogger("gateway").info("x" * 300_000)
        assert log.lines[0]["event"] == f"{'x' * LONGEST}… [300000 characters]"

    def test_what_cannot_be_shown_is_named(self, home: Home) -> None:
        class Rude:
            def __repr__(self) -> str:
                raise RuntimeError("no")

        loop: list[Any] = []
        loop.append(loop)
        with writing(home) as log:
            logging.getLogger("gateway").info("here", extra={"a": Rude(), "b": float("nan"), "c": b"\xff", "d": loop})
        line = log.lines[0]
        assert (line["a"], line["b"], line["c"]) == ("<Rude>", "nan", "b'\\xff'")

    def test_a_line_that_cannot_be_made_is_said_without_its_content(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with writing(home) as log:
            logging.getLogger("gateway.x").info("%d", SECRET)
            logging.getLogger("gateway.x").info("the next")
        said = capsys.readouterr().err
        assert "a line of gateway.x:" in said
        assert "cannot be logged: TypeError" in said
        assert "pass" not in said
        assert [line["event"] for line in log.lines] == ["the next"]


class TestSecrets:
    def test_ours_are_taken_out_of_text_arguments_values_and_names(self, home: Home) -> None:
        with writing(home) as log:
            logger = logging.getLogger("gateway")
            whole = f"text {SECRET}"
            logger.info(whole)
            logger.info("argument %s", SECRET)
            logger.info("values", extra={"a": SECRET, "b": [SECRET, (SECRET,)], "c": {SECRET: {"d": SECRET}}})
            structlog.get_logger("gateway").info("structlog", a=SECRET)
            with bound(session=SECRET):
                logger.info("bound")
        assert "pass" not in log.everything
        assert log.everything.count(MASK) >= 18

    def test_ours_are_taken_out_of_tracebacks_and_their_causes(self, home: Home) -> None:
        with writing(home) as log:
            try:
                try:
                    raise ValueError(SECRET)
                except ValueError as error:
                    raise RuntimeError(f"at https://bot:{SECRET}@host/") from error
            except RuntimeError:
                logging.getLogger("gateway").exception("it broke with %s", SECRET)
        assert "RuntimeError" in log.everything
        assert "odd" not in log.everything.replace("SECRET", "")

    def test_ours_are_taken_out_of_objects(self, home: Home) -> None:
        class Request:
            def __repr__(self) -> str:
                return f"<Request to {SECRET}>"

        with writing(home) as log:
            logging.getLogger("gateway").info("sending %s", Request(), extra={"request": Request(), "all": {Request()}})
        assert "odd" not in log.everything
        assert log.lines[0]["request"] == f"<Request to {MASK}>"

    @pytest.mark.parametrize("logger", ["aiohttp.access", "uvicorn.access", "aiogram.event", "asyncio", "py.warnings"])
    def test_libraries_are_no_exception(self, home: Home, logger: str) -> None:
        with writing(home) as log:
            logging.getLogger(logger).error('"POST /bot%s/getMe HTTP/1.1" 200', TELEGRAM)
        assert TELEGRAM.partition(":")[2] not in log.everything
        assert len(log.lines) == 1

    def test_a_server_with_handlers_of_its_own_uses_ours(self, home: Home) -> None:
        stray = io.StringIO()
        handler = logging.StreamHandler(stray)
        logging.getLogger("uvicorn.access").addHandler(handler)
        with writing(home) as log:
            logging.getLogger("uvicorn.access").warning("seen")
        assert [line["event"] for line in log.lines] == ["seen"]
        assert stray.getvalue() == ""

    def test_values_that_are_called_like_a_secret_are_taken_out(self, home: Home) -> None:
        with writing(home, secrets=()) as log:
            logging.getLogger("gateway").info("x", extra={"api_key": "abc", "headers": {"Authorization": "Basic abc"}})
            logging.getLogger("gateway").info("y", extra={"prompt_tokens": 12, "token": ""})
        assert log.lines[0]["api_key"] == MASK
        assert log.lines[0]["headers"] == {"Authorization": MASK}
        assert log.lines[1]["prompt_tokens"] == 12


class TestRedactor:
    @pytest.mark.parametrize("kind", KEYS)
    @pytest.mark.parametrize("around", ["{}", "key={} end", '{{"k": "{}"}}', "https://x.org/{}/me", "\n{}\n", "_{}_"])
    def test_keys_of_the_known_kinds_are_taken_out(self, kind: str, around: str) -> None:
        key = KEYS[kind]
        shown = Redactor()(around.format(key))
        assert key not in shown
        assert key[-10:] not in shown
        assert MASK in shown

    def test_a_token_within_the_address_of_its_platform_is_taken_out(self) -> None:
        text = f"GET https://api.telegram.org/bot{TELEGRAM}/getMe and /file/bot{TELEGRAM}/a.jpg"
        assert Redactor()(text) == f"GET https://api.telegram.org/{MASK}/getMe and /file/{MASK}/a.jpg"

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("Authorization: Bearer abcdef123456", "Authorization: ***"),
            ("bearer abc123def456", "bearer ***"),
            ("authorization: Basic dXNlcjpwYXNz", "authorization: ***"),
            ("postgresql://user:pass@host/db", "postgresql://user:***@host/db"),
            ("redis://:pass@host:6379/0", "redis://:***@host:6379/0"),
            ("https://u:p%40ss@host/x and http://v:w@y", "https://u:***@host/x and http://v:***@y"),
            (
                "https://discord.com/api/webhooks/12345678/abcdefghijklmnopqrstuvwxyz",
                "https://discord.com/api/webhooks/***",
            ),
            ('{"api_key": "abcd1234", "n": 1}', '{"api_key": "***", "n": 1}'),
            ("?access_token=abcd1234&x=1", "?access_token=***&x=1"),
            ("x-api-key: abcd1234", "x-api-key: ***"),
            ("password='abcd1234'", "password='***'"),
            ("client_secret=abcd1234", "client_secret=***"),
        ],
    )
    def test_what_stands_behind_a_telling_name_is_taken_out(self, text: str, shown: str) -> None:
        assert Redactor()(text) == shown

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "The bearer of this letter is known.",
            "a basic understanding of tokens",
            "task-management-and-other-things-to-do",
            "prompt_tokens=123 completion_tokens=4",
            "https://example.org/a/b?c=d#e",
            "http://localhost:8642/chat",
            "telegram:123456789:42",
            "2026-11-29T23:30:15.137633Z",
            "0123456789abcdef0123456789abcdef01234567",
            "f47ac10b-58cc-4372-a567-0e02b2c3d479",
            "/usr/lib/python3.11/site-packages/aiohttp/client.py",
            "東京 トークン",
            "gateway.agent.context.compressor.boundaries",
        ],
    )
    def test_other_text_is_left_alone(self, text: str) -> None:
        assert Redactor()(text) == text

    @pytest.mark.parametrize(
        "secret", [SECRET, "päss wörd 🤖", "a+b/c=d&e f", "back\\slash\n", "half \ud83d", "%41%42%43"]
    )
    def test_ours_are_known_in_every_way_they_can_be_written(self, secret: str) -> None:
        from urllib.parse import quote, quote_plus

        redact = Redactor([secret])
        raw = secret.encode("utf-8", "surrogatepass")
        written = [secret, json.dumps(secret), json.dumps(secret, ensure_ascii=False), repr(secret)]
        for form in (*written, quote(raw), quote(raw, safe=""), quote_plus(raw)):
            assert redact(f"({form})") in {f"({MASK})", f'("{MASK}")', f"('{MASK}')"}

    def test_a_secret_within_another_leaves_nothing_of_it(self) -> None:
        redact = Redactor(["hunter2", "hunter2-and-more", "more-hunter2"])
        assert redact("hunter2-and-more hunter2 more-hunter2") == f"{MASK} {MASK} {MASK}"

    def test_a_short_secret_is_taken_out_only_where_it_stands_alone(self) -> None:
        assert Redactor(["cat1"])("cat1 concat123 cat1.") == f"{MASK} concat123 {MASK}."

    def test_a_secret_of_a_few_signs_protects_nothing(self) -> None:
        assert Redactor(["a", "", "abc"])("a abc") == "a abc"

    @settings(max_examples=200, deadline=None)
    @given(st.text(max_size=30), st.text(min_size=8, max_size=20), st.text(max_size=30))
    def test_no_secret_comes_through_whatever_stands_around_it(self, before: str, secret: str, after: str) -> None:
        assert secret not in Redactor([secret])(before + secret + after).replace(MASK, "\0\0\0")

    @pytest.mark.parametrize(
        "text",
        [
            "-" * 300_000,
            "eyJ-" * 75_000,
            "a.b-" * 75_000,
            "1234567:" * 40_000,
            "x://y:" * 50_000,
            "key:" * 75_000,
            "-----BEGIN PRIVATE KEY-----" * 11_000,
            "bearer " * 43_000,
            "sk-" * 100_000,
            " " * 300_000,
        ],
        ids=lambda text: text[:12],
    )
    def test_a_text_made_to_take_forever_does_not(self, text: str) -> None:
        # Where the work grew with the square of the text, this would run into the time limit of all tests.
        shown = Redactor([SECRET])(text + SECRET)
        assert shown.endswith(MASK)
        assert SECRET not in shown


class TestPlaces:
    def test_the_file_and_its_directory_are_for_their_owner(self, home: Home) -> None:
        with writing(home) as log:
            logging.getLogger("gateway").info("x")
        assert stat.S_IMODE(log.file.stat().st_mode) == 0o600
        assert stat.S_IMODE(log.file.parent.stat().st_mode) == 0o700

    def test_a_full_file_is_put_aside_and_only_so_many_are_kept(self, home: Home) -> None:
        with writing(home, max_megabytes=0.001, keep=2) as log:
            for number in range(60):
                logging.getLogger("gateway").info("line %d", number)
        files = sorted(file.name for file in log.file.parent.iterdir())
        assert files == ["agent.log", "agent.log.1", "agent.log.2"]
        assert all(file.stat().st_size < 1300 for file in log.file.parent.iterdir())
        assert log.lines[-1]["event"] == "line 59"

    def test_a_file_that_somebody_moved_is_begun_anew(self, home: Home) -> None:
        with writing(home) as log:
            logging.getLogger("gateway").info("one")
            log.file.rename(log.file.with_suffix(".old"))
            logging.getLogger("gateway").info("two")
            log.file.unlink()
            logging.getLogger("gateway").info("three")
        assert [line["event"] for line in log.lines] == ["three"]
        assert "one" in log.file.with_suffix(".old").read_text()

    def test_two_processes_of_one_home_lose_no_line(self, home: Home) -> None:
        code = (
            "import sys, logging, io, pathlib; from gateway.home import Home; from gateway.log.setup import configure; "
            "from gateway.log.settings import LogSettings\n"
            "with configure(LogSettings(max_megabytes=0.005, keep=100), Home(pathlib.Path(sys.argv[1])), (), "
            "stream=io.StringIO()):\n"
            "    for n in range(150): logging.getLogger('gateway').info('%s %d', sys.argv[2], n)\n"
        )
        running = [subprocess.Popen([sys.executable, "-c", code, str(home.path), name]) for name in "ab"]
        assert [process.wait() for process in running] == [0, 0]
        lines = [json.loads(line)["event"] for file in home.logs.iterdir() for line in file.read_text().splitlines()]
        assert sorted(lines) == sorted(f"{name} {n}" for name in "ab" for n in range(150))

    def test_a_full_disk_is_said_once_and_nothing_of_the_lines(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        if not os.path.exists("/dev/full"):
            pytest.fail("this test needs /dev/full, which Linux has")
        home.logs.mkdir()
        home.log_file.symlink_to("/dev/full")
        with writing(home):
            for _ in range(3):
                logging.getLogger("gateway").info(SECRET)
        said = capsys.readouterr().err
        assert said.count("No space left on device") == 1
        assert "odd" not in said

    def test_a_place_that_cannot_be_written_is_an_os_error(self, home: Home) -> None:
        home.logs.write_text("")
        with pytest.raises(OSError, match=r"File exists|Not a directory"), writing(home):
            pass

    def test_for_machines_the_terminal_shows_json(self, home: Home) -> None:
        with writing(home) as log:
            logging.getLogger("gateway").info("x")
        assert json.loads(log.terminal.getvalue()) == log.lines[0]

    def test_for_people_the_terminal_shows_text_that_cannot_steer_it(self, home: Home) -> None:
        with writing(home, format="text") as log:
            try:
                raise ValueError("\x1b]0;title\x07")
            except ValueError:
                logging.getLogger("gateway").exception("hello \x1b[2J\n\x9b31m %s", "東京", extra={"k": "v\r"})
        shown = log.terminal.getvalue()
        assert "hello \\x1b[2J\\x0a\\x9b31m 東京" in shown
        assert "k=v\\x0d" in shown
        assert "ValueError: \\x1b]0;title\\x07" in shown
        assert not {character for character in shown if ord(character) < 32} - {"\n"}

    def test_a_terminal_that_knows_no_emoji_gets_escapes(self, home: Home) -> None:
        raw = io.BytesIO()
        terminal = io.TextIOWrapper(raw, "ascii", write_through=True)
        with configure(LogSettings(format="text"), home, (), stream=terminal):
            logging.getLogger("gateway").info("🤖 \ud83d")
        assert b"\\U0001f916 \\ud83d" in raw.getvalue()

    def test_colours_are_for_those_who_ask(self, home: Home) -> None:
        shown = []
        for color in (True, False, None):
            terminal = io.StringIO()
            with configure(LogSettings(format="text"), home, (), stream=terminal, color=color):
                logging.getLogger("gateway").warning("x")
            shown.append("\x1b[" in terminal.getvalue())
        assert shown == [True, False, False]


class TestLevels:
    def events(self, home: Home, **chosen: Any) -> list[str]:
        with writing(home, **chosen) as log:
            for name in ("gateway.turns", "gateway.agent.context.prune", "httpx2", "aiogram.event"):
                for level in ("debug", "info", "warning"):
                    getattr(logging.getLogger(name), level)("%s %s", name.rpartition(".")[2], level)
        return [line["event"] for line in log.lines]

    def test_libraries_that_tell_every_request_are_heard_from_warning_on(self, home: Home) -> None:
        assert self.events(home) == [
            "turns info",
            "turns warning",
            "prune info",
            "prune warning",
            "httpx2 warning",
            "event warning",
        ]

    @pytest.mark.parametrize("name", ["httpx", "httpcore.http11"])
    def test_what_a_memory_service_is_asked_for_is_not_written_down(self, home: Home, name: str) -> None:
        with writing(home) as log:
            logging.getLogger(name).info("GET /context?search_query=%s", "my secret")
        assert log.lines == []

    @pytest.mark.parametrize(("level", "heard"), [("info", ["cannot serve"]), ("debug", ["Started", "cannot serve"])])
    def test_what_the_server_says_of_its_own_start_is_heard_only_where_everything_is(
        self, home: Home, level: str, heard: list[str]
    ) -> None:
        with writing(home, level=level) as log:
            logging.getLogger("uvicorn.error").info("Started")
            logging.getLogger("uvicorn.error").error("cannot serve")
        assert [line["event"] for line in log.lines] == heard

    def test_debug_is_everything(self, home: Home) -> None:
        assert len(self.events(home, level="debug")) == 12

    def test_a_part_has_a_level_of_its_own_by_its_name_here(self, home: Home) -> None:
        assert self.events(home, levels={"compression": "warning", "turns": "debug", "httpx2": "info"}) == [
            "turns debug",
            "turns info",
            "turns warning",
            "prune warning",
            "httpx2 info",
            "httpx2 warning",
            "event warning",
        ]

    def test_whatever_was_set_before_holds_again_afterwards(self, home: Home) -> None:
        root = logging.getLogger()
        before = root.handlers[:], root.level, logging.getLogger("httpx2").level
        with writing(home, level="debug", levels={"httpx2": "error"}):
            assert root.handlers != before[0]
        assert (root.handlers[:], root.level, logging.getLogger("httpx2").level) == before


def test_only_the_set_up_imports_structlog() -> None:
    code = "import sys, gateway.log.settings, gateway.log.redact; print('structlog' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"
