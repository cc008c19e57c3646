"""``deliveries``: parts of answers that did not reach their chat, and messages that could not be answered."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from gateway.cli import exits
from gateway.cli.command import Group, command
from gateway.cli.output import Failure, Output

if TYPE_CHECKING:
    from gateway.bus.letters import Arrival, Which
    from gateway.delivery.outbox import Delivery
    from gateway.log.redact import Redactor
    from gateway.rooms import Rooms
    from gateway.storage.database import Connection

HERE = "gateway.cli.deliveries:"
TEXT, REASON, PLACE = 40, 60, 80
BY_HAND = "discarded by the operator"

deliveries = Group(
    "deliveries",
    {
        "list": (f"{HERE}list_", "List what was not delivered."),
        "retry": (f"{HERE}retry", "Try again what was given up."),
        "discard": (f"{HERE}discard", "Give up for good."),
    },
    help="List, retry and discard what was not delivered.",
)

inbound = click.option(
    "--in", "inbound", is_flag=True, help="Messages to the gateway that it could not answer, in place of its own."
)
numbered = click.argument("ids", metavar="ID...", nargs=-1, required=True, type=click.IntRange(1, 2**63 - 1))


@command("list")
@inbound
@click.option("--dead", is_flag=True, help="Only what was given up.")
@click.option("--all", "every", is_flag=True, help="Also what was delivered or dealt with.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1), help="How many.")
def list_(output: Output, *, inbound: bool, dead: bool, every: bool, limit: int) -> None:
    """List parts of answers that are on their way or were refused, the newest first; with --in, messages likewise."""
    from gateway.cli.listing import columns
    from gateway.cli.opened import in_rooms

    if dead and every:
        raise Failure("give either --dead or --all", code=exits.USAGE)
    which: Which = "dead" if dead else "all" if every else "due"
    rows, more = in_rooms(output, partial(_listed, which=which, limit=limit, inbound=inbound))
    head = ("ID", "STATE", "TRIES", "SINCE", "CHAT", "TEXT", "REASON")
    lines = columns([head, *map(_cells, rows)]) if rows else ["there are none"]
    output.answer({"deliveries": rows, "hasMore": more}, lines)
    if more:
        output.note("there are more; see --limit")


async def _listed(rooms: Rooms, *, which: Which, limit: int, inbound: bool) -> tuple[list[dict[str, Any]], bool]:
    from gateway.bus import letters
    from gateway.delivery import outbox

    if inbound:
        arrivals = await rooms.database.read(lambda connection: letters.arrivals(connection, which, limit + 1))
        found = [_arrival(one, rooms.redact) for one in arrivals]
    else:
        parts = await rooms.database.read(lambda connection: outbox.listed(connection, which, limit + 1))
        found = [_part(one, rooms.redact) for one in parts]
    return found[:limit], len(found) > limit


def _part(one: Delivery, redact: Redactor) -> dict[str, Any]:
    return _row(one, one.address, one.text, redact)


def _arrival(one: Arrival, redact: Redactor) -> dict[str, Any]:
    return {**_row(one, str(one.event.origin), one.event.text, redact), "lane": one.lane}


def _row(one: Delivery | Arrival, address: str, text: str, redact: Redactor) -> dict[str, Any]:
    from gateway.cli.listing import utc

    return {
        "id": one.id,
        "state": one.state,
        "attempts": one.attempts,
        "created": utc(one.created),
        "address": address,
        "text": redact(text),
        "reason": redact(one.reason),
    }


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    from gateway.cli.listing import local_of, one_line

    return (
        str(row["id"]),
        row["state"],
        str(row["attempts"]),
        local_of(row["created"]),
        one_line(row["address"], PLACE),
        one_line(row["text"], TEXT),
        one_line(row["reason"], REASON),
    )


@command("retry")
@numbered
@inbound
def retry(output: Output, *, ids: tuple[int, ...], inbound: bool) -> int:
    """Try refused parts again, or with --in messages that are dead letters, as if for the first time."""
    from gateway.bus import letters
    from gateway.delivery import outbox

    code = _act(output, ids, "retried", letters.revive if inbound else outbox.retry)
    output.note("a gateway that runs takes it up within 5 seconds, another at its start")
    return code


@command("discard")
@numbered
@inbound
def discard(output: Output, *, ids: tuple[int, ...], inbound: bool) -> int:
    """Give up refused parts for good, or with --in messages that wait or are dead letters; they stay listed a while."""
    from gateway.bus import letters
    from gateway.delivery import outbox

    return _act(output, ids, "discarded", partial(letters.discard, reason=BY_HAND) if inbound else outbox.discard)


def _act(output: Output, ids: tuple[int, ...], done: str, act: Callable[[Connection, list[int]], list[int]]) -> int:
    """Act on the rows, all in one transaction; a row that is in no state for it is named."""
    from gateway.cli.listing import numbers
    from gateway.cli.opened import in_rooms

    wanted = list(dict.fromkeys(ids))

    async def work(rooms: Rooms) -> list[int]:
        return await rooms.database.write(lambda connection: act(connection, wanted))

    acted = in_rooms(output, work)
    found, missing = [id for id in wanted if id in acted], [id for id in wanted if id not in acted]
    if not found:
        hint = "hermes-gateway deliveries list --dead shows those that can be, with --in for messages"
        raise Failure(f"{numbers(missing)}: nothing there can be {done}", code=exits.NOT_FOUND, hint=hint)
    lines = [f"{done}: {numbers(found)}", *([f"not found: {numbers(missing)}"] if missing else [])]
    output.answer({"ok": not missing, done: found, "notFound": missing}, lines)
    return exits.NOT_FOUND if missing else exits.OK
