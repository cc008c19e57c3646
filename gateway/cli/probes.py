"""Questions to everything the gateway stands on, each with an answer within a time. Nothing here changes anything."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateway.cli.health import ask, url_of
from gateway.cli.output import Failure
from gateway.errors import ConfigError, GatewayError
from gateway.log.redact import Redactor

if TYPE_CHECKING:
    from gateway.config import Config
    from gateway.llm.models import Report


@dataclass(frozen=True, slots=True)
class Probe:
    """What was asked and how it is: `ok` is None where nobody could be asked."""

    what: str
    ok: bool | None
    detail: str


async def probe_all(config: Config, seconds: float, *, running: bool) -> list[Probe]:
    """Ask the database, the bus, every model, and the running gateway for its platforms, all at once."""
    redact = Redactor(config.secrets)
    asked = await asyncio.gather(
        _timed("database", _database(config), seconds),
        _timed("bus", _bus(config), seconds),
        _models(config, seconds),
        asyncio.to_thread(platforms, config, seconds, running=running),
    )
    probes = [asked[0], asked[1], *asked[2], *asked[3]]
    return [Probe(probe.what, probe.ok, redact(probe.detail)) for probe in probes]


async def _timed(what: str, question: Awaitable[str], seconds: float) -> Probe:
    """Await an answer; what it raises, or that it does not come, is one."""
    began = time.monotonic()
    try:
        async with asyncio.timeout(seconds):
            answer = await question
    except TimeoutError:
        return Probe(what, ok=False, detail=f"no answer within {seconds:g} s")
    except GatewayError as error:
        return Probe(what, ok=False, detail=str(error))
    return Probe(what, ok=True, detail=f"{answer}, {(time.monotonic() - began) * 1000:.0f} ms")


async def _database(config: Config) -> str:
    from gateway.storage.inspection import inspect

    found = await asyncio.to_thread(inspect, config.settings.gateway.database, config.home.path)
    return f"schema {found.schema}" if found.exists else "none yet"


async def _bus(config: Config) -> str:
    from gateway.bus import open_hints
    from gateway.errors import Unreachable

    url = config.settings.gateway.bus
    async with open_hints(url) as hints:
        if problem := await hints.problem():
            raise Unreachable(problem)
    return "within the process" if url.startswith("embedded") else "answers"


async def _models(config: Config, seconds: float) -> list[Probe]:
    try:
        async with asyncio.timeout(seconds), model_reports(config) as ask_them:
            reports = await ask_them()
    except TimeoutError:
        return [Probe("model", ok=False, detail=f"no answer within {seconds:g} s")]
    except GatewayError as error:
        return [Probe("model", ok=False, detail=str(error))]
    return [
        Probe(one.setting, not one.problem, one.problem or f"{one.model} of {one.host}, {one.window} tokens")
        for one in reports
    ]


@asynccontextmanager
async def model_reports(config: Config) -> AsyncIterator[Callable[[], Awaitable[list[Report]]]]:
    """Open the models for as long as one asks what they have to say of themselves."""
    from gateway.llm import open_models

    with _unheard():
        async with open_models(config.settings.model, config.settings.fallback_providers) as models:
            yield models.reports


@contextmanager
def _unheard() -> Iterator[None]:
    """Keep the log off the terminal: what is worth knowing is in the reports."""
    handler = logging.NullHandler()
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


def platforms(config: Config, seconds: float, *, running: bool) -> list[Probe]:
    """Ask the running gateway how its accounts are."""
    from gateway.web.settings import read_password

    names = [account.name for account in config.accounts if account.enabled]
    if not running:
        return [Probe(name, ok=None, detail="no gateway runs") for name in names]
    try:
        password = read_password(config.settings.web, config.home.path)
        status, document = ask(url_of(config.settings.web, "readyz"), seconds, password)
    except ConfigError as error:
        return [Probe(name, ok=None, detail=str(error)) for name in names]
    except Failure as error:
        why = f"{error.text}; it may have been started with another --port"
        return [Probe(name, ok=None, detail=why) for name in names]
    failed = document.get("failed")
    if status == 200 or isinstance(failed, dict):
        return [_platform(name, failed if isinstance(failed, dict) else {}) for name in names]
    why = f"the gateway is {document.get('status', f'ill (HTTP {status})')} and tells no more: it has another password"
    return [Probe(name, ok=None, detail=why) for name in names]


def _platform(name: str, failed: dict[str, Any]) -> Probe:
    problem = str(failed.get(name, ""))
    return Probe(name, not problem, problem or "works")
