"""The sign that an answer is under way: repeated while a block runs, taken away on every way out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gateway.contracts.adapter import Adapter
from gateway.errors import AdapterError
from gateway.supervise import beside, contain
from gateway.types import Address

log = logging.getLogger(__name__)

EVERY = 4.0
"""Seconds after which platforms let the sign fade (Telegram: 5)."""


@asynccontextmanager
async def typing(adapter: Adapter | None, target: Address) -> AsyncIterator[None]:
    """Show the sign in a place as long as the block runs, where something serves the place."""
    async with beside(*([_keep_typing(adapter, target)] if adapter is not None else [])):
        yield


async def _keep_typing(adapter: Adapter, target: Address) -> None:
    """Show the sign until cancelled; a platform that refuses it costs nothing else."""
    try:
        while True:
            await _typing(adapter, target, on=True)
            await asyncio.sleep(EVERY)
    finally:
        await asyncio.shield(_typing(adapter, target, on=False))


async def _typing(adapter: Adapter, target: Address, *, on: bool) -> None:
    try:
        await contain("the typing sign", adapter.typing(target, on=on), AdapterError)
    except AdapterError as error:
        log.debug("no typing sign in %s: %s", target, error)
