"""Keeps long-running work running: what raises is logged and started again after a growing pause."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TypeVar

from gateway.errors import GatewayError

log = logging.getLogger(__name__)
T = TypeVar("T")

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0
CALM = 60.0
"""Seconds of running after which a failure counts as the first again."""


async def keep(name: str, work: Callable[[], Awaitable[None]], *, fatal: tuple[type[Exception], ...] = ()) -> None:
    """
    Run `work` until it returns or is cancelled, starting it again whatever it raises, but for `fatal`.

    The pause doubles from half a second to a minute, with jitter, and starts over after a minute of calm.
    """
    pause, clock = FIRST_PAUSE, asyncio.get_running_loop().time
    while True:
        started = clock()
        try:
            await work()
            return
        except fatal:
            raise
        except GatewayError as error:
            log.error("%s: %s", name, error)
        except Exception:
            log.exception("%s failed and is started again", name)
        if clock() - started > CALM:
            pause = FIRST_PAUSE
        await asyncio.sleep(pause * (0.5 + random.random() / 2))
        pause = min(pause * 2, LONGEST_PAUSE)


async def contain(name: str, work: Awaitable[T], otherwise: type[GatewayError]) -> T:
    """Await somebody else's code: what it raises beyond a `GatewayError` is logged and becomes `otherwise`."""
    try:
        return await work
    except GatewayError:
        raise
    except Exception as error:
        log.exception("%s failed", name)
        raise otherwise(f"{name} failed: {type(error).__name__}") from error


@asynccontextmanager
async def beside(*work: Coroutine[object, object, None]) -> AsyncIterator[tuple[asyncio.Task[None], ...]]:
    """Run work beside the block, cancelled when it ends; an error of either is raised as it is, not in a group."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = tuple(group.create_task(one) for one in work)
            try:
                yield tasks
            finally:
                for task in tasks:
                    task.cancel()
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
