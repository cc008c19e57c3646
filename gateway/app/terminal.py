"""The local command line as a platform: the address of a conversation, and the adapter that every gateway has for it.

A command puts what was typed into the inbox like any platform does, and reads the answer from the rows. So delivery
there is no more than a receipt, which may be given in any process and as often as one likes.
"""

from __future__ import annotations

import asyncio
import secrets
import uuid

from gateway.bus import bindings
from gateway.contracts.adapter import Adapter, Emit, Limits
from gateway.errors import GatewayError
from gateway.sessions.keys import private_key
from gateway.storage.database import Connection
from gateway.types import Address, Part, Receipt, unescape

PLATFORM = "cli"
HINT = "The person reads in a terminal that shows Markdown as it is written: short lines, plain lists, no tables."


class SessionElsewhere(GatewayError):
    """A session cannot be continued from the command line."""


class CommandLine(Adapter):
    """All conversations of the command line; the events come from the commands themselves."""

    name = PLATFORM
    lone = False
    shows_rows = True
    limits = Limits(text=10_000_000, edit_every=0.1, per_chat=1_000.0, per_account=10_000.0, idempotent=True, hint=HINT)

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


def conversation_of(connection: Connection, session_id: str) -> Address:
    """
    Return where a session is continued; one that no chat holds is taken over.

    Raise `LookupError` where there is no such session, `SessionElsewhere` where another chat holds it.
    """
    fresh = new_conversation()
    if bindings.take_session(connection, private_key(fresh), session_id):
        return fresh
    lane = bindings.holder(connection, session_id)
    if not lane:
        raise LookupError(session_id)
    mine = Address(platform=PLATFORM, chat=unescape(lane.rpartition(":")[2]))
    if lane != str(private_key(mine)):
        raise SessionElsewhere(f"the session {session_id} belongs to {lane}; it can be continued only there")
    return mine
