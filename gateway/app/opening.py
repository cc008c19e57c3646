"""What is opened in parts, each after the one before it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AsyncExitStack
from typing import Self

from gateway.contracts.resource import Resource


class Opening(Resource, ABC):
    """Closes what is open in reverse order: at the end, and at once where a part cannot be opened."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        try:
            await self._open()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @abstractmethod
    async def _open(self) -> None:
        """Enter the parts into `_stack`."""
