"""The journal of a running turn: every write is fenced, and the session's new version is kept."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.agent import journal
from gateway.bus import lanes
from gateway.bus.lanes import Claimed
from gateway.messages import Message
from gateway.sessions import store
from gateway.storage.database import Connection, Database
from gateway.turns.live import LiveSession


class TurnJournal:
    """Implements `gateway.agent.journal.Journal` over the database."""

    def __init__(self, database: Database, claimed: Claimed, model: str, session: LiveSession) -> None:
        self._database = database
        self._claimed = claimed
        self._model = model
        self._session = session

    async def write(self, said: Sequence[Message], *, starting: Sequence[str] = ()) -> None:
        """Store messages and calls that start, in one fenced transaction."""
        if said or starting:
            await self._database.write(lambda connection: self._write(connection, said, starting))
            self._session.stored = True

    def _write(self, connection: Connection, said: Sequence[Message], starting: Sequence[str]) -> None:
        claimed = self._claimed
        lanes.fence(connection, claimed.lane, claimed.generation)
        journal.begin(connection, claimed.turn, str(claimed.lane), claimed.session_id, self._model)
        if not self._session.stored:
            self._session.keep_prompt(connection)
        store.append(connection, claimed.session_id, claimed.turn, said)
        journal.start_calls(connection, claimed.turn, starting)
        journal.end_calls(connection, claimed.turn, [message.call_id for message in said if message.call_id])
