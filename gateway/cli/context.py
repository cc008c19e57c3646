"""``context``: what fills the window of a conversation's model, and when it is compressed. From the rows: estimates."""

from __future__ import annotations

import time
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from gateway.cli.command import command
from gateway.cli.output import Output

if TYPE_CHECKING:
    from gateway.agent.context.guards import Guards
    from gateway.agent.context.looked import Filling
    from gateway.app.looking import Looking
    from gateway.rooms import Rooms
    from gateway.sessions.store import Stored
    from gateway.storage.database import Connection


@command("context")
@click.argument("session", metavar="SESSION")
def context(output: Output, *, session: str) -> None:
    """
    Show what fills the window of the model of SESSION, when it is compressed, and what keeps it from that.

    All figures are estimates, with the tools that an owner has; in the chat, /context knows what the endpoint counted.
    """
    from gateway.cli.listing import visible
    from gateway.cli.opened import in_rooms

    document, lines = in_rooms(output, partial(_look, session=session))
    output.answer(document, map(visible, lines))


async def _look(rooms: Rooms, *, session: str) -> tuple[dict[str, Any], list[str]]:
    from gateway.agent.context.assembly import viewed
    from gateway.agent.context.guards import unpacked
    from gateway.agent.prompt.prompt import Prompt
    from gateway.app.looking import looking

    stored, model, lane = await rooms.database.read(partial(_stored, session=session))
    rooms = rooms.of(lane)
    async with looking(rooms, model) as looked:
        prompt = Prompt.stored(stored.prompt, stored.outline)
        filled = looked.measure.fill(prompt, viewed(stored.rows, stored.views))
        guards, automatic = unpacked(stored.guards), rooms.config.settings.compression.enabled
        document = {"session": session, **_document(looked, filled, guards, automatic=automatic)}
        return document, [rooms.redact(line) for line in _lines(looked, filled, guards, automatic=automatic)]


def _stored(connection: Connection, session: str) -> tuple[Stored, str, str]:
    from gateway.cli.compaction import existing, lane_of, model_of
    from gateway.sessions import store

    existing(connection, session)
    return store.load(connection, session), model_of(connection, session), lane_of(connection, session)


def _lines(looked: Looking, filled: Filling, guards: Guards, *, automatic: bool) -> list[str]:
    from gateway.commands.context import filling, told

    window = filling(looked.measure.model, filled.total, ", estimated")
    return told(window, filled, looked.engine, guards, automatic=automatic)


def _document(looked: Looking, filled: Filling, guards: Guards, *, automatic: bool) -> dict[str, Any]:
    model, now = looked.measure.model, time.time()
    return {
        "model": model.name,
        "window": model.window,
        "room": looked.measure.room,
        "tokens": filled.total,
        "estimated": True,
        "parts": asdict(filled),
        "threshold": looked.engine.due if automatic else None,
        "engine": looked.engine.name,
        "status": dict(looked.engine.status()),
        "compressions": guards.compressions,
        "guards": {
            "block": guards.block(now) or None,
            "secondsLeft": guards.left(now),
            "reason": guards.reason or None,
            "ineffective": guards.ineffective,
            "fallbacks": guards.fallbacks,
            "held": guards.held,
        },
    }
