"""Adapter: one account on one chat platform. Everything an adapter's author has to read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gateway.contracts.resource import Resource
from gateway.errors import Unacceptable
from gateway.types import Address, Attachment, Event, Part, Receipt, Rendered

Emit = Callable[[Event], Awaitable[bool]]
"""
Returns once the event is safe in the database; only then may the platform hear "ok". True: it is new; False: it was
there before, and nothing happens again.
"""

AsgiApp = Callable[
    [MutableMapping[str, Any], Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]
]
"""An ASGI application, as the ASGI specification 3.0 types it."""


def utf16(text: str) -> int:
    """Count UTF-16 code units, the unit of Telegram and of JavaScript."""
    if text.isascii():
        return len(text)
    return len(text) + sum(1 for character in text if ord(character) > 0xFFFF)


@dataclass(frozen=True, slots=True)
class Limits:
    """
    What the platform can carry. Data, so that no caller asks which platform it is.

    `text`: the longest message, in the unit that `measure` counts. `edit_every`: seconds between two edits of one
    message. `per_chat` and `per_account`: messages a second, sustained. `idempotent`: the platform honours `Part.key`,
    so that a second sending shows nothing new. `hint`: what the prompt tells the model of this platform.
    """

    text: int = 4096
    measure: Callable[[str], int] = len
    edits: bool = True
    edit_every: float = 1.0
    per_chat: float = 1.0
    per_account: float = 30.0
    buttons: bool = False
    attachments: bool = False
    threads: bool = False
    idempotent: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """
    What became of an event that an adapter emitted.

    `answer` is what the agent said, in Markdown; `problem`, why there is no answer. Both are empty until it has ended.
    """

    state: Literal["waiting", "running", "done", "failed", "dropped"]
    answer: str = ""
    problem: str = ""


Follow = Callable[[str], Awaitable[Run | None]]
"""Returns what became of the event with this id; None where there never was one. Raises a `GatewayError`."""


Status = Literal["compressing", "compressed", "unchanged"]
"""What goes on with a conversation: it is being made shorter for the model; that is done; it was left as it was."""


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """A command for the platform's native menu."""

    name: str
    help: str


class Adapter(Resource, ABC):
    """
    One account on one platform: translates, and nothing else.

    It never retries, splits, buffers, authorises, stores or decides; it raises an `AdapterError` that says what to do.
    `listen` is run by exactly one process at a time (a lease), unless `lone` is false. `send`, `edit` and `fetch` may
    be called by any process that has entered the adapter, listening or not: they must not depend on `listen`.
    """

    name: str
    """``platform`` or ``platform@account``: what `Address.adapter` says of its addresses."""
    limits: Limits = Limits()
    shows_rows: bool = False
    """People are shown the rows themselves, so that what is unfinished looks so without being edited."""
    lone: bool = True
    """Only one process at a time may listen. False where others call our own server, which every edge is."""

    @abstractmethod
    async def listen(self, emit: Emit) -> None:
        """Emit every event until cancelled. Raise `Unreachable` to be started again after a pause."""

    @abstractmethod
    async def send(self, target: Address, part: Part) -> Receipt:
        """Deliver one part or raise an `AdapterError`; `Ambiguous` if it may have been accepted."""

    async def check(self) -> None:
        """Ask the platform whether it takes our token, for `doctor`; raise an `AdapterError` where it does not."""
        return

    async def edit(self, receipt: Receipt, part: Part) -> None:
        """Replace what was sent; an edit to the same content succeeds. Called only where `limits.edits` is true."""
        raise Unacceptable(f"{self.name} cannot edit")

    async def delete(self, receipt: Receipt) -> None:
        """Take back what was sent."""
        raise Unacceptable(f"{self.name} cannot delete")

    async def typing(self, target: Address, *, on: bool = True) -> None:
        """Show that an answer is under way, or no longer is. Best effort; called again every few seconds."""
        return

    async def status(self, target: Address, status: Status) -> None:
        """
        Show what goes on where an answer is awaited, on a page or a stream that has a place for it. Best effort.

        Never as a message: those are told of it, if at all, in a live one.
        """
        return

    async def react(self, receipt: Receipt, emoji: str) -> None:
        """Put a reaction under a message. Best effort."""
        return

    async def fetch(self, attachment: Attachment) -> bytes:
        """Bring the bytes behind an inbound attachment."""
        raise Unacceptable(f"{self.name} carries no files")

    def hooks(self, follow: Follow) -> Mapping[str, AsgiApp]:
        """
        Return ``{path: ASGI application}`` to be mounted by the gateway's server, for platforms that call us.

        `follow` is for those whose caller comes back for the answer.
        """
        return {}

    async def menu(self, entries: Sequence[MenuEntry]) -> None:
        """Show our commands in the platform's own menu."""
        return

    def render(self, markdown: str) -> Rendered:
        """Shape Markdown for the platform: pure, linear in its input, never raising; length in the unit of `limits`."""
        return Rendered(markdown, self.limits.measure(markdown))
