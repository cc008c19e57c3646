"""``sessions``: the conversations that were had, and what was said in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from gateway.cli import exits
from gateway.cli.command import Group, command
from gateway.cli.output import Failure, Output

if TYPE_CHECKING:
    from gateway.log.redact import Redactor
    from gateway.messages import Message
    from gateway.rooms import Rooms
    from gateway.sessions.search.find import Found, Hit, Order
    from gateway.sessions.store import Line, Summary

HERE = "gateway.cli.sessions:"
TITLE = 40
"""Columns of a title in the list."""
NEVER = 10_000_000
"""A limit that none is."""

sessions = Group(
    "sessions",
    {
        "list": (f"{HERE}list_", "List sessions, the newest first."),
        "show": (f"{HERE}show", "Print what was said in a session."),
        "search": (f"{HERE}search", "Find what was said, in every session."),
    },
    help="List conversations, read them and search them.",
)


@command("list")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1), help="How many.")
def list_(output: Output, *, limit: int) -> None:
    """List sessions with their titles, chats and numbers of messages, the newest first."""
    from gateway.cli.listing import columns, local, one_line
    from gateway.cli.opened import in_rooms
    from gateway.sessions import store

    async def work(rooms: Rooms) -> tuple[list[Summary], Redactor]:
        return await rooms.database.read(lambda connection: store.summaries(connection, limit + 1)), rooms.redact

    found, redact = in_rooms(output, work)
    shown, more = found[:limit], len(found) > limit
    rows = [
        (one.id, local(one.created), str(one.messages), one_line(redact(one.title), TITLE), one_line(one.lane, 200))
        for one in shown
    ]
    head = ("SESSION", "BEGUN", "MESSAGES", "TITLE", "CHAT")
    document = {"sessions": [_summary(one, redact) for one in shown], "hasMore": more}
    output.answer(document, columns([head, *rows]) if rows else ["there are no sessions yet"])
    if more:
        output.note("there are more; see --limit")


@command("show")
@click.argument("session", metavar="ID")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(0), help="The newest so many; 0 is all.")
def show(output: Output, *, session: str, limit: int) -> None:
    """
    Print what was said in the session ID, oldest first.

    Messages that are out of the model's view, since they were compressed or replaced, are marked as hidden.
    """
    from gateway.cli.opened import in_rooms
    from gateway.sessions import store

    async def work(rooms: Rooms) -> tuple[Summary | None, list[Line], Redactor]:
        summary = await rooms.database.read(lambda connection: store.summary(connection, session))
        most = limit or NEVER
        return (
            summary,
            await rooms.database.read(lambda connection: store.transcript(connection, session, most)),
            rooms.redact,
        )

    summary, lines, redact = in_rooms(output, work)
    if summary is None:
        raise Failure(f"there is no session {session}", code=exits.NOT_FOUND, hint="see hermes-gateway sessions list")
    more = summary.messages > len(lines)
    document = {**_summary(summary, redact), "transcript": [_line(line, redact) for line in lines], "hasMore": more}
    output.answer(document, _transcript(summary, lines, redact))
    if more:
        output.note(f"{summary.messages - len(lines)} earlier messages are not shown; see --limit")


@command("search")
@click.argument("query")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000), help="How many messages.")
@click.option("--sort", type=click.Choice(["best", "newest", "oldest"]), default="best", show_default=True)
def search(output: Output, *, query: str, limit: int, sort: Order) -> None:
    """
    Find messages of every session that hold all words of QUERY, the best first.

    "a phrase", A OR B and conf* say more; role:user, after:2026-11-30 and before:2026-12 narrow it.
    """
    from gateway.cli.opened import in_rooms
    from gateway.sessions.search import find
    from gateway.sessions.search.index import catch_up
    from gateway.sessions.search.query import QueryError, parse

    try:
        wanted = parse(query)
    except QueryError as error:
        raise Failure(str(error), code=exits.USAGE) from None

    async def work(rooms: Rooms) -> tuple[Found, int, Redactor]:
        waiting = await catch_up(rooms.database)
        job = partial(find.search, query=wanted, scope=None, limit=limit + 1, order=sort, redact=rooms.redact)
        return await rooms.database.read(job), waiting, rooms.redact

    found, waiting, redact = in_rooms(output, work)
    shown, more = found.hits[:limit], len(found.hits) > limit or found.passed_over != ""
    document = {"hits": [_hit(one, redact) for one in shown], "hasMore": more, "notIndexed": waiting}
    output.answer(document, list(_hits(shown)) or ["nothing that was said fits"])
    if wanted.empty:
        output.note("the query holds no word to look for")
    if waiting:
        output.note(f"{waiting} older messages are not indexed yet: a gateway that runs does so by and by")
    if found.passed_over:
        output.note(found.passed_over)
    if len(found.hits) > limit:
        output.note("there are more; see --limit")


def _hit(one: Hit, redact: Redactor) -> dict[str, Any]:
    from gateway.cli.listing import utc

    return {
        "session": one.session_id,
        "message": one.id,
        "title": redact(one.title),
        "lane": one.lane,
        "created": utc(one.created),
        "role": one.role,
        "name": one.name,
        "snippet": one.snippet,
        "state": one.state,
    }


def _hits(shown: Sequence[Hit]) -> Iterator[str]:
    from gateway.cli.listing import indented, local, one_line

    for one in shown:
        state = "" if one.state == "in view" else f"  [{one.state}]"
        yield f"{local(one.created)}  {one.role:9}  {one.session_id}  {one_line(one.lane, 80)}{state}"
        yield from indented(one.snippet)


def _summary(one: Summary, redact: Redactor) -> dict[str, Any]:
    from gateway.cli.listing import utc

    return {
        "id": one.id,
        "title": redact(one.title),
        "lane": one.lane,
        "messages": one.messages,
        "created": utc(one.created),
        "ended": utc(one.ended),
    }


def _line(line: Line, redact: Redactor) -> dict[str, Any]:
    from gateway.cli.listing import utc

    said = line.message
    return {
        "id": line.id,
        "created": utc(line.created),
        "role": said.role,
        "name": said.name,
        "text": redact(said.text),
        "calls": [{"id": call.id, "name": call.name, "arguments": redact(call.arguments)} for call in said.calls],
        "callId": said.call_id,
        "hidden": line.hidden or None,
    }


def _transcript(summary: Summary, lines: list[Line], redact: Redactor) -> Iterator[str]:
    from gateway.cli.listing import indented, local, one_line

    yield f"session  {summary.id}"
    if summary.title:
        yield f"title    {one_line(redact(summary.title), 200)}"
    yield f"chat     {one_line(summary.lane, 200)}"
    yield f"begun    {local(summary.created)}"
    if summary.ended:
        yield f"ended    {local(summary.ended)}"
    for line in lines:
        hidden = f"  [hidden: {line.hidden}]" if line.hidden else ""
        yield ""
        yield f"{local(line.created)}  {_speaker(line.message)}{hidden}"
        if line.message.text:
            yield from indented(redact(line.message.text))
        for call in line.message.calls:
            yield from indented(f"→ {one_line(call.name, 80)} {redact(call.arguments)}")


def _speaker(said: Message) -> str:
    from gateway.cli.listing import one_line

    return f"{said.role} {one_line(said.name, 80)}".rstrip() if said.role == "tool" else said.role
