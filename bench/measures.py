"""The measures by name. Each returns figures; a goal beside a figure is the issue's, `ratio` is figure / goal."""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import aiohttp
from sqlalchemy import insert

from bench.context import compress, prune, summary_prompt
from bench.house import ENVIRONMENT, Running, fdatasync_ms, home, model_settings, resident, webhook_gateway
from bench.notes import notes_one, notes_processes
from bench.scan import threat_scan
from bench.search import search_postgres, search_sqlite
from bench.skills import skills
from bench.tokens import token_estimate
from gateway.agent.context.compressor import Compressor
from gateway.agent.context.meter import Meter
from gateway.agent.context.settings import CompressionSettings
from gateway.llm.tokens.calibration import Calibrations
from gateway.log.redact import Redactor
from gateway.messages import Message
from gateway.sessions import store
from gateway.sessions.cache import Bounds, Cache
from gateway.storage import open_database
from gateway.storage.database import Connection, Database
from gateway.storage.tables import sessions
from gateway.turns.live import Entry, LiveSession
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.telegram_server import TOKEN, TelegramServer

Figures = dict[str, float | int | str]


def _p50(seconds: list[float]) -> float:
    return round(statistics.median(seconds) * 1000, 2)


def _p95(seconds: list[float]) -> float:
    return round(statistics.quantiles(seconds, n=20)[-1] * 1000, 2)


async def webhook_turn() -> Figures:
    """One chat, turn after turn, over the webhook route; the last ones with 400 messages of history."""
    disk = fdatasync_ms()
    async with webhook_gateway() as gateway:
        taken = [await gateway.turn("ann", f"message {number:06}") for number in range(220)]
    goal = 6 + 2 * disk
    return {
        "p50_ms": _p50(taken[5:105]),
        "p95_ms": _p95(taken[5:105]),
        "p50_ms_at_400_messages": _p50(taken[-20:]),
        "fdatasync_ms": round(disk, 3),
        "goal_ms": round(goal, 2),
        "ratio": round(_p50(taken[-20:]) / goal, 2),
    }


async def throughput() -> Figures:
    """200 new chats, 50 calls at once, one turn each; then the same chats again."""
    async with webhook_gateway() as gateway:
        first = await _all(gateway, "first")
        again = await _all(gateway, "again")
    return {"turns_per_s": first, "turns_per_s_again": again, "goal": 150, "ratio": round(first / 150, 2)}


async def _all(gateway: Running, word: str) -> float:
    slots = asyncio.Semaphore(50)

    async def one(number: int) -> None:
        async with slots:
            await gateway.turn(f"chat{number}", f"{word} {number:06}")

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for number in range(200):
            group.create_task(one(number))
    return round(200 / (time.perf_counter() - began), 1)


async def telegram_turn() -> Figures:
    """Turns over the Bot API, one chat after the other: from the update's coming in to the accepted sendMessage."""
    async with OpenAIServer() as model, TelegramServer() as telegram:
        settings = _telegram_settings(model.base_url, telegram)
        with home(settings) as path:
            process = await _run(path)
            try:
                telegram.say(1, "warm up")
                await telegram.sees("warm up", 1)
                taken = [await _telegram_turn(telegram, number) for number in range(100)]
                megabytes = resident(process.pid)
            finally:
                process.kill()
                await process.wait()
    return {
        "p50_ms": _p50(taken),
        "p95_ms": _p95(taken),
        "rss_mb": round(megabytes, 1),
        "goal_ms": 30,
        "ratio": round(_p50(taken) / 30, 2),
    }


async def _telegram_turn(telegram: TelegramServer, number: int) -> float:
    chat, text = 100 + number % 10, f"message {number:06}"
    began = time.monotonic()
    telegram.say(chat, text)
    await telegram.sees(text, chat)
    return float(telegram.history("sendMessage", chat)[-1]["at"]) - began


def _telegram_settings(model_url: str, telegram: TelegramServer) -> dict[str, object]:
    return {
        "model": model_settings(model_url),
        "access": {"allow_all": True},
        "platforms": {"telegram": {"token": TOKEN, "api_base": telegram.url}, "webchat": {"enabled": False}},
        "web": {"port": 0},
        "log": {"level": "warning"},
    }


async def _run(path: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "gateway.cli",
        "--home",
        str(path),
        "run",
        stdout=asyncio.subprocess.PIPE,
        env=ENVIRONMENT,
    )


async def start_web() -> Figures:
    """From the start of the process to the first answer in the web chat, on a home that was used before."""
    async with OpenAIServer() as model:
        with home({"model": model_settings(model.base_url), "web": {"port": 0}, "log": {"level": "warning"}}) as path:
            taken = [await _first_web_answer(path) for _ in range(4)][1:]
    seconds = statistics.median(took for took, _ in taken)
    megabytes = statistics.median(mb for _, mb in taken)
    return {
        "first_answer_s": round(seconds, 2),
        "goal_s": 1.2,
        "rss_mb": round(megabytes, 1),
        "goal_mb": 110,
        "ratio": round(seconds / 1.2, 2),
    }


async def _first_web_answer(path: Path) -> tuple[float, float]:
    began = time.perf_counter()
    process = await _run(path)
    assert process.stdout is not None
    try:
        url = (await process.stdout.readline()).decode().strip().rpartition(" ")[2]
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
            async with browser.get(url) as page:
                page.raise_for_status()
            same = {"Sec-Fetch-Site": "same-origin"}
            said = {"id": f"{random.getrandbits(64):016x}", "text": "hello bench"}
            async with browser.post(f"{url}chat/messages", json=said, headers=same) as answer:
                answer.raise_for_status()
            while True:
                async with browser.get(f"{url}chat/conversation", headers=same) as shown:
                    if sum("hello bench" in bubble.get("html", "") for bubble in (await shown.json())["bubbles"]):
                        took = time.perf_counter() - began
                        break
                await asyncio.sleep(0.005)
        await asyncio.sleep(1)
        return took, resident(process.pid)
    finally:
        process.kill()
        await process.wait()


async def start_telegram() -> Figures:
    """From the start of the process to the first answer over Telegram, for a message that waited."""
    taken = []
    async with OpenAIServer() as model, TelegramServer() as telegram:
        with home(_telegram_settings(model.base_url, telegram)) as path:
            for number in range(3):
                chat = number + 1  # the last one's receipt may be unwritten, and its chat then waits to repeat it
                telegram.say(chat, f"message {number}")
                began = time.monotonic()
                process = await _run(path)
                try:
                    await telegram.sees(f"message {number}", chat)
                    taken.append(float(telegram.history("sendMessage", chat)[-1]["at"]) - began)
                finally:
                    process.kill()
                    await process.wait()
    seconds = statistics.median(taken[1:])
    return {"first_answer_s": round(seconds, 2), "goal_s": 3.2, "ratio": round(seconds / 3.2, 2)}


PROMPT = "You are Hermes. " * 60
SAID = "Something of the length that people and models usually write to each other, a sentence or two. " * 2


async def live_sessions() -> Figures:
    """10,000 sessions of 20 messages read from the rows into the cache: memory of each, time to build one."""
    count, said = 10_000, [Message("user", SAID), Message("assistant", SAID * 3)] * 10
    with tempfile.TemporaryDirectory(prefix="hermes-bench-") as folder:
        async with open_database("sqlite:///state.db", Path(folder)) as database:
            for first in range(0, count, 500):
                await database.write(partial(_fill, numbers=range(first, first + 500), said=said))
            cache: Cache[str, Entry] = Cache(Bounds(count, 1e9, 10**12), lambda entry: entry.session.bytes)
            before, taken = resident(os.getpid()), list[float]()
            for number in range(count):
                began = time.perf_counter()
                async with cache.use(f"s{number}", partial(_build, database, f"s{number}")):
                    taken.append(time.perf_counter() - began)
            held = resident(os.getpid()) - before
            weight = cache.figures.bytes / count
    kilobytes = held * 1024 / count
    return {
        "kb_each": round(kilobytes, 1),
        "goal_kb": 60,
        "build_p50_ms": _p50(taken),
        "goal_ms": 2,
        "bytes_per_utf8_byte": round(held * 1024 * 1024 / count / weight, 2),
        "ratio": round(max(kilobytes / 60, _p50(taken) / 2), 2),
    }


def _fill(connection: Connection, numbers: range, said: list[Message]) -> None:
    for number in numbers:
        connection.execute(insert(sessions).values(id=f"s{number}", lane=f"l{number}", prompt=PROMPT))
        store.append(connection, f"s{number}", "t", said)


async def _build(database: Database, session_id: str) -> Entry:
    stored = await database.read(lambda connection: store.load(connection, session_id))
    session = LiveSession(session_id, "")
    session.read(stored, 1)
    return Entry(session, "m", Compressor(CompressionSettings(), Redactor()), Meter(Calibrations(), "m"))


async def appends() -> Figures:
    """8 writers append a message each as fast as they can: the longest anybody waited."""
    taken: list[float] = []
    with tempfile.TemporaryDirectory(prefix="hermes-bench-") as folder:
        async with open_database("sqlite:///state.db", Path(folder)) as database:
            await database.write(partial(_fill, numbers=range(8), said=[]))

            async def writer(number: int) -> None:
                for _ in range(500):
                    began = time.perf_counter()
                    await database.write(
                        lambda connection: store.append(connection, f"s{number}", "t", [Message("user", SAID)])
                    )
                    taken.append(time.perf_counter() - began)

            began = time.perf_counter()
            async with asyncio.TaskGroup() as group:
                for number in range(8):
                    group.create_task(writer(number))
            rate = len(taken) / (time.perf_counter() - began)
    worst = max(taken) * 1000
    return {
        "worst_ms": round(worst, 1),
        "goal_ms": 100,
        "p50_ms": _p50(taken),
        "appends_per_s": round(rate),
        "ratio": round(worst / 100, 2),
    }


MEASURES: dict[str, Callable[[], Awaitable[Figures]]] = {
    measure.__name__: measure
    for measure in (
        webhook_turn,
        throughput,
        telegram_turn,
        start_web,
        start_telegram,
        live_sessions,
        appends,
        notes_processes,
        notes_one,
        threat_scan,
        token_estimate,
        prune,
        summary_prompt,
        compress,
        search_sqlite,
        search_postgres,
        skills,
    )
}
