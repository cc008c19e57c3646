"""
A browser's conversation as its page shows it: the rows of what was written and what was said, merged by time.

Between them stand dividers, where what was said before was compressed: the model reads a summary in its place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

from gateway.agent.context.summary.sections import unmarked
from gateway.agent.context.words import short
from gateway.bus import reports
from gateway.bus.reports import Spoken
from gateway.contracts.adapter import Status
from gateway.delivery import outbox
from gateway.delivery.outbox import Shown
from gateway.sessions import compressions
from gateway.sessions.compressions import Divider
from gateway.storage.database import Database
from gateway.types import SessionKey
from gateway.web.chat.adapter import address_of
from gateway.web.chat.markdown import to_html

if TYPE_CHECKING:
    from sqlalchemy import Connection

SHOWN = 200
"""Messages a page shows at first."""
MOST = 2_000
WEIGHT = 5_000
"""Characters for each of these messages, taken together: what is older than fits is shown on demand."""
DIVIDERS = 50
LONGEST = 20_000
"""Characters of what a person wrote that are shown; the agent reads all of it."""

State = Literal["", "queued", "dropped", "failed"]
Who = Literal["person", "agent", "divider"]
_AT_ONCE = {"person": 0, "agent": 1, "divider": 2}
"""What stands first of what has the same time."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A message of the conversation, before it is rendered, or a divider and what it says."""

    id: str
    who: Who
    at: float
    text: str
    state: State = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What the rows say now. `working`: something that was written waits for its answer. `earlier`: there is more."""

    entries: tuple[Entry, ...] = ()
    live: str | None = None
    working: bool = False
    earlier: bool = False


class Bubble(BaseModel):
    """A message on the page: what a person wrote and what a divider says as it is, what the agent said as HTML."""

    id: str
    who: Who
    at: float
    """Seconds since 1970; they are shown in this order, at the same moment a person's first, then by number."""
    text: str = ""
    html: str = ""
    state: State = ""


class Update(BaseModel):
    """What has changed on the page. A field that is null has not."""

    whole: bool = False
    """These are all messages, not only those that are new or have changed."""
    bubbles: list[Bubble] | None = None
    gone: list[str] | None = None
    live: str | None = None
    """HTML of the message that is being written; empty where there is none."""
    working: bool | None = None
    typing: bool | None = None
    status: Status | None = None
    earlier: bool | None = None
    model: str | None = None
    demo: bool | None = None
    problem: str | None = None

    def dump(self) -> str:
        return self.model_dump_json(exclude_none=True)


class Summary(BaseModel):
    """What stands for messages that were compressed, as HTML."""

    html: str


async def read(database: Database, visitor: str, key: SessionKey, limit: int = SHOWN) -> Conversation:
    """Read the newest messages of a browser's conversation, which has this key."""
    address = address_of(visitor)

    def rows(connection: Connection) -> tuple[list[Spoken], list[Shown], str | None, list[Divider]]:
        return (
            reports.spoken(connection, key, limit),
            outbox.shown(connection, str(address), limit),
            outbox.live_at(connection, str(address)),
            compressions.dividers(connection, str(key), DIVIDERS),
        )

    spoken, shown, live, dividers = await database.read(rows)
    return merge(spoken, shown, live, limit, dividers)


async def read_summary(database: Database, key: SessionKey, number: int) -> Summary | None:
    """Read what stands for compressed messages of a browser's conversation; None where there is no such summary."""
    found = await database.read(lambda connection: compressions.summary_of(connection, str(key), number))
    return Summary(html=await html(unmarked(found))) if found else None


def merge(
    spoken: Sequence[Spoken],
    shown: Sequence[Shown],
    live: str | None,
    limit: int,
    dividers: Sequence[Divider] = (),
) -> Conversation:
    """Put both sides in one order, the newest `limit` of them, with the dividers between them."""
    running = any(row.state == "claimed" for row in spoken)
    entries = [*(_written(row, running=running) for row in spoken), *(_said(row) for row in shown)]
    entries += _divided(dividers, shown) if entries else []
    entries.sort(key=_place)
    newest = _newest(entries[-limit:], limit * WEIGHT)
    return Conversation(
        entries=tuple(newest),
        live=live or None,
        working=any(row.state in {"waiting", "claimed"} for row in spoken),
        earlier=len(newest) < len(entries) or limit in {len(spoken), len(shown)},
    )


def _place(entry: Entry) -> tuple[float, int, int]:
    """Return where an entry stands: by time, at the same moment the person first, then by the number of its row."""
    return entry.at, _AT_ONCE[entry.who], int(entry.id.rpartition("-")[2])


def _written(row: Spoken, *, running: bool) -> Entry:
    states: dict[str, State] = {"discarded": "dropped", "dead": "failed", "waiting": "queued" if running else ""}
    text = row.text
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}…\n[{len(text) - LONGEST:,} more characters, not shown here]"
    return Entry(f"in-{row.id}", "person", row.created, text, states.get(row.state, ""))


def _said(row: Shown) -> Entry:
    return Entry(f"out-{row.id}", "agent", row.created, row.markdown)


def _divided(dividers: Sequence[Divider], shown: Sequence[Shown]) -> list[Entry]:
    """Place each divider behind the last answer of the turn that it follows."""
    ended: dict[str, float] = {}
    for row in shown:
        ended[row.turn] = max(row.created, ended.get(row.turn, 0.0))
    return [_divider(divider, ended.get(divider.follows, 0.0) if divider.follows else 0.0) for divider in dividers]


def _divider(divider: Divider, ended: float) -> Entry:
    before, after = map(short, divider.tokens)
    how = "cut to an extract" if divider.outcome == "fallback" else "summed up"
    text = f"Earlier messages were {how} – {before} → {after} tokens"
    return Entry(f"sum-{divider.id}", "divider", max(divider.at, ended), text)


def _newest(entries: Sequence[Entry], budget: int) -> list[Entry]:
    """Return as many of the newest as weigh no more than the budget, and at least one."""
    kept: list[Entry] = []
    for entry in reversed(entries):
        budget -= len(entry.text)
        if kept and budget < 0:
            break
        kept.append(entry)
    return kept[::-1]


async def whole(conversation: Conversation, model: tuple[str, bool]) -> Update:
    """Return everything a page shows."""
    return Update(
        whole=True,
        bubbles=await bubbles(conversation.entries),
        live=await html(conversation.live),
        working=conversation.working,
        earlier=conversation.earlier,
        model=model[0],
        demo=model[1],
    )


async def end(conversation: Conversation) -> Update:
    """Return messages alone, which do not undo what a page has learnt since they were read."""
    return Update(bubbles=await bubbles(conversation.entries))


async def changes(before: Conversation, now: Conversation) -> Update:
    """Return the messages, and the rest but for live text, that a page showing `before` needs to show `now`."""
    known: Mapping[str, Entry] = {entry.id: entry for entry in before.entries}
    new = [entry for entry in now.entries if known.get(entry.id) != entry]
    still = {entry.id for entry in now.entries}
    # What only became too old for this window stays on the page.
    oldest = _place(now.entries[0]) if now.entries else (0.0, 0, 0)
    gone = [entry.id for entry in before.entries if entry.id not in still and _place(entry) > oldest]
    return Update(
        bubbles=await bubbles(new) if new else None,
        gone=gone or None,
        working=now.working if now.working != before.working else None,
        earlier=now.earlier if now.earlier != before.earlier else None,
    )


async def html(markdown: str | None) -> str:
    return await asyncio.to_thread(to_html, markdown) if markdown else ""


async def bubbles(entries: Iterable[Entry]) -> list[Bubble]:
    """Render messages, in a thread: it may take long."""
    return await asyncio.to_thread(lambda: [_bubble(entry) for entry in entries])


def _bubble(entry: Entry) -> Bubble:
    bubble = Bubble(id=entry.id, who=entry.who, at=entry.at, state=entry.state)
    shown = {"html": to_html(entry.text)} if entry.who == "agent" else {"text": entry.text}
    return bubble.model_copy(update=shown)
