"""Where the compressions of a running turn are stored: every write is fenced."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass

from gateway.agent.context.guards import Guards, packed
from gateway.agent.prompt.prompt import Prompt
from gateway.bus import bindings, lanes
from gateway.bus.lanes import Claimed
from gateway.contracts.context import Compressed, Record
from gateway.metrics import Metrics
from gateway.sessions import compressions, store
from gateway.storage.database import Connection, Database
from gateway.turns.live import LiveSession


@dataclass(slots=True)
class TurnLedger:
    """
    Implements `gateway.agent.context.compacting.Ledger` over the database.

    `without` are turns that this one replaces. `follow` makes the id of a session that goes on from a compressed one,
    None where a session is compressed within itself; `child` is then the id it has from the next turn on, of which
    `followed` hears. `metrics` counts what was stored.
    """

    database: Database
    claimed: Claimed
    session: LiveSession
    without: Set[str]
    follow: Callable[[], str] | None
    followed: Callable[[str], None]
    metrics: Metrics
    child: str = ""

    @property
    def current(self) -> str:
        """The id of the session that the next turn will have."""
        return self.child or self.claimed.session_id

    async def stored(self, after: int) -> Sequence[tuple[int, str]]:
        """Return the ids of the session's rows in view after one, each with the call it is a result of."""
        id = self.claimed.session_id
        return await self.database.read(lambda connection: store.numbers(connection, id, after, without=self.without))

    async def keep(self, record: Record, done: Compressed | None, guards: Guards, prompt: Prompt) -> None:
        """Store what was tried; what it made is the session's from then on."""
        child = await self.database.write(
            lambda connection: self._keep(connection, record, done, packed(guards), prompt)
        )
        self.session.guards = packed(guards)
        if self.child != child:
            self.child = child
            self.followed(child)
        before, after = record.tokens
        self.metrics.count_compression(record.outcome, record.seconds, before - after)

    def _keep(
        self, connection: Connection, record: Record, done: Compressed | None, guards: str, prompt: Prompt
    ) -> str:
        claimed, id = self.claimed, self.claimed.session_id
        lanes.fence(connection, claimed.lane, claimed.generation)
        compressions.keep(connection, id, claimed.turn, record, done.view if done is not None else None)
        if self.session.stored:
            alone = self.session.whose.alone
            store.keep_prompt(connection, self.current, prompt.text, prompt.outline(), alone)
        store.keep_guards(connection, self.current, guards)
        if done is None or done.outcome == "pruned" or self.follow is None or self.child:
            return self.child
        child = self.follow()
        store.follow(connection, id, child)
        bindings.rebind(connection, claimed.lane, child)
        return child
