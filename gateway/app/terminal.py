"""The local command line as a platform: the address of a conversation, and the adapter that every gateway has for it.

A command puts what was typed into the inbox like any platform does, and reads the answer from the rows. So delivery
there is no more than a receipt, which may be given in any process and as often as one likes.
"""

from __future__ import annotations

import asyncio
import secrets
import uuid
from collections.abc import Sequence

from gateway.bus import bindings
from gateway.contracts.adapter import Adapter, Emit, Limits
from gateway.errors import GatewayError
from gateway.sessions import store
from gateway.sessions.keys import namespace_of
from gateway.sessions.profiles import Route, private_lane
from gateway.storage.database import Connection
from gateway.types import Address, Part, Receipt, Sender, SessionKey, unescape

PLATFORM = "cli"
ME = Sender("local")


class SessionElsewhere(GatewayError):
    """A session cannot be continued from the command line."""


class CommandLine(Adapter):
    """All conversations of the command line; the events come from the commands themselves."""

    name = PLATFORM
    lone = False
    shows_rows = True
    limits = Limits(text=10_000_000, edit_every=0.1, per_chat=1_000.0, per_account=10_000.0, idempotent=True)

    async def listen(self, emit: Emit) -> None:
        """Wait: nothing comes in this way."""
        await asyncio.Event().wait()

    async def send(self, target: Address, part: Part) -> Receipt:
        return Receipt(target, part.key or uuid.uuid4().hex)

    async def edit(self, receipt: Receipt, part: Part) -> None:
        return


def new_conversation() -> Address:
    """Return the address of a conversation that has not begun."""
    return Address(platform=PLATFORM, chat=secrets.token_hex(8))


def lane_of(place: Address, routes: Sequence[Route]) -> SessionKey:
    """Return the key of a conversation of the command line."""
    return private_lane(place, ME.id, routes)


def conversation_of(connection: Connection, session_id: str, routes: Sequence[Route] = ()) -> Address:
    """
    Return where a session is continued; one that no chat holds is taken over.

    Raise `LookupError` where there is no such session, `SessionElsewhere` where another chat holds it, or where it is
    another agent's than the one `routes` give the command line.
    """
    fresh = new_conversation()
    key = lane_of(fresh, routes)
    about = store.summary(connection, session_id)
    if about is not None and (of := namespace_of(about.lane)) != namespace_of(key):
        raise SessionElsewhere(
            f"the session {session_id} is of the profile {of}, and the command line speaks with {namespace_of(key)};"
            f" a rule of profiles that matches platform: {PLATFORM} changes that"
        )
    if bindings.take_session(connection, key, session_id):
        return fresh
    lane = bindings.holder(connection, session_id)
    if not lane:
        raise LookupError(session_id)
    mine = Address(platform=PLATFORM, chat=unescape(lane.rpartition(":")[2]))
    if lane != str(lane_of(mine, routes)):
        raise SessionElsewhere(f"the session {session_id} belongs to {lane}; it can be continued only there")
    return mine
