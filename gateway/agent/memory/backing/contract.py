"""Backing: where the two texts of one owner are kept. Files and a table are its two kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from gateway.agent.memory.notes import Target

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stored:
    """
    A text as it stands: newlines are ``\\n``, no byte order mark.

    `damage` says in a clause what kept it from being read to the letter ("byte 0xEF at 8 is not UTF-8"), "" where
    nothing did; a damaged text is shown with U+FFFD and never written over.
    """

    text: str = ""
    damage: str = ""


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """What an edit decided: the new text (None: nothing is written) and what its caller is told."""

    text: str | None
    told: T
    keep: bool = False
    """Keep a copy of the text as it stands before anything else; without it a text is not written."""


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """What a change came to. `copy` is where the text was copied to, if it was asked for, or why it could not be."""

    told: T
    copy: str = ""


Edit = Callable[[Stored], Change[T]]
"""Pure: sees the text as it stands under the lock, and may be called more than once."""


class Backing(ABC):
    """
    Two texts, shared by sessions, processes and machines.

    Raises `StorageError` with one sentence where a text cannot be read or written; a text that cannot be read is never
    taken for an empty one. Nothing here blocks the event loop. A change that was handed over runs whole even if its
    caller is cancelled.
    """

    @abstractmethod
    async def read(self, target: Target) -> Stored:
        """Return a text as it stands; empty where there is none yet."""

    @abstractmethod
    async def change(self, target: Target, edit: Edit[T]) -> Done[T]:
        """Run an edit on the text as it stands, alone among all processes, and return once its result is durable."""

    @abstractmethod
    async def erase(self) -> int:
        """Remove both texts and what belongs to them; return how many characters there were."""
