"""What a measure stands on: a home of its own, a stub model, the gateway as a process, the disk's own figure."""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import aiohttp
from ruamel.yaml import YAML

from tests.fakes.openai_server import KEY, OpenAIServer

ENVIRONMENT = {"PATH": os.environ.get("PATH", ""), "HOME": "/nonexistent", "PYTHONUNBUFFERED": "1"}


@contextmanager
def home(settings: dict[str, object]) -> Iterator[Path]:
    """Make a home with a configuration, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="hermes-bench-") as folder:
        path = Path(folder)
        YAML().dump(settings, path / "config.yaml")
        yield path


def model_settings(url: str) -> dict[str, str]:
    """The stub model, which answers at once."""
    return {"base_url": url, "default": "fake", "api_key": KEY}


def webhook_settings(model_url: str) -> dict[str, object]:
    """A route whose calls with the same `chat` are one conversation, answered to the sink."""
    route = {"auth": {"scheme": "none"}, "prompt": "{text}", "session": "{chat}", "deliver": "sink:1"}
    return {
        "model": model_settings(model_url),
        "platforms": {"webhook": {"routes": {"bench": route}}},
        "gateway": {"max_concurrent_turns": 64},
        "log": {"level": "warning"},
    }


class Running:
    """A gateway that answers webhooks; `turn` is what a caller waits for: from the call to the delivered answer."""

    def __init__(self, url: str, process: asyncio.subprocess.Process, session: aiohttp.ClientSession) -> None:
        self.url = url
        self.process = process
        self._session = session
        self._waiting: dict[str, asyncio.Future[float]] = {}

    async def turn(self, chat: str, text: str) -> float:
        """Return the seconds of one turn. Every text is used once."""
        waiting: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._waiting[text] = waiting
        began = time.perf_counter()
        async with self._session.post(f"{self.url}hooks/bench", json={"chat": chat, "text": text}) as answer:
            if answer.status != 202:
                raise RuntimeError(f"{answer.status}: {await answer.text()}")
        delivered = await waiting
        return delivered - began

    async def ready(self) -> None:
        """Return once calls are taken."""
        while True:
            try:
                await self.turn("warm", "warm up")
                return
            except RuntimeError:
                await asyncio.sleep(0.05)

    async def hear(self, lines: asyncio.StreamReader) -> None:
        """Take note of deliveries; an answer holds the text it answers."""
        async for line in lines:
            said = line.decode().strip()
            for text in [text for text in self._waiting if text in said]:
                self._waiting.pop(text).set_result(time.perf_counter())

    @property
    def megabytes(self) -> float:
        return resident(self.process.pid)


@asynccontextmanager
async def webhook_gateway() -> AsyncIterator[Running]:
    """Run the stub model and the gateway, each a process of its own."""
    async with OpenAIServer() as model:
        with home(webhook_settings(model.base_url)) as path:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "bench.child", str(path), stdout=asyncio.subprocess.PIPE, env=ENVIRONMENT
            )
            assert process.stdout is not None
            async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as group:
                url = (await process.stdout.readline()).decode().strip()
                running = Running(url, process, session)
                hearing = group.create_task(running.hear(process.stdout))
                try:
                    await running.ready()
                    yield running
                finally:
                    process.kill()
                    await process.wait()
                    hearing.cancel()


def fdatasync_ms() -> float:
    """Return the median of what an append of 2 KB with fdatasync takes on the disk the homes lie on."""
    with tempfile.NamedTemporaryFile(prefix="hermes-bench-") as file:
        taken = []
        for _ in range(200):
            began = time.perf_counter()
            os.write(file.fileno(), b"x" * 2048)
            getattr(os, "fdatasync", os.fsync)(file.fileno())
            taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1000


def resident(pid: int) -> float:
    """Return the megabytes of memory a process holds."""
    if sys.platform == "linux":
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    return float("nan")
