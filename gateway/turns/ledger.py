"""Where the compressions of a running turn are stored: every write is fenced."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass

from gateway.agent.context.guards import Guards, packed
from gateway.bus import bindings, lanes
from gateway.bus.lanes import Claimed
from gateway.contracts.context import Compressed, Record
from gateway.metrics import Metrics
from gateway.sessions import compressions, store
from gateway.storage.database import Connection, Database
from gateway.turns.live import LiveSession


@dataclass(frozen=True, slots=True)
class TurnLedger:
    """
    Implements `gateway.agent.context.fitted.Ledger` over the database.

    `without` are turns that this one replaces. `follow` makes the id of a session that goes on from a compressed one,
    None where a session is compressed within itself. `metrics` counts what was stored.
    """

    database: Database
    claimed: Claimed
    session: LiveSession
    without: Set[str] = frozenset()
    follow: Callable[[], str] | None = None
    metrics: Metrics | None = None

    async def stored(self, after: int) -> Sequence[tuple[int, str]]:
        """Return the ids of the session's rows in view after one, each with the call it is a result of."""
        id = self.claimed.session_id
        return await self.database.read(lambda connection: store.numbers(connection, id, after, without=self.without))

    async def keep(self, record: Record, done: Compressed | None, guards: Guards, prompt: str) -> None:
        """Store what was tried; what it made is the session's from then on."""
        await self.database.write(lambda connection: self._keep(connection, record, done, packed(guards), prompt))
        self.session.guards = packed(guards)
        if self.metrics is not None:
            before, after = record.tokens
            self.metrics.count_compression(record.outcome, record.seconds, before - after)

    def _keep(self, connection: Connection, record: Record, done: Compressed | None, guards: str, prompt: str) -> None:
        claimed, id = self.claimed, self.claimed.session_id
        lanes.fence(connection, claimed.lane, claimed.generation)
        compressions.keep(connection, id, claimed.turn, record, done.view if done is not None else None)
        if self.session.stored:
            store.change_prompt(connection, id, prompt)
        store.keep_guards(connection, id, guards)
        if done is not None and done.outcome != "pruned" and self.follow is not None:
            child = self.follow()
            store.follow(connection, id, child)
            bindings.rebind(connection, claimed.lane, child)
