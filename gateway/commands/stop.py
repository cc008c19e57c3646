"""/stop and /new: end the running turn and what waits, and keep what was said so far."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.agent import journal
from gateway.agent.history import closing
from gateway.agent.journal import Ending
from gateway.bus import lanes, reports
from gateway.bus.lanes import Stopped
from gateway.commands.registry import Asked
from gateway.delivery import outbox
from gateway.delivery.prepare import STOPPED, Prepare
from gateway.messages import Message
from gateway.sessions import store
from gateway.sessions.compose import user_message
from gateway.sessions.keys import is_of_one
from gateway.storage.database import Connection
from gateway.types import Reply


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the person is told; `refused` where the running turn is of somebody with more rights."""

    text: str
    refused: bool = False


def stop_turn(connection: Connection, prepare: Prepare, asked: Asked, reason: str) -> Outcome:
    """
    Raise the fence, discard everything up to the asking, and store what the stopped turn had said.

    The stopper stores it, since the stopped turn may write nothing any more.
    """
    running = reports.standing(connection, asked.key).running
    if running is not None and not asked.role.covers(running):
        return Outcome(f"What runs now was asked for by an {running}; you cannot stop it.", refused=True)
    stopped = lanes.stop(connection, asked.key, asked.id, reason)
    if stopped.turn and stopped.session_id:  # a conversation that was just erased has none
        _keep(connection, prepare, asked, stopped)
    return Outcome(_told(stopped))


def _told(stopped: Stopped) -> str:
    count = len(stopped.waiting)
    dropped = f"{count} waiting message{'s were' if count > 1 else ' was'} dropped." if count else ""
    return " ".join(part for part in ("Stopped." if stopped.turn else "", dropped) if part)


def _keep(connection: Connection, prepare: Prepare, asked: Asked, stopped: Stopped) -> None:
    said = store.of_turn(connection, stopped.turn)
    shown = ""
    for address, message_id, text in outbox.lives(connection, stopped.turn):
        shown = shown or text
        if message_id:
            outbox.add(connection, prepare.parts(Reply(f"{text}\n\n{STOPPED}".strip()), address, edits=message_id))
    outbox.end_live(connection, stopped.turn)
    begun = journal.started_calls(connection, stopped.turn)
    if stopped.command and not (said or shown):
        return  # what was asked for was a command and no answer: nothing was said
    rest = [*([] if said else [user_message(stopped.events)]), *closing(said, begun)]
    rest.append(Message("assistant", f"{shown}\n\n{STOPPED}".strip()))
    session, lane = stopped.session_id, str(asked.key)
    if not is_of_one(lane):
        store.take_part(connection, session, {event.account for event in stopped.events})
    store.append(connection, session, stopped.turn, rest)
    journal.finish(connection, stopped.turn, lane, session, Ending("stopped"))
