"""An OpenAI-compatible endpoint that is strict about what it is sent, says what it is told, and fails on demand.

A process of its own: ``python -m tests.fakes.openai_server --port 0`` prints its base URL. In a test::

    with OpenAIServer() as server:                  # or: async with
        server.say("Hello", calls=[("current_time", {})])   # the next answer, whoever asks
        server.fault("busy", retry_after=2, times=2)        # the next two requests
        ...                                                 # server.base_url, server.key
        assert server.violations() == []

Without a script the answer follows from what the last user message says, so that a conversation is the same however
often it is asked again:

- ``say:TEXT``: that text, to the end of the message
- ``tool:NAME:{…}``, one to a line: those calls at once; a line ``then`` begins the next round of calls; when all are
  answered: the text after ``say:``, else what the tools answered, a line each
- ``words:N``: N numbered words; ``recall:``: all the user has said, a line each
- anything else: the same text back

Faults: ``busy`` (429), ``error`` (500), ``overloaded`` (529), ``unauthorized``, ``missing`` (404), ``overflow`` (400),
``html``, ``truncate``, ``malformed``, ``error_chunk``, ``disconnect``, ``stall``, ``empty``, ``filter``, ``length``,
``status`` with ``status=`` and ``message=``; ``after`` counts the text chunks sent before a stream fails, ``chunk`` is
what ``malformed`` sends.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import http.client
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson
from aiohttp import web

from tests.fakes.openai_rules import fault_of

KEY = "sk-fake-0123456789abcdef"
STREAM = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
STATUSES = {
    "busy": (429, "Rate limit reached for requests", "rate_limit_exceeded"),
    "error": (500, "The server had an error while processing your request", "server_error"),
    "overloaded": (529, "Overloaded", "overloaded_error"),
    "unauthorized": (401, "Incorrect API key provided: sk-fake-0123****cdef.", "invalid_api_key"),
    "missing": (404, "The model `fake` does not exist or you do not have access to it.", "model_not_found"),
    "overflow": (400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded"),
    "status": (400, "Bad request", None),
}
BROKEN_STREAMS = {"truncate", "malformed", "error_chunk", "disconnect", "stall"}
CALL = re.compile(r"^\s*tool:([^:\s]+):(\{.*\})\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Said:
    """An answer: a text, calls as (name, JSON text of the arguments), and why it ended."""

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    ending: str = "stop"


@dataclass(slots=True)
class State:
    """What the control routes set, and what they show."""

    key: str = KEY
    models: list[str] = field(default_factory=lambda: ["fake"])
    windows: dict[str, int] = field(default_factory=dict)
    delay: float = 0.0
    refuse: list[str] = field(default_factory=list)
    script: deque[Said] = field(default_factory=deque)
    faults: deque[dict[str, Any]] = field(default_factory=deque)
    violations: list[str] = field(default_factory=list)
    log: deque[bytes] = field(default_factory=lambda: deque(maxlen=1000))
    asked: int = 0
    running: int = 0

    def reset(self, initial: State) -> None:
        """Take every field from another state, but for what still runs."""
        running = self.running
        for each in fields(self):
            setattr(self, each.name, getattr(initial, each.name))
        self.running = running

    def next_fault(self) -> dict[str, Any]:
        if not self.faults:
            return {}
        fault = self.faults[0]
        fault["times"] -= 1
        if fault["times"] <= 0:
            self.faults.popleft()
        return fault


STATE = web.AppKey("state", State)
INITIAL = web.AppKey("initial", State)


# --- what it says


def answer_to(messages: Sequence[dict[str, Any]]) -> Said:
    """Derive the answer from the conversation alone."""
    last = max((number for number, message in enumerate(messages) if message["role"] == "user"), default=0)
    asked = text_of(messages[last])
    rounds = [tuple(CALL.findall(part)) for part in re.split(r"^\s*then\s*$", asked, flags=re.MULTILINE)]
    rounds = [calls for calls in rounds if calls]
    since = messages[last + 1 :]
    done = sum(1 for message in since if message.get("tool_calls"))
    if done < len(rounds):
        return Said(calls=rounds[done], ending="tool_calls")
    _, say, said = asked.partition("say:")
    if say:
        return Said(said.strip() or "…")
    if since:
        return Said("\n".join(text_of(message) for message in since if message["role"] == "tool") or "…")
    if count := re.search(r"words:(\d+)", asked):
        return Said(" ".join(f"w{number}" for number in range(1, int(count[1]) + 1)))
    if "recall:" in asked:
        return Said("\n".join(text_of(message) for message in messages if message["role"] == "user"))
    return Said(asked)


def text_of(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content or ""


def words(text: str) -> list[str]:
    """Cut a text as a model would stream it; joined again it is the same."""
    return re.findall(r"\s*\S+\s*$|\s*\S+", text) or ([text] if text else [])


def call_id(messages: Sequence[dict[str, Any]], number: int) -> str:
    """Name a call so that asking again names it the same, and no other call of the conversation is named so."""
    seed = orjson.dumps([len(messages), number, messages[-1]])
    return "call_" + hashlib.sha256(seed).hexdigest()[:20]


def usage_of(body: bytes, said: Said) -> dict[str, Any]:
    prompt = max(1, len(body) // 4)
    completion = max(1, len(said.text) // 4 + sum(len(arguments) for _, arguments in said.calls) // 4)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": prompt // 2},
    }


# --- how it says it


class Chunks:
    """The chunks of one streamed answer, as bytes ready to send."""

    def __init__(self, body: dict[str, Any], raw: bytes, said: Said) -> None:
        self._body, self._said, self._raw = body, said, raw
        head = orjson.dumps({"id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": 0})[:-1]
        self._head = b"data: " + head + b',"model":' + orjson.dumps(body["model"]) + b","

    def _event(self, rest: dict[str, Any]) -> bytes:
        return self._head + orjson.dumps(rest)[1:] + b"\n\n"

    def _delta(self, delta: dict[str, Any], ending: str | None = None) -> bytes:
        return self._event({"choices": [{"index": 0, "delta": delta, "finish_reason": ending}]})

    def opening(self) -> bytes:
        return self._delta({"role": "assistant", "content": None})

    def text(self) -> Iterator[bytes]:
        for word in words(self._said.text):
            yield self._delta({"content": word})

    def calls(self) -> Iterator[bytes]:
        for number, (name, arguments) in enumerate(self._said.calls):
            call = {"index": number, "id": call_id(self._body["messages"], number), "type": "function"}
            yield self._delta({"tool_calls": [call | {"function": {"name": name, "arguments": ""}}]})
            half = len(arguments) // 2
            for part in (arguments[:half], arguments[half:]):
                yield self._delta({"tool_calls": [{"index": number, "function": {"arguments": part}}]})

    def closing(self) -> bytes:
        usage = b""
        if (self._body.get("stream_options") or {}).get("include_usage"):
            usage = self._event({"choices": [], "usage": usage_of(self._raw, self._said)})
        return self._delta({}, self._said.ending) + usage + b"data: [DONE]\n\n"


def whole(body: dict[str, Any], raw: bytes, said: Said) -> dict[str, Any]:
    """Answer in one piece."""
    calls = [
        {
            "id": call_id(body["messages"], number),
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        for number, (name, arguments) in enumerate(said.calls)
    ]
    message = {"role": "assistant", "content": said.text or None} | ({"tool_calls": calls} if calls else {})
    return {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": said.ending}],
        "usage": usage_of(raw, said),
    }


async def send_stream(request: web.Request, chunks: Chunks, fault: dict[str, Any]) -> web.StreamResponse:
    """Send a stream word by word, and break it where the fault says."""
    response = web.StreamResponse(headers=STREAM)
    await response.prepare(request)
    await response.write(chunks.opening())
    left = fault.get("after", 1) if fault else -1
    for chunk in chunks.text():
        if left == 0:
            break
        left -= 1
        await response.write(chunk)
        if request.app[STATE].delay:
            await asyncio.sleep(request.app[STATE].delay)
    if fault:
        await break_stream(request, response, fault)
        return response
    for chunk in chunks.calls():
        await response.write(chunk)
    await response.write(chunks.closing())
    return response


async def break_stream(request: web.Request, response: web.StreamResponse, fault: dict[str, Any]) -> None:
    match fault["kind"]:
        case "malformed":
            await response.write(b"data: " + fault.get("chunk", '{"choices": [{"index": 0, "del').encode() + b"\n\n")
        case "error_chunk":
            error = {"message": fault.get("message", "the engine died"), "type": fault.get("type", "server_error")}
            await response.write(b"data: " + orjson.dumps({"error": error | {"code": fault.get("code")}}) + b"\n\n")
        case "disconnect":
            if request.transport is not None:
                request.transport.abort()
        case "stall":
            await asyncio.sleep(fault.get("seconds", 3600.0))


# --- the routes


def error(status: int, message: str, code: str | None = None, headers: dict[str, str] | None = None) -> web.Response:
    body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}
    return web.json_response(body, status=status, headers=headers)


def unauthorized(request: web.Request) -> web.Response | None:
    key = request.app[STATE].key
    if not key or request.headers.get("Authorization") == f"Bearer {key}":
        return None
    return error(401, "Incorrect API key provided.", "invalid_api_key")


async def models(request: web.Request) -> web.Response:
    state = request.app[STATE]
    if refused := unauthorized(request):
        return refused
    listed = [
        {"id": name, "object": "model", "created": 0, "owned_by": "tests"}
        | ({"context_length": state.windows[name]} if name in state.windows else {})
        for name in state.models
    ]
    return web.json_response({"object": "list", "data": listed})


async def completions(request: web.Request) -> web.StreamResponse:
    state = request.app[STATE]
    state.asked += 1
    state.running += 1
    try:
        return await answer(request, state)
    finally:
        state.running -= 1


async def answer(request: web.Request, state: State) -> web.StreamResponse:
    raw = await request.read()
    state.log.append(raw)
    fault = state.next_fault()
    if refused := unauthorized(request) or refusal(fault):
        return refused
    try:
        body: dict[str, Any] = orjson.loads(raw)
    except orjson.JSONDecodeError as problem:
        state.violations.append(f"not JSON: {problem}")
        return error(400, "We could not parse the JSON body of your request.")
    if violation := fault_of(body):
        state.violations.append(violation)
        return error(400, f"Invalid request: {violation}")
    if body["model"] not in state.models:
        return error(404, f"The model `{body['model']}` does not exist.", "model_not_found")
    if unknown := [name for name in state.refuse if name in body]:
        return error(400, f"Unrecognized request argument supplied: {unknown[0]}")
    return await speak(request, body, raw, fault)


def refusal(fault: dict[str, Any]) -> web.Response | None:
    """Answer a request with a status instead of a stream."""
    kind = fault.get("kind")
    if kind == "html":
        return web.Response(text="<!doctype html><title>Welcome</title><p>Log in", content_type="text/html")
    if kind not in STATUSES:
        return None
    status, message, code = STATUSES[kind]
    headers = {"Retry-After": str(fault["retry_after"])} if "retry_after" in fault else {}
    headers |= fault.get("headers", {})
    return error(fault.get("status", status), fault.get("message", message), fault.get("code", code), headers)


async def speak(request: web.Request, body: dict[str, Any], raw: bytes, fault: dict[str, Any]) -> web.StreamResponse:
    state = request.app[STATE]
    said = state.script.popleft() if state.script else answer_to(body["messages"])
    match fault.get("kind"):
        case "empty":
            said = Said()
        case "filter":
            said = Said(said.text, ending="content_filter")
        case "length":
            said = Said(" ".join(said.text.split(" ")[: fault.get("after", 1)]), ending="length")
    if not body.get("stream"):
        return web.json_response(whole(body, raw, said))
    chunks = Chunks(body, raw, said)
    broken = fault if fault.get("kind") in BROKEN_STREAMS else {}
    if broken or state.delay:
        return await send_stream(request, chunks, broken)
    # One write for all: what the benchmark measures is us, not this server.
    parts = [chunks.opening(), *chunks.text(), *chunks.calls(), chunks.closing()]
    return web.Response(body=b"".join(parts), headers=STREAM)


# --- the control routes


async def control(request: web.Request) -> web.Response:
    """Set and show what the tests want: one route, so that the client below is one function."""
    state = request.app[STATE]
    what, given = request.match_info["what"], orjson.loads(await request.read() or b"{}")
    match request.method, what:
        case "GET", "requests":
            last = int(request.query.get("last", "0"))
            return web.json_response([orjson.loads(raw) for raw in list(state.log)[-last:]])
        case "GET", "violations":
            return web.json_response(state.violations)
        case "GET", "counts":
            return web.json_response({"asked": state.asked, "running": state.running})
        case "POST", "say":
            calls = tuple((name, arguments) for name, arguments in given.get("calls", ()))
            state.script.append(Said(given.get("text", ""), calls, given.get("ending", "stop")))
        case "POST", "fault":
            state.faults.append({"times": 1} | given)
        case "POST", "set":
            for name in given.keys() & {"key", "models", "windows", "delay", "refuse"}:
                setattr(state, name, given[name])
            if "log" in given:
                state.log = deque(maxlen=given["log"])
        case "POST", "reset":
            state.reset(deepcopy(request.app[INITIAL]))
        case _:
            return web.json_response({"unknown": what}, status=404)
    return web.json_response({})


def application(initial: State) -> web.Application:
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app[INITIAL], app[STATE] = initial, deepcopy(initial)
    app.router.add_get("/v1/models", models)
    app.router.add_post("/v1/chat/completions", completions)
    app.router.add_route("*", "/control/{what}", control)
    return app


async def serve(app: web.Application, port: int) -> AsyncIterator[str]:
    """Listen, yield the base URL, and stop when asked for more."""
    # Without the cancellation an answer to somebody who has left would run on, and count as running.
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    await runner.cleanup()


async def run(options: argparse.Namespace) -> None:
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    if options.until_eof:

        def wait_for_eof() -> None:
            sys.stdin.buffer.read()
            loop.call_soon_threadsafe(ended.set)

        threading.Thread(target=wait_for_eof, daemon=True).start()
    initial = State(key=options.key, models=options.model or ["fake"], delay=options.delay)
    async for url in serve(application(initial), options.port):
        print(url, flush=True)
        await ended.wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.openai_server")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--key", default=KEY, help="the API key it wants; empty: none")
    parser.add_argument("--model", action="append", help="a model it has; may be given more than once")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds between two words")
    parser.add_argument("--until-eof", action="store_true", help="end when standard input does")
    try:
        asyncio.run(run(parser.parse_args()))
    except KeyboardInterrupt:
        return


# --- the client side


class OpenAIServer:
    """Starts the server and steers it. Plain calls that return in a millisecond: the server is another process."""

    def __init__(self, *, port: int = 0, key: str = KEY, models: Sequence[str] = ("fake",), delay: float = 0.0) -> None:
        self._port, self.key, self._models, self._delay = port, key, models, delay
        self._process: subprocess.Popen[bytes] | None = None
        self.base_url = ""

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.fakes.openai_server", "--until-eof", "--port", str(self._port)]
        command += ["--key", self.key, "--delay", str(self._delay)]
        command += [part for model in self._models for part in ("--model", model)]
        root = Path(__file__).resolve().parents[2]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root)
        assert self._process.stdout is not None
        self.base_url = self._process.stdout.readline().decode().strip()
        if not self.base_url:
            raise RuntimeError("the fake model server did not start")

    def stop(self) -> None:
        """End the process at once, as an endpoint that goes down would."""
        if self._process is None:
            return
        self._process.kill()
        self._process.communicate()
        self._process = None

    def say(self, text: str = "", *, calls: Sequence[tuple[str, Any]] = (), ending: str = "") -> None:
        """Script the next answer; arguments as an object, or as text to be sent to the letter."""
        written = [(name, given if isinstance(given, str) else orjson.dumps(given).decode()) for name, given in calls]
        ending = ending or ("tool_calls" if written else "stop")
        self._control("POST", "say", {"text": text, "calls": written, "ending": ending})

    def fault(self, kind: str, *, times: int = 1, **details: Any) -> None:
        """Let the next requests fail."""
        self._control("POST", "fault", {"kind": kind, "times": times} | details)

    def set(self, **settings: Any) -> None:
        """Set key, models, windows (tokens by model), delay (seconds a word), refuse (parameters) or log (length)."""
        self._control("POST", "set", settings)

    def requests(self, last: int = 0) -> list[dict[str, Any]]:
        """Return the bodies of the last requests, oldest first; all that are kept for 0."""
        return list(self._control("GET", f"requests?last={last}"))

    def violations(self) -> list[str]:
        """Say what a strict provider would have refused."""
        return list(self._control("GET", "violations"))

    def counts(self) -> dict[str, int]:
        """Count the requests ever asked and those that run now."""
        return dict(self._control("GET", "counts"))

    def reset(self) -> None:
        self._control("POST", "reset", {})

    def _control(self, method: str, path: str, given: object = None) -> Any:
        connection = http.client.HTTPConnection(self.base_url.split("/")[2], timeout=30)
        try:
            connection.request(method, f"/control/{path}", None if given is None else orjson.dumps(given))
            return orjson.loads(connection.getresponse().read())
        finally:
            connection.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


if __name__ == "__main__":
    main()
