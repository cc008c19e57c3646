"""`health`: one question to a server on this machine."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gateway.cli import exits, main


@contextmanager
def server(answers: dict[str, tuple[int, bytes]]) -> Iterator[int]:
    """Answer by path; yield the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answers.get(self.path, (404, b""))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            return

    serving = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=serving.serve_forever)
    thread.start()
    try:
        yield serving.server_address[1]
    finally:
        serving.shutdown()
        thread.join()
        serving.server_close()


def ask(
    home: Path, capsys: pytest.CaptureFixture[str], port: int, *arguments: str, host: str = "127.0.0.1"
) -> tuple[int, str, str]:
    (home / "config.yaml").write_text(f"web: {{host: '{host}', port: {port}, admin_password_file: /none}}\n")
    with pytest.raises(SystemExit) as raised:
        main(["health", "--home", str(home), *arguments])
    captured = capsys.readouterr()
    assert isinstance(raised.value.code, int)
    return raised.value.code, captured.out, captured.err


WELL = {"/readyz": (200, b'{"status": "ready", "database": "ok"}'), "/healthz": (200, b'{"status": "ok"}')}


def test_a_gateway_that_is_well_is_exit_code_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with server(WELL) as port:
        assert ask(tmp_path, capsys, port) == (0, f"http://127.0.0.1:{port}/readyz: ready\n", "")
        assert ask(tmp_path, capsys, port, "--quick") == (0, f"http://127.0.0.1:{port}/healthz: ok\n", "")


def test_for_programs_the_answer_is_passed_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with server(WELL) as port:
        code, out, _ = ask(tmp_path, capsys, port, "--json")
    assert code == 0
    url = f"http://127.0.0.1:{port}/readyz"
    assert json.loads(out) == {"ok": True, "url": url, "status": "ready", "database": "ok"}


@pytest.mark.parametrize("body", [b'{"status": "draining"}', b"", b"not json", b"[1]", b"\xff"])
def test_a_gateway_that_is_not_ready_is_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: bytes
) -> None:
    with server({"/readyz": (503, body)}) as port:
        code, out, err = ask(tmp_path, capsys, port)
    assert (code, err) == (exits.FAILURE, "")
    assert out == f"http://127.0.0.1:{port}/readyz: {'draining' if b'draining' in body else 'HTTP 503'}\n"


@pytest.mark.parametrize("host", ["0.0.0.0", "localhost"])
def test_a_server_that_listens_everywhere_is_asked_on_this_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], host: str
) -> None:
    with server(WELL) as port:
        assert ask(tmp_path, capsys, port, host=host)[0] == 0


def test_a_proxy_of_the_environment_is_not_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with server(WELL) as port:
        assert ask(tmp_path, capsys, port)[0] == 0


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


def test_no_answer_is_exit_code_5_and_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port = closed_port()
    code, out, err = ask(tmp_path, capsys, port)
    assert (code, out) == (exits.UNREACHABLE, "")
    assert err == f"hermes-gateway: no gateway answers at http://127.0.0.1:{port}/readyz: Connection refused\n"
    code, out, _ = ask(tmp_path, capsys, port, "--json")
    assert (code, json.loads(out)["error"]["type"]) == (exits.UNREACHABLE, "unreachable")


def test_a_server_that_says_nothing_is_no_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        code, _, err = ask(tmp_path, capsys, silent.getsockname()[1], "--timeout", "0.2")
    assert code == exits.UNREACHABLE
    assert "timed out" in err


def test_a_server_of_another_kind_is_no_gateway(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def greet() -> None:
            connection, _ = other.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"220 mail.example.org ESMTP\r\n")

        thread = threading.Thread(target=greet)
        thread.start()
        port = other.getsockname()[1]
        code, _, err = ask(tmp_path, capsys, port)
        thread.join()
    assert code == exits.UNREACHABLE
    assert err == f"hermes-gateway: what answers at http://127.0.0.1:{port}/readyz is no gateway\n"


def test_a_configuration_that_is_wrong_is_exit_code_4(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.yaml").write_text("web: 1\n")
    with pytest.raises(SystemExit) as raised:
        main(["health", "--home", str(tmp_path)])
    assert raised.value.code == exits.CONFIG
    assert capsys.readouterr().err.startswith("config.yaml:1:6: web: expects keys with values")
