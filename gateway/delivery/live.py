"""A message that is edited while the agent speaks, until the outbox takes it over."""

from __future__ import annotations

import asyncio
import logging
from functools import partial

from gateway.contracts.adapter import Adapter
from gateway.delivery import outbox
from gateway.delivery.outbox import Outgoing
from gateway.delivery.prepare import CURSOR, LONG, ROOM, STOPPED
from gateway.delivery.split import fit
from gateway.errors import AdapterError, Ambiguous, Throttled, Unacceptable
from gateway.messages import Progress, Retracted, TextDelta, ToolStarted
from gateway.storage.database import Connection, Database
from gateway.supervise import contain, finish
from gateway.types import Address, Part, Receipt, Rendered, clean

log = logging.getLogger(__name__)

PATIENCE = 2.0
"""Seconds that a turn which is cancelled waits for the answer to a request, to know of the message it made."""


class Live:
    """
    Shows what there is so far, at most once per `every` seconds; the beginning of an answer always ends in the cursor.

    Begins only when the first interval has passed and there is something to show; `adopt` is the message of an earlier
    attempt. A line about what goes on stands above the text and is no part of it.
    Failures of the platform cost an intermediate edit and nothing else.
    """

    def __init__(
        self, database: Database, adapter: Adapter, turn: str, target: Address, *, every: float, adopt: str
    ) -> None:
        self._database = database
        self._adapter = adapter
        self._turn = turn
        self._target = target
        self._every = max(every, adapter.limits.edit_every)
        self._before = ""
        self._now = ""
        self._line = ""
        self._shown = ""
        self._lost = False
        self._message_id = adopt
        self._stop = asyncio.Event()

    def feed(self, progress: Progress) -> None:
        """Take note of what the turn reports."""
        match progress:
            case TextDelta(text):
                self._now += text
            case Retracted():
                self._now = ""
            case ToolStarted():
                if self._now.strip():
                    self._before += self._now.strip() + "\n\n"
                self._now = ""
            case _:
                pass

    def note(self, line: str) -> None:
        """Show a line about what goes on; "" for none."""
        self._line = line

    async def run(self) -> None:
        """Edit until told to end; an edit under way is finished first."""
        pause = self._every
        while not await self._stopped_within(pause):
            pause = self._every
            try:
                await self._show()
            except Throttled as error:
                pause = max(error.retry_after, self._every)
            except Ambiguous as error:
                if not self._message_id:
                    self._lost = True
                    log.warning("a live message may have been sent; none is tried again: %s", error)
                    return
            except AdapterError as error:
                log.info("a live edit was skipped: %s", error)

    async def _stopped_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self._stop.wait()
        except TimeoutError:
            return False

    def stop(self) -> None:
        """Let `run` end after the edit that is under way."""
        self._stop.set()

    @property
    def message_id(self) -> str:
        """The message that stands in the chat, for the final text to edit; empty where none was begun."""
        return self._message_id

    @property
    def lost(self) -> bool:
        """Say whether a message may stand in the chat whose id nobody knows."""
        return self._lost

    async def _show(self) -> None:
        text, line = clean(self._before + self._now).strip(), self._line
        whole = "\n\n".join(part for part in (line, text) if part)
        if not whole or whole == self._shown:
            return
        cut = partial(fit, whole, self._adapter.limits.text - ROOM, self._adapter.render)
        source, body = await asyncio.to_thread(cut) if len(whole) > LONG else cut()
        if not source:
            return
        if not self._shown and not await self._begin():
            return
        end = CURSOR if text else ""
        part = Part(Rendered(body.text + end, body.length + self._adapter.limits.measure(end), body.extra), source)
        await finish(self._put_and_keep(part, source.removeprefix(line).lstrip()), PATIENCE)
        self._shown = whole

    async def _put_and_keep(self, part: Part, said: str) -> None:
        await self._put(part)
        await self._database.write(lambda connection: self._keep(connection, said))

    def _keep(self, connection: Connection, said: str) -> None:
        """Store what is said in the chat; where /stop came in between and could not know of it, end it as stopped."""
        kept = outbox.keep_live(connection, self._turn, self._target, self._message_id, said)
        if kept or self._adapter.shows_rows:
            return
        markdown = f"{said}\n\n{STOPPED}".strip()
        part = Part(self._adapter.render(markdown), markdown)
        outbox.add(connection, [Outgoing(self._target, part, self._message_id)])

    async def _begin(self) -> bool:
        """Make the row; say whether nothing must be said before."""
        found = await self._database.write(lambda connection: outbox.begin_live(connection, self._turn, self._target))
        if found:
            self._message_id = found
        return found is not None

    async def _put(self, part: Part) -> None:
        if self._message_id:
            receipt = Receipt(self._target, self._message_id)
            await contain("a live edit", self._adapter.edit(receipt, part), Unacceptable)
        else:
            sent = await contain("a live message", self._adapter.send(self._target, part), Unacceptable)
            self._message_id = sent.message_id
