"""Hints: how one process wakes another. Everything said here is also a row; whatever is lost is found by reading."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Set
from contextlib import AbstractAsyncContextManager

from gateway.contracts.resource import Resource


class Hints(Resource, ABC):
    """
    Wakes whoever waits for rows of the database.

    A hint or a signal may be lost, doubled or late: the receiver reads the row on entering, when woken and from time
    to time. No method raises because the service behind it is away; it logs, and the gateway only gets slower.
    """

    async def problem(self) -> str:
        """Return what is wrong in this moment, for /readyz; empty where nothing is."""
        return ""

    @abstractmethod
    async def hint(self, shard: int, lane: str) -> None:
        """Say, after the commit, that the lane has something waiting."""

    @abstractmethod
    async def watch(self, shards: Set[int]) -> None:
        """Hear from now on the hints of exactly these shards."""

    @abstractmethod
    def hints(self) -> AsyncIterator[str]:
        """Yield the lanes hinted at. One reader per process."""

    @abstractmethod
    async def signal(self, topic: str, data: str = "") -> None:
        """Tell whoever listens in any process, now."""

    @abstractmethod
    def signals(self, topic: str) -> AbstractAsyncContextManager[AsyncIterator[str]]:
        """Hear the signals of a topic from the moment of entering."""
