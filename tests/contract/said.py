"""What people said, as rows, for the tests of the search."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import Connection, insert, select, update

from gateway.messages import Message, Speaker
from gateway.sessions import store
from gateway.sessions.search.find import Found, Order, search
from gateway.sessions.search.index import catch_up
from gateway.sessions.search.query import parse
from gateway.sessions.search.scope import Asking, Scope
from gateway.storage.database import Database
from gateway.storage.tables import identities, messages, people, sessions

GROUP = "agent:main:fake:group:club"
OTHER_GROUP = "agent:main:fake:group:band"


def private(name: str) -> str:
    return f"agent:main:fake:dm:{name}"


@dataclass
class Talks:
    """Conversations in a database, and a search over them."""

    database: Database
    begun: set[str] = field(default_factory=set)

    async def say(
        self,
        *texts: str,
        by: str = "ann",
        lane: str = "",
        session: str = "",
        role: Speaker = "user",
        turn: str = "",
        days_ago: float = 0.0,
    ) -> str:
        """Store messages of a person, in a private chat where no lane is named; return the session."""
        lane = lane or private(by)
        session = session or f"s of {lane}"
        await self.database.write(partial(self._say, texts, by, lane, session, role, turn, days_ago))
        return session

    def _say(
        self,
        texts: tuple[str, ...],
        by: str,
        lane: str,
        session: str,
        role: Speaker,
        turn: str,
        days_ago: float,
        connection: Connection,
    ) -> None:
        alone = "" if lane in {GROUP, OTHER_GROUP} else by
        if by not in self.begun:
            connection.execute(insert(people).values(id=by, role="", created=0))
            connection.execute(insert(identities).values(account=f"fake:{by}", person=by, created=0))
        if session not in self.begun:
            connection.execute(insert(sessions).values(id=session, lane=lane, person=alone, created=len(self.begun)))
        self.begun |= {by, session}
        if not alone:
            store.take_part(connection, session, {f"fake:{by}"})
        store.append(connection, session, turn or f"turn {len(self.begun)}", [Message(role, text) for text in texts])
        if days_ago:
            newest = select(messages.c.id).order_by(messages.c.id.desc()).limit(len(texts)).scalar_subquery()
            before = messages.c.created - days_ago * 86_400
            connection.execute(update(messages).where(messages.c.id.in_(newest)).values(created=before))

    async def find(
        self,
        query: str,
        by: str = "ann",
        lane: str = "",
        *,
        session: str = "",
        limit: int = 50,
        order: Order = "best",
        apart: bool = False,
    ) -> Found:
        """Search as a person does, in a private chat where no lane is named."""
        return await self._find(query, Asking(by, session, lane or private(by)), limit, order, apart=apart)

    async def find_all(self, query: str) -> list[str]:
        """Search as the operator does."""
        return _snippets(await self._find(query, None, 50, "best", apart=False))

    async def _find(self, query: str, scope: Scope, limit: int, order: Order, *, apart: bool) -> Found:
        await catch_up(self.database, 10_000, math.inf)
        wanted = parse(query)
        return await self.database.read(
            partial(search, query=wanted, scope=scope, limit=limit, order=order, apart=apart)
        )

    async def texts(self, query: str, by: str = "ann", lane: str = "", order: Order = "best") -> list[str]:
        """Return what was found, without marks."""
        return _snippets(await self.find(query, by, lane, order=order))


def _snippets(found: Found) -> list[str]:
    return [hit.snippet.replace(">>>", "").replace("<<<", "") for hit in found.hits]
