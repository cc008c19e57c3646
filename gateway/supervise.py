"""Keeps long-running work running: what raises is logged and started again after a growing pause."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

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

    A cancellation that nobody asked us for, but something within the work, is a failure like any other. The pause
    doubles from half a second to a minute, with jitter, and starts over after a minute of calm.
    """
    pause, clock = FIRST_PAUSE, asyncio.get_running_loop().time
    while True:
        started = clock()
        try:
            await work()
            return
        except fatal:
            raise
        except asyncio.CancelledError:
            if _told_to_end():
                raise
            log.error("%s was cancelled from within and is started again", name)
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
    except asyncio.CancelledError as error:
        if _told_to_end():
            raise
        log.exception("%s was cancelled from within", name)
        raise otherwise(f"{name} failed: it was cancelled from within") from error
    except Exception as error:
        log.exception("%s failed", name)
        raise otherwise(f"{name} failed: {type(error).__name__}") from error


def attempt(call: Callable[[], T], failed: Callable[[Exception], T]) -> T:
    """Call somebody else's code; what it raises goes to `failed`, which gives the answer in its place."""
    try:
        return call()
    except Exception as error:
        return failed(error)


async def within(work: Coroutine[object, object, T], seconds: float) -> T:
    """
    Await somebody else's work for so long, or raise `TimeoutError`.

    It is cancelled then, and where it does not obey, it is not waited for.
    """
    task = asyncio.create_task(work)
    task.add_done_callback(_heard)
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        task.cancel()
    if not task.done():
        raise TimeoutError(f"no answer within {seconds:g} s")
    if task.cancelled():
        raise RuntimeError("it was cancelled from within")
    return task.result()


async def finish(work: Coroutine[object, object, T], seconds: float) -> T:
    """Do what must not be left half done: a cancellation takes effect once it has ended, or after so many seconds."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            await asyncio.wait([task], timeout=seconds)
        raise
    finally:
        task.cancel()


class Background:
    """Work that is begun and not awaited, and ended together."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        """Begin work that contains its own errors, or whose task is awaited."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        _heard(task)

    async def settle(self, seconds: float) -> None:
        """Wait until all has ended, or so many seconds."""
        if tasks := set(self._tasks):
            await asyncio.wait(tasks, timeout=seconds)

    async def end(self, seconds: float) -> int:
        """Cancel what still runs; return how much has not ended after so many seconds, and is left behind."""
        for task in (tasks := set(self._tasks)):
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        return len(self._tasks)


def _heard(task: asyncio.Task[Any]) -> None:
    """Take what a task raised, in case nobody does."""
    if not task.cancelled():
        task.exception()


def _told_to_end() -> bool:
    """Say whether it is us who are to end, and not something that we wait for."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


@asynccontextmanager
async def beside(*work: Coroutine[object, object, None]) -> AsyncIterator[tuple[asyncio.Task[None], ...]]:
    """
    Run work beside the block, cancelled when it ends; an error of either is raised as it is, not in a group.

    The block's own error, or its cancellation, goes before whatever the work raises while it is cancelled.
    """
    ended: BaseException | None = None
    try:
        async with asyncio.TaskGroup() as group:
            tasks = tuple(group.create_task(one) for one in work)
            try:
                yield tasks
            except BaseException as error:
                ended = error
                raise
            finally:
                for task in tasks:
                    task.cancel()
    except BaseExceptionGroup as errors:
        first = errors.exceptions[0]
        if ended is not None and (not isinstance(ended, asyncio.CancelledError) or _told_to_end()):
            first = ended
        raise first from first.__cause__
