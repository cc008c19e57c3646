"""What a chat sees while the agent speaks: the typing sign, a live message, word of compressions."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from gateway.contracts.adapter import Adapter, Status
from gateway.delivery.live import Live
from gateway.errors import AdapterError
from gateway.messages import Compressing, CompressionEnded, Finished, Notice, Progress
from gateway.storage.database import Database
from gateway.supervise import beside, contain
from gateway.turns.notices import CompressionNotice, Wanted
from gateway.types import Address, Turn

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Shown:
    """
    How a turn ended, and what stands in the chat then.

    `live` is the message that the answer is to replace, empty for none; `notices` are to be said before it, and
    `compressed` is a line that is to stay.
    """

    finished: Finished
    live: str
    notices: tuple[str, ...]
    compressed: str


@dataclass(frozen=True, slots=True)
class Chat:
    """
    Where a turn shows what goes on; `adapter` is None where nothing serves the place.

    `every` is how often the text is shown as it grows, in seconds, None for never. `adopt` is the live message that an
    earlier attempt left, `compressed` what its compressions did: tokens before and after.
    """

    database: Database
    adapter: Adapter | None
    turn: Turn
    every: float | None
    told: Wanted
    adopt: str = ""
    compressed: Sequence[tuple[int, int]] = ()

    @property
    def target(self) -> Address:
        return self.turn.targets[0]

    async def watch(self, report: AsyncGenerator[Progress]) -> Shown:
        """Show what a turn reports until it has ended; the platform's failures cost nothing but the showing."""
        finished, notices, notice, live = None, dict[str, None](), self._notice(), self._live()
        if live is not None and notice is not None:
            live.note(notice.line)
        async with beside(*([live.run()] if live is not None else [])) as tasks:
            async with aclosing(report):
                async for progress in report:
                    if isinstance(progress, Finished):
                        finished = progress
                    elif isinstance(progress, Notice):
                        notices[progress.text] = None
                    else:
                        await self._hear(progress, live, notice)
            if live is not None:
                live.stop()
                await tasks[-1]
        assert finished is not None
        stays = notice.result if notice is not None and not (live is not None and live.lost) else ""
        return Shown(finished, live.message_id if live is not None else self.adopt, tuple(notices), stays)

    def _notice(self) -> CompressionNotice | None:
        if self.told == "nothing" or self.adapter is None or self.adapter.shows_rows:
            return None
        return CompressionNotice(self.told, self.compressed)

    def _live(self) -> Live | None:
        adapter, every = self.adapter, self.every
        if every is None and self.told != "nothing" and adapter is not None and not adapter.shows_rows:
            every = adapter.limits.edit_every
        if adapter is None or every is None or not adapter.limits.edits:
            return None
        return Live(self.database, adapter, self.turn.id, self.target, every=every, adopt=self.adopt)

    async def _hear(self, progress: Progress, live: Live | None, notice: CompressionNotice | None) -> None:
        match progress:
            case Compressing():
                await self._status("compressing")
            case CompressionEnded(reason=reason):
                await self._status("unchanged" if reason else "compressed")
            case _:
                pass
        if notice is not None:
            notice.hear(progress)
        if live is not None and notice is not None:
            live.note(notice.line)
        if live is not None and self.every is not None:
            live.feed(progress)

    async def _status(self, status: Status) -> None:
        if self.adapter is None:
            return
        try:
            await contain("a status", self.adapter.status(self.target, status), AdapterError)
        except AdapterError as error:
            log.debug("no status in %s: %s", self.target, error)
