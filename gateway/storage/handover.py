"""From a thread to whoever waits in an event loop: what a job gave, or what it raised."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from gateway.storage.database import whole

log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Failed:
    """Stands for a result: what was raised instead."""

    error: BaseException


def tried(run: Callable[[], T]) -> T | Failed:
    """Run; what is raised comes back as a value, so that the thread lives on."""
    try:
        return whole(run)
    except BaseException as error:  # noqa: BLE001 - the job's error is its caller's
        return Failed(error)


def tell(answers: Sequence[tuple[asyncio.Future[Any], object]], what: str) -> None:
    """Hand results over, with one wake-up of each loop; `what` names them in the log where a loop has ended."""
    for loop in {future.get_loop() for future, _ in answers}:
        mine = [(future, result) for future, result in answers if future.get_loop() is loop]
        try:
            loop.call_soon_threadsafe(_hand_over, mine)
        except RuntimeError:
            log.warning("the event loop ended before it heard what came of %d %s", len(mine), what)


def _hand_over(answers: Sequence[tuple[asyncio.Future[Any], object]]) -> None:
    for future, result in answers:
        if future.done():
            continue
        if isinstance(result, Failed):
            future.set_exception(result.error)
        else:
            future.set_result(result)
