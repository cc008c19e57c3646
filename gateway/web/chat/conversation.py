"""A browser's conversation as its page shows it: the rows of what was written and what was said, merged by time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

from gateway.bus import reports
from gateway.bus.reports import Spoken
from gateway.delivery import outbox
from gateway.delivery.outbox import Shown
from gateway.sessions.keys import private_key
from gateway.storage.database import Database
from gateway.web.chat.adapter import address_of
from gateway.web.chat.markdown import to_html

if TYPE_CHECKING:
    from sqlalchemy import Connection

SHOWN = 200
"""Messages a page shows at first."""
MOST = 2_000
WEIGHT = 5_000
"""Characters for each of these messages, taken together: what is older than fits is shown on demand."""
LONGEST = 20_000
"""Characters of what a person wrote that are shown; the agent reads all of it."""

State = Literal["", "queued", "dropped", "failed"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A message of the conversation, before it is rendered."""

    id: str
    who: Literal["person", "agent"]
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
    """A message on the page: what a person wrote as it is, what the agent said as HTML."""

    id: str
    who: Literal["person", "agent"]
    at: float
    """Seconds since 1970; messages are shown in this order, at the same moment a person's first, then by number."""
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
    earlier: bool | None = None
    model: str | None = None
    demo: bool | None = None
    problem: str | None = None

    def dump(self) -> str:
        return self.model_dump_json(exclude_none=True)


async def read(database: Database, visitor: str, limit: int = SHOWN) -> Conversation:
    """Read the newest messages of a browser's conversation."""
    address = address_of(visitor)

    def rows(connection: Connection) -> tuple[list[Spoken], list[Shown], str | None]:
        return (
            reports.spoken(connection, private_key(address), limit),
            outbox.shown(connection, str(address), limit),
            outbox.live_at(connection, str(address)),
        )

    spoken, shown, live = await database.read(rows)
    return merge(spoken, shown, live, limit)


def merge(spoken: Sequence[Spoken], shown: Sequence[Shown], live: str | None, limit: int) -> Conversation:
    """Put both sides in one order, the newest `limit` of them."""
    running = any(row.state == "claimed" for row in spoken)
    entries = [*(_written(row, running=running) for row in spoken), *(_said(row) for row in shown)]
    entries.sort(key=_place)
    newest = _newest(entries[-limit:], limit * WEIGHT)
    return Conversation(
        entries=tuple(newest),
        live=live or None,
        working=any(row.state in {"waiting", "claimed"} for row in spoken),
        earlier=len(newest) < len(entries) or limit in {len(spoken), len(shown)},
    )


def _place(entry: Entry) -> tuple[float, bool, int]:
    """Return where an entry stands: by time, at the same moment the person first, then by the number of its row."""
    return entry.at, entry.who == "agent", int(entry.id.rpartition("-")[2])


def _written(row: Spoken, *, running: bool) -> Entry:
    states: dict[str, State] = {"discarded": "dropped", "dead": "failed", "waiting": "queued" if running else ""}
    text = row.text
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}…\n[{len(text) - LONGEST:,} more characters, not shown here]"
    return Entry(f"in-{row.id}", "person", row.created, text, states.get(row.state, ""))


def _said(row: Shown) -> Entry:
    return Entry(f"out-{row.id}", "agent", row.created, row.markdown)


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
    oldest = _place(now.entries[0]) if now.entries else (0.0, False, 0)
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
    shown = {"text": entry.text} if entry.who == "person" else {"html": to_html(entry.text)}
    return bubble.model_copy(update=shown)
