"""The adapter whose platform is our own page: messages come from a browser, answers wake the browsers that look on.

What the page shows is read from the database. A signal carries what is said while it is being said, and the news that
there is something to read.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from gateway.contracts.adapter import Adapter, Emit, Limits, Status
from gateway.contracts.bus import Hints
from gateway.errors import Unreachable
from gateway.types import Address, Event, Part, Receipt, Sender, clean

PLATFORM = "webchat"
HINT = "The person reads in a web page that renders Markdown with tables and code blocks. It shows no images."


def address_of(visitor: str) -> Address:
    """Return the place of a browser."""
    return Address(platform=PLATFORM, chat=visitor)


def topic_of(visitor: str) -> str:
    """Return what the pages of a browser listen to."""
    return f"{PLATFORM}:{visitor}"


@dataclass(frozen=True, slots=True)
class News:
    """
    What a page is told.

    `live` is the text so far of a message under way; `typing` says whether an answer is; `status`, what goes on
    meanwhile; `changed`, that the conversation in the database is another.
    """

    live: str | None = None
    typing: bool | None = None
    changed: bool = False
    status: Status | None = None

    def dump(self) -> str:
        return json.dumps({"live": self.live, "typing": self.typing, "changed": self.changed, "status": self.status})

    @classmethod
    def load(cls, data: str) -> Self:
        said = json.loads(data)
        return cls(said["live"], said["typing"], said["changed"], said.get("status"))


class WebChat(Adapter):
    """
    The web chat. A browser is a private chat of its own; its id is all we know of the person.

    Which account a message is from is decided by the cookie, before it comes here.
    """

    name = PLATFORM
    lone = False
    shows_rows = True
    limits = Limits(text=100_000, edit_every=0.15, per_chat=50.0, per_account=5_000.0, idempotent=True, hint=HINT)

    def __init__(self, hints: Callable[[], Hints]) -> None:
        self._hints = hints  # asked for when there is something to say: the gateway opens them later than it makes us
        self._emit: Emit | None = None

    async def listen(self, emit: Emit) -> None:
        """Take messages until cancelled."""
        self._emit = emit
        try:
            await asyncio.Event().wait()
        finally:
            self._emit = None

    async def say(self, visitor: str, message_id: str, text: str) -> None:
        """
        Bring in what a person wrote; returns once it is safe.

        `message_id` is the page's own: the same message sent twice is kept once. Ids of two browsers never meet.
        """
        if self._emit is None:
            raise Unreachable("The gateway is not taking messages at the moment; try again shortly.")
        sender, origin = Sender(visitor), address_of(visitor)
        await self._emit(Event(id=f"{visitor}-{message_id}", origin=origin, sender=sender, text=clean(text)))
        await self._tell(origin, News(changed=True))

    async def send(self, target: Address, part: Part) -> Receipt:
        # A part with a key is a row of the outbox, which the pages read; one without lives only here.
        await self._tell(target, News(changed=True) if part.key else News(live=clean(part.markdown)))
        return Receipt(target, part.key or uuid.uuid4().hex)

    async def edit(self, receipt: Receipt, part: Part) -> None:
        await self.send(receipt.target, part)

    async def typing(self, target: Address, *, on: bool = True) -> None:
        await self._tell(target, News(typing=on))

    async def status(self, target: Address, status: Status) -> None:
        await self._tell(target, News(status=status, changed=status == "compressed"))

    async def _tell(self, target: Address, news: News) -> None:
        await self._hints().signal(topic_of(target.chat), news.dump())
