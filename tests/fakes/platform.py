"""A chat platform in memory that keeps the contract: what a person types, and what stands on their screen."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

from gateway.contracts.adapter import Adapter, Emit, Limits
from gateway.errors import AdapterError
from gateway.types import Address, ChatType, Event, Part, Receipt, Sender

LIMITS = Limits(text=200, edits=True, edit_every=0.02, per_chat=1e6, per_account=1e6)
SECONDS = 30.0
"""How long a person waits before they give up."""


@dataclass
class Shown:
    """One message on the screen."""

    chat: str
    text: str
    id: str


@dataclass
class FakePlatform(Adapter):
    """Shows what was accepted, even if the answer to the request was lost."""

    name: str = "fake"
    limits: Limits = LIMITS
    screen: list[Shown] = field(default_factory=list)
    sendings: list[str] = field(default_factory=list)
    typing_in: set[str] = field(default_factory=set)
    fault: Callable[[str, Address, Part], AdapterError | None] | None = None
    """Asked before a request ("send" or "edit") is accepted."""
    after: Callable[[str, Address, Part], AdapterError | None] | None = None
    """Asked once it was accepted: the answer that is lost."""

    def __post_init__(self) -> None:
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._ids = itertools.count(1)
        self._changed = asyncio.Event()

    async def listen(self, emit: Emit) -> None:
        while True:
            await emit(await self._events.get())

    async def send(self, target: Address, part: Part) -> Receipt:
        self._raise(self.fault, "send", target, part)
        id = f"m{next(self._ids)}"
        self.screen.append(Shown(target.chat, part.body.text, id))
        self.sendings.append(part.body.text)
        self._changed.set()
        self._raise(self.after, "send", target, part)
        return Receipt(target, id)

    async def edit(self, receipt: Receipt, part: Part) -> None:
        self._raise(self.fault, "edit", receipt.target, part)
        shown = next(shown for shown in self.screen if shown.id == receipt.message_id)
        shown.text = part.body.text
        self._changed.set()
        self._raise(self.after, "edit", receipt.target, part)

    async def typing(self, target: Address, *, on: bool = True) -> None:
        (self.typing_in.add if on else self.typing_in.discard)(target.chat)
        self._changed.set()

    def _raise(
        self, ask: Callable[[str, Address, Part], AdapterError | None] | None, what: str, target: Address, part: Part
    ) -> None:
        if ask is not None and (error := ask(what, target, part)) is not None:
            raise error

    def say(
        self,
        text: str,
        chat: str = "ann",
        *,
        sender: str | None = None,
        id: str = "",
        kind: ChatType = ChatType.DM,
        burst: str = "",
    ) -> str:
        """Type a message; return its id."""
        id = id or f"e{next(self._ids)}"
        who = chat if sender is None else sender
        platform, _, account = self.name.partition("@")
        self._events.put_nowait(
            Event(
                id=id,
                origin=Address(platform=platform, account=account, chat=chat),
                sender=Sender(who, who.title()),
                text=text,
                chat_type=kind,
                burst=burst,
            )
        )
        return id

    def texts(self, chat: str = "ann") -> list[str]:
        """Return what stands in a chat, from the top."""
        return [shown.text for shown in self.screen if shown.chat == chat]

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        """Look at the screen whenever it changes, until something holds."""
        try:
            async with asyncio.timeout(SECONDS):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"never saw {what}; the screen shows {self.screen}") from None

    async def sees(self, text: str, chat: str = "ann") -> None:
        """Wait until some message of a chat holds a text."""
        await self.until(lambda: any(text in shown for shown in self.texts(chat)), f"{text!r} in {chat}")

    async def sees_exactly(self, texts: list[str], chat: str = "ann") -> None:
        """Wait until a chat shows these messages and no other."""
        await self.until(lambda: self.texts(chat) == texts, f"{texts} in {chat}")

    async def is_quiet(self) -> None:
        """Wait until nothing is being typed any more."""
        await self.until(lambda: not self.typing_in, "the end of the typing sign")
