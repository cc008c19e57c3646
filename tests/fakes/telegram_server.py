"""A Bot API server of one bot: long polling, the documented rules and refusals, and faults on demand.

A process of its own: ``python -m tests.fakes.telegram_server --port 0`` prints its root, for `api_base`. In a test::

    with TelegramServer() as telegram:                  # or: async with
        telegram.say(42, "Hello")                       # as a person; chats come into being when somebody speaks
        telegram.fault("flood", chat=42, retry_after=3) # the next request that fits
        await telegram.sees("Hello yourself", 42)       # waits for what stands on the screen
        telegram.screen(42); telegram.history("sendMessage"); telegram.refused()

Faults, for a `method` and a `chat` or for all, so many `times` (0: always) or `for_seconds` from the first:

- ``flood`` (429, `retry_after`), ``blocked`` (403), ``missing`` (400), ``unauthorized`` (401), ``conflict`` (409),
  ``server`` (500), ``error`` (`code`, `description`, `retry_after`, `migrate_to_chat_id`), ``html`` (502 of a proxy):
  nothing is accepted
- ``slow`` (`seconds`): answers later; ``reset``: closes the connection before it accepts
- ``drop``: accepts, then closes the connection; ``hang``: accepts and never answers

What was accepted stays in the history and on the screen, even if the answer was dropped. Entities are the only markup.
What the server would mend or drop silently but the documentation forbids is kept in `violations`.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import math
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson
from aiohttp import web

from tests.fakes.telegram_rules import Json, Refusal
from tests.fakes.telegram_state import World

TOKEN = "7000000001:fake-bot-token-0123456789abcdefghij"
USERNAME = "hermes_test_bot"
SECONDS = 30.0
REFUSALS = {
    "flood": (429, "Too Many Requests: retry after {retry_after}"),
    "blocked": (403, "Forbidden: bot was blocked by the user"),
    "missing": (400, "Bad Request: chat not found"),
    "unauthorized": (401, "Unauthorized"),
    "conflict": (409, "Conflict: terminated by other getUpdates request"),
    "server": (500, "Internal Server Error"),
    "error": (400, "Bad Request: no"),
}
STRUCTURED = frozenset(
    {"entities", "reply_parameters", "reply_markup", "commands", "allowed_updates", "link_preview_options"}
)
PROXY_PAGE = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
WORLD = web.AppKey("world", World)


# --- the Bot API


async def bot_api(request: web.Request) -> web.StreamResponse:
    """Answer ``/bot<token>/<method>``."""
    world, method = request.app[WORLD], request.match_info["method"]
    params = await read_params(request)
    chat = str(params.get("chat_id", ""))
    try:
        check_token(world, request.match_info["token"])
        fault = world.take_fault(method, chat)
        if fault and (met := await meet(request, fault)) is not None:
            return met
        result = await world.call(method, params)
    except Refusal as refusal:
        world.refused.append({"method": method, "chat": chat, "params": params, "code": refusal.code})
        world.changed()
        return refused(refusal)
    entry = world.note(method, chat, params) if method != "getUpdates" else {}
    world.changed()
    if fault.get("kind") == "hang":
        await asyncio.Event().wait()
    if fault.get("kind") == "drop":
        return cut(request)
    entry["answered"] = True
    return web.Response(body=orjson.dumps({"ok": True, "result": result}), content_type="application/json")


async def read_params(request: web.Request) -> Json:
    """Read a form or JSON; what has structure comes as JSON inside a form."""
    if request.content_type == "application/json":
        return dict(orjson.loads(await request.read()))
    given = {**request.query, **await request.post()}
    return {key: orjson.loads(str(value)) if key in STRUCTURED else value for key, value in given.items()}


def check_token(world: World, token: str) -> None:
    if not token.partition(":")[0].isdigit() or ":" not in token:
        raise Refusal(404, "Not Found")
    if world.revoked or token != world.token:
        raise Refusal(401, "Unauthorized")


async def meet(request: web.Request, fault: Json) -> web.StreamResponse | None:
    """Let the request meet its fault; None where it goes on."""
    match fault["kind"]:
        case "slow":
            await asyncio.sleep(fault.get("seconds", 1.0))
        case "reset":
            return cut(request)
        case "html":
            return web.Response(text=PROXY_PAGE, status=502, content_type="text/html")
        case kind if kind in REFUSALS:
            code, description = REFUSALS[kind]
            parameters = {name: fault[name] for name in ("retry_after", "migrate_to_chat_id") if name in fault}
            if kind == "flood" and not parameters:
                left = math.ceil(fault.get("until", 0) - time.monotonic())
                parameters = {"retry_after": max(1, left)}
            description = fault.get("description", description).format(**parameters)
            raise Refusal(fault.get("code", code), description, **parameters)
    return None


def cut(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def refused(refusal: Refusal) -> web.Response:
    body: Json = {"ok": False, "error_code": refusal.code, "description": refusal.description}
    if refusal.parameters:
        body["parameters"] = refusal.parameters
    return web.json_response(body, status=refusal.code)


# --- the control routes


async def control(request: web.Request) -> web.Response:
    """Set and show what the tests want: one route, so that the client below is one function."""
    world, what = request.app[WORLD], request.match_info["what"]
    given = orjson.loads(await request.read() or b"{}")
    if what == "news":
        return answer(await world.news(given["since"], given["seconds"]))
    if (ask := questions(world, given).get(what)) is not None:
        return answer(ask())
    if (do := deeds(world, given).get(what)) is None:
        raise web.HTTPNotFound
    done = do()
    world.changed()
    return answer(done)


def answer(shown: object) -> web.Response:
    return web.Response(body=orjson.dumps(shown), content_type="application/json")


def questions(world: World, given: Json) -> dict[str, Callable[[], Any]]:
    updates = world.updates
    return {
        "version": lambda: world.version,
        "screen": lambda: world.screen(**given),
        "history": lambda: [entry for entry in world.history if fits(entry, given)],
        "refused": lambda: [entry for entry in world.refused if fits(entry, given)],
        "violations": lambda: world.violations,
        "commands": lambda: world.commands,
        "updates": lambda: {
            "waiting": [update["update_id"] for update in updates.waiting],
            "confirmed": updates.confirmed,
            "polls": updates.polls,
        },
    }


def fits(entry: Json, given: Json) -> bool:
    return given.get("method") in {"", entry["method"]} and given.get("chat") in {"", entry["chat"]}


def deeds(world: World, given: Json) -> dict[str, Callable[[], Any]]:
    return {
        "say": lambda: world.say(**given),
        "change": lambda: world.change(**given),
        "press": lambda: world.press(**given),
        "update": lambda: world.updates.push(**given),
        "repeat": lambda: world.updates.repeat(**given),
        "chat": lambda: set_chat(world, **given),
        "upgrade": lambda: world.upgrade(**given),
        "fault": lambda: world.faults.append({"times": 1} | given),
        "clear": world.faults.clear,
        "reset": world.reset,
        "set": lambda: world.set(**given),
    }


def set_chat(world: World, number: int, refusal: str | None, topics: list[int] | None, about: Json) -> None:
    room = world.chat(number, **about)
    room.refusal = room.refusal if refusal is None else refusal
    room.topics = room.topics if topics is None else set(topics)


# --- the process


def application(world: World) -> web.Application:
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app[WORLD] = world
    app.router.add_route("*", "/bot{token}/{method}", bot_api)
    app.router.add_post("/control/{what}", control)
    return app


async def run(options: argparse.Namespace) -> None:
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    if options.until_eof:

        def wait_for_eof() -> None:
            sys.stdin.buffer.read()
            loop.call_soon_threadsafe(ended.set)

        threading.Thread(target=wait_for_eof, daemon=True).start()
    # Without the cancellation the poll of a program that was killed would hold on, and take its updates.
    app = application(World(options.token, options.username))
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", options.port).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await ended.wait()
    await runner.cleanup()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.telegram_server")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--token", default=TOKEN, help="the token of its bot")
    parser.add_argument("--username", default=USERNAME, help="the name of its bot")
    parser.add_argument("--until-eof", action="store_true", help="end when standard input does")
    try:
        asyncio.run(run(parser.parse_args()))
    except KeyboardInterrupt:
        return


# --- the client side


class TelegramServer:
    """
    Starts the server and steers it.

    Plain calls return in a millisecond, since the server is another process; what waits is awaited.
    """

    def __init__(self, *, port: int = 0, token: str = TOKEN, username: str = USERNAME) -> None:
        self._port, self.token, self.username = port, token, username
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.fakes.telegram_server", "--until-eof", "--port", str(self._port)]
        command += ["--token", self.token, "--username", self.username]
        root = Path(__file__).resolve().parents[2]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().decode().strip()
        if not self.url:
            raise RuntimeError("the fake Telegram server did not start")

    def stop(self) -> None:
        """End the process at once, as a server that goes down would."""
        if self._process is None:
            return
        self._process.kill()
        self._process.communicate()
        self._process = None

    def say(self, chat: int, text: str, *, user: int = 0, thread: int = 0, reply_to: int = 0, **extra: Any) -> int:
        """Write as a person and return the id; of a text that their client splits, that of the last part."""
        given = {"chat": chat, "text": text, "user": user, "thread": thread, "reply_to": reply_to} | extra
        return int(self._control("say", given)[-1])

    def change(self, chat: int, message: int, text: str) -> None:
        """Edit what a person wrote."""
        self._control("change", {"chat": chat, "message": message, "text": text})

    def press(self, chat: int, message: int, button: str, *, user: int = 0) -> str:
        """Press the button of that label; return the id of the query."""
        return str(self._control("press", {"chat": chat, "message": message, "button": button, "user": user}))

    def update(self, kind: str, content: Json) -> int:
        """Queue an update as it is; return its number, 0 where the bot does not want its kind."""
        return int(self._control("update", {"kind": kind, "content": content}))

    def repeat(self, *updates: Json) -> None:
        """Queue updates once more, numbers and all."""
        self._control("repeat", {"updates": updates})

    def chat(self, number: int, *, refusal: str | None = None, topics: list[int] | None = None, **about: Any) -> None:
        """Make a chat, or make it other: what it answers with a 403, its topics, its type or title."""
        self._control("chat", {"number": number, "refusal": refusal, "topics": topics, "about": about})

    def upgrade(self, chat: int, new: int) -> None:
        """Make a supergroup with another id of a group."""
        self._control("upgrade", {"chat": chat, "new": new})

    def fault(
        self,
        kind: str,
        *,
        method: str = "",
        chat: int | str = "",
        times: int = 1,
        for_seconds: float | None = None,
        **details: Any,
    ) -> None:
        """Let the requests that fit fail: so many times, always with 0, or for so many seconds from the first."""
        limit = {"times": times} if for_seconds is None else {"times": 0, "for": for_seconds}
        self._control("fault", {"kind": kind, "method": method, "chat": str(chat)} | limit | details)

    def clear(self) -> None:
        """Take all faults back."""
        self._control("clear")

    def reset(self) -> None:
        """Forget everything, faults and history too."""
        self._control("reset")

    def revoke(self, *, revoked: bool = True) -> None:
        """Refuse the token from now on."""
        self._control("set", {"revoked": revoked})

    def set_webhook(self, url: str) -> None:
        self._control("set", {"webhook": url})

    def screen(self, chat: int) -> list[Json]:
        """Return what stands in a chat: id, by (bot, or who), text, entities, thread, reply_to, buttons, edits."""
        return list(self._control("screen", {"chat": chat}))

    def texts(self, chat: int) -> list[str]:
        """Return what the bot has written that stands in a chat now."""
        return [message["text"] for message in self.screen(chat) if message["by"] == "bot"]

    def history(self, method: str = "", chat: int | str = "") -> list[Json]:
        """Return what was accepted, in order: method, chat, params, at, answered; polls are not kept."""
        return list(self._control("history", {"method": method, "chat": str(chat)}))

    def refused(self, method: str = "", chat: int | str = "") -> list[Json]:
        return list(self._control("refused", {"method": method, "chat": str(chat)}))

    def violations(self) -> list[str]:
        """Say what the documentation forbids of what was accepted."""
        return list(self._control("violations"))

    def commands(self) -> list[Json]:
        return list(self._control("commands"))

    def updates(self) -> Json:
        """Return the numbers that wait, the offset that is confirmed, and how often was polled."""
        return dict(self._control("updates"))

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        """Look whenever something happened there, until something holds."""
        try:
            async with asyncio.timeout(SECONDS):
                version = int(self._control("version"))
                while not holds():
                    asked = {"since": version, "seconds": SECONDS}
                    version = int(await asyncio.to_thread(self._control, "news", asked))
        except TimeoutError:
            raise AssertionError(f"never saw {what}") from None

    async def sees(self, text: str, chat: int) -> None:
        """Wait until some message of the bot in a chat holds a text."""
        await self.until(lambda: any(text in shown for shown in self.texts(chat)), f"{text!r} in {chat}")

    async def sees_exactly(self, texts: list[str], chat: int) -> None:
        """Wait until the bot's messages in a chat are these."""
        await self.until(lambda: self.texts(chat) == texts, f"{texts} in {chat}")

    async def confirms(self, number: int) -> None:
        """Wait until an update is confirmed and will not come again."""
        await self.until(lambda: self.updates()["confirmed"] > number, f"update {number} confirmed")

    def _control(self, path: str, given: object = None) -> Any:
        connection = http.client.HTTPConnection(self.url.split("/")[2], timeout=2 * SECONDS)
        try:
            connection.request("POST", f"/control/{path}", orjson.dumps(given or {}))
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200:
                raise RuntimeError(f"{path}: {answer.status} {body.decode(errors='replace')}")
            return orjson.loads(body)
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
