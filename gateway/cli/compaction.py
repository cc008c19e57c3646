"""``compaction``: how conversations were compressed, what a summary says, and the way back."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from gateway.cli import exits
from gateway.cli.command import Group, command
from gateway.cli.output import Failure, Output

if TYPE_CHECKING:
    from gateway.commands.compaction import Undone
    from gateway.log.redact import Redactor
    from gateway.rooms import Rooms
    from gateway.sessions.compressions import Listed
    from gateway.storage.database import Connection

HERE = "gateway.cli.compaction:"
RUNS = "send /compaction undo in that chat, or stop the gateway first"

compaction = Group(
    "compaction",
    {
        "list": (f"{HERE}list_", "List the compressions of a session, the newest first."),
        "show": (f"{HERE}show", "Print the summary that stands in a session."),
        "undo": (f"{HERE}undo", "Take a session's newest compression back."),
    },
    help="Show how conversations were compressed, and undo it.",
)
named = click.argument("session", metavar="SESSION")


def existing(connection: Connection, session: str) -> None:
    """Raise `Failure` where there is no such session."""
    from gateway.sessions import store

    if store.summary(connection, session) is None:
        raise Failure(f"there is no session {session}", code=exits.NOT_FOUND, hint="see hermes-gateway sessions list")


@command("list")
@named
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1), help="How many.")
def list_(output: Output, *, session: str, limit: int) -> None:
    """List the compressions of SESSION and of those it goes on from: when, why, and what each did."""
    from gateway.cli.listing import columns, local, one_line
    from gateway.cli.opened import in_rooms
    from gateway.commands.compaction import described
    from gateway.sessions import compressions

    def job(connection: Connection) -> tuple[list[Listed], int]:
        existing(connection, session)
        return compressions.listed(connection, session, limit), compressions.count(connection, session)

    async def work(rooms: Rooms) -> tuple[list[Listed], int, Redactor]:
        return *await rooms.database.read(job), rooms.redact

    found, count, redact = in_rooms(output, work)
    numbered = [(count - place, one) for place, one in enumerate(found)]
    rows = [(str(number), local(one.created), one_line(redact(described(one)), 400)) for number, one in numbered]
    document = {
        "session": session,
        "compactions": [_document(number, one, redact) for number, one in numbered],
        "hasMore": count > len(found),
    }
    output.answer(
        document, columns([("NUMBER", "WHEN", "WHY AND WHAT"), *rows]) if rows else [f"{session} was never compressed"]
    )
    if count > len(found):
        output.note("there are more; see --limit")


def _document(number: int, one: Listed, redact: Redactor) -> dict[str, Any]:
    from gateway.cli.listing import utc

    record = one.record
    return {
        "number": number,
        "session": one.session_id,
        "created": utc(one.created),
        "undone": utc(one.undone),
        "occasion": record.occasion,
        "outcome": record.outcome,
        "engine": record.engine,
        "model": record.model,
        "writer": record.writer or None,
        "focus": redact(record.focus),
        "tokens": {"before": record.tokens[0], "after": record.tokens[1]},
        "messages": {"before": record.messages[0], "after": record.messages[1]},
        "seconds": round(record.seconds, 3),
        "score": record.score,
        "reason": redact(record.reason),
    }


@command("show")
@named
def show(output: Output, *, session: str) -> None:
    """Print the summary that stands for a part of SESSION, as its model is shown it."""
    from gateway.cli.listing import visible
    from gateway.cli.opened import in_rooms
    from gateway.commands.compaction import summary

    def job(connection: Connection) -> str:
        existing(connection, session)
        return summary(connection, session)

    async def work(rooms: Rooms) -> str:
        return rooms.redact(await rooms.database.read(job))

    text = in_rooms(output, work)
    if not text:
        hint = f"see hermes-gateway compaction list {session}"
        raise Failure(f"no summary stands in {session}", code=exits.NOT_FOUND, hint=hint)
    output.answer({"session": session, "summary": text}, visible(text).split("\n"))


@command("undo")
@named
def undo(output: Output, *, session: str) -> None:
    """
    Take the newest compression of SESSION back: what it hid is in view again as it was said.

    No automatic compression begins before the model's endpoint has counted too much. While a gateway runs, this is for
    the chat: /compaction undo.
    """
    from gateway.agent.context.words import short
    from gateway.cli.opened import in_rooms
    from gateway.commands.compact import figures

    done = in_rooms(output, partial(_undo, session=session))
    said = f"taken back ({figures(done.found.record)}): about {short(done.tokens)} tokens are in view as they were said"
    output.answer({"ok": True, "session": session, "tokens": done.tokens}, [said])


async def _undo(rooms: Rooms, *, session: str) -> Undone:
    from gateway.app.looking import looking
    from gateway.commands.compaction import weigh

    with _alone(rooms):
        model = await rooms.database.read(partial(_model, session=session))
        lane = await rooms.database.read(partial(lane_of, session=session))
        async with looking(rooms.of(lane), model) as looked:
            weighed = await rooms.database.read(partial(weigh, measure=looked.measure, session_id=session))
        if weighed is None:
            hint = f"see hermes-gateway compaction list {session}"
            raise Failure(f"there is no compression of {session} to undo", code=exits.NOT_FOUND, hint=hint)
        if weighed.refusal:
            raise Failure(weighed.refusal.rstrip("."))
        await rooms.database.write(partial(_write, session=session, weighed=weighed))
        return weighed


@contextmanager
def _alone(rooms: Rooms) -> Iterator[None]:
    """Keep gateways off the home; raise `Failure` where one is there."""
    from gateway.home import HomeInUse

    try:
        with rooms.config.home.lock():
            yield
    except HomeInUse as error:
        raise Failure(str(error), code=exits.TEMPORARY, hint=RUNS) from None


def _model(connection: Connection, session: str) -> str:
    """Return the model of a session's chat, "" for the default; raise `Failure` where it must not be changed here."""
    from gateway.cli.processes import lives
    from gateway.sessions import store
    from gateway.storage import lease

    existing(connection, session)
    here = socket.gethostname()
    for worker in lease.living(connection):
        if worker.role != "edge" and (worker.host != here or lives(worker.pid, worker.since)):
            text = f"a gateway runs on this database: pid {worker.pid} on {worker.host}"
            raise Failure(text, code=exits.TEMPORARY, hint=RUNS)
    if follower := store.follower(connection, session):
        hint = f"hermes-gateway compaction undo {follower}"
        raise Failure(f"the session {session} goes on as {follower}", hint=hint)
    return model_of(connection, session)


def lane_of(connection: Connection, session: str) -> str:
    """Return the lane of a session, which says whose it is."""
    from gateway.sessions import store

    found = store.summary(connection, session)
    return found.lane if found else ""


def model_of(connection: Connection, session: str) -> str:
    """Return the model of a session's chat, "" for the default."""
    from gateway.bus import bindings, reports
    from gateway.types import SessionKey

    lane = bindings.holder(connection, session)
    return reports.standing(connection, SessionKey(lane)).model if lane else ""


def _write(connection: Connection, session: str, weighed: Undone) -> None:
    from gateway.bus import bindings, lanes
    from gateway.commands import compaction
    from gateway.types import SessionKey

    if lane := bindings.holder(connection, session):
        lanes.overtake(connection, SessionKey(lane))
    compaction.undo(connection, session_id=session, found=weighed.found)
