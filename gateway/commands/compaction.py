"""/compaction: what compressions there were, what the newest says, and how it is taken back."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial

from gateway.agent.context.assembly import viewed
from gateway.agent.context.guards import packed, unpacked
from gateway.agent.context.looked import Measure
from gateway.agent.context.summary.sections import unmarked
from gateway.agent.context.words import short, spoken
from gateway.agent.prompt.prompt import Prompt
from gateway.bus.lanes import Claimed
from gateway.commands.compact import NOTHING_SAID, ContextRooms, figures
from gateway.commands.registry import Asked, Said
from gateway.contracts.context import Record
from gateway.sessions import compressions, store
from gateway.sessions.compressions import Listed
from gateway.storage.database import Connection

SHOWN = 8
HELP = "/compaction show shows the newest summary, /compaction undo takes the newest compression back."
NONE = "This conversation was never compressed."
NOTHING_TO_UNDO = "There is no compression to undo: all of this conversation is in view as it was said."
NO_SUMMARY = "No summary stands for a part of this conversation."
PRIVATE = (
    "A summary may hold what not everybody here may know, so it is shown in private chats only; whoever runs the"
    " gateway reads it with hermes-gateway compaction show."
)
OCCASIONS = {
    "before turn": "before an answer",
    "after answer": "between two steps",
    "overflow": "since a request was too long",
    "idle": "after a pause",
    "prune": "to shorten old results of tools",
    "command": "since somebody asked for it",
}
"""Why a conversation is compressed, by the values of `Cause`."""


@dataclass(frozen=True, slots=True)
class Undone:
    """What undoing a compression would make of a conversation: `refusal` is why it must not be, "" where it may."""

    found: Listed
    tokens: int
    refusal: str = ""


async def compaction(rooms: ContextRooms, asked: Asked) -> Said:
    """List, show or undo."""
    word = asked.rest.casefold()
    if asked.claimed is None or asked.claimed.fresh:
        return Said(NOTHING_SAID)
    if word in {"", "list"}:
        return Said(await _list(rooms, asked.claimed.session_id))
    if word == "show":
        return Said(await _show(rooms, asked.claimed.session_id) if asked.event.private else PRIVATE)
    if word == "undo":
        return await _undo(rooms, asked.claimed)
    return Said(HELP)


async def _list(rooms: ContextRooms, session_id: str) -> str:
    def job(connection: Connection) -> tuple[list[Listed], int]:
        return compressions.listed(connection, session_id, SHOWN), compressions.count(connection, session_id)

    found, count = await rooms.database.read(job)
    if not found:
        return NONE
    now = time.time()
    lines = [f"- {count - place}: {_line(one, now)}" for place, one in enumerate(found)]
    return "\n".join([*lines, "", HELP])


def _line(one: Listed, now: float) -> str:
    return f"{_ago(now - one.created)}, {described(one)}"


def described(one: Listed) -> str:
    """Return why a compression was tried and what it did."""
    record = one.record
    why = OCCASIONS.get(record.occasion, record.occasion)
    return f"{why}: {'taken back; ' if one.undone else ''}{outcome(record)}"


def outcome(record: Record) -> str:
    """Return what a compression did."""
    if record.outcome == "kept":
        return f"failed, nothing was changed ({' '.join(record.reason.split())[:160]})"
    found = f" with {record.score:.0%} of what seemed to matter" if record.score is not None else ""
    how = {
        "summary": f", summary by {record.writer or record.engine}{found}",
        "fallback": ", an extract in place of a summary",
    }
    return f"{figures(record)}{how.get(record.outcome, '')}"


def _ago(seconds: float) -> str:
    hours = seconds / 3600
    if hours < 1.5:
        return f"{spoken(seconds)} ago"
    return f"{round(hours)} h ago" if hours < 36 else f"{round(hours / 24)} days ago"


async def _show(rooms: ContextRooms, session_id: str) -> str:
    return await rooms.database.read(partial(summary, session_id=session_id)) or NO_SUMMARY


def summary(connection: Connection, session_id: str) -> str:
    """Return the summary that stands for a part of a session, without the marks around it; "" for none."""
    return unmarked(compressions.summary(connection, session_id)).strip()


async def _undo(rooms: ContextRooms, claimed: Claimed) -> Said:
    session_id = claimed.session_id
    async with rooms.live(claimed) as open:
        weighed = await rooms.database.read(partial(weigh, measure=open.measure, session_id=session_id))
    if weighed is None:
        return Said(NOTHING_TO_UNDO)
    if weighed.refusal:
        return Said(weighed.refusal)
    due = f"more than {short(open.engine.due)} tokens" if open.engine.due else "too much"
    text = (
        f"Taken back ({figures(weighed.found.record)}): the messages are as they were said again, about"
        f" {short(weighed.tokens)} of {short(open.model.window)} tokens. They are not compressed by themselves until"
        f" the model's endpoint counts {due}."
    )
    return Said(text, stores=partial(undo, session_id=session_id, found=weighed.found))


def weigh(connection: Connection, *, measure: Measure, session_id: str) -> Undone | None:
    """Say what undoing the newest compression of a session would come to; None where there is none."""
    found = compressions.newest(connection, session_id)
    if found is None:
        return None
    stored = store.load(connection, session_id, undoing=found.view)
    tokens = measure.fill(Prompt.stored(stored.prompt, stored.outline), viewed(stored.rows, stored.views)).total
    return Undone(found, tokens, _refusal(tokens, measure))


def _refusal(tokens: int, measure: Measure) -> str:
    if tokens <= measure.room:
        return ""
    return (
        f"It is not taken back: as it was said this conversation takes about {short(tokens)} tokens, and"
        f" {measure.model.name} has room for {short(measure.room)}. Everything is kept; with a model"
        " that has a larger window (/model) it can be."
    )


def undo(connection: Connection, *, session_id: str, found: Listed) -> None:
    """
    Take a compression back, and with it what the guards had learnt from it.

    The session may be one that goes on from the compressed one: it stays the lane's. By itself nothing is compressed
    until an endpoint counts too much.
    """
    compressions.undo(connection, found)
    store.keep_guards(connection, session_id, packed(replace(unpacked(found.record.guards), held=True)))
