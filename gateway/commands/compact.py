"""/compact: a person has the conversation compressed, or sees what that would do. In: words. Out: a sentence.

What it stores is stored by the window, in a transaction of its own; after a crash the turn finds it there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from gateway.agent.context.looked import Foreseen, Open, foresee
from gateway.agent.context.words import aborted, replaced, short, written_by_another
from gateway.bus.lanes import Claimed
from gateway.commands.registry import Asked, Said
from gateway.contracts.context import Order, Record
from gateway.messages import CompressionEnded
from gateway.sessions import compressions
from gateway.storage.database import Connection, Database
from gateway.types import SessionKey

KEEP, MOST = 2, 100
"""Exchanges that `here` keeps where it says no number, and how many it may say; the reference's."""
LOW = 0.75
"""A summary that says less than this share of what matters is told of."""
NOTHING_SAID = "Nothing has been said in this conversation yet."
HERE = f"After `here` comes how many of the last exchanges stay as they were said: a number from 1 to {MOST}."
NO_OPTION = (
    "There is no option {option}; nothing was changed. /compact TOPIC keeps what belongs to a topic, /compact here 2"
    " keeps the last two exchanges, /compact --preview only says what would go."
)

_OPTION = re.compile(r"(?:--|[–—])(\w[\w-]*)")
"""Phones make one long dash of two short ones."""
_PREVIEW = {"preview", "dry-run"}


@dataclass(frozen=True, slots=True)
class ContextRooms:
    """
    What the commands of a conversation's context work with.

    `live` holds the live session of a lane that a command has claimed; `automatic` says of a lane, by its key, whether
    its conversations are compressed by themselves.
    """

    database: Database
    live: Callable[[Claimed], AbstractAsyncContextManager[Open]]
    automatic: Callable[[SessionKey], bool] = lambda key: True


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody wants of a compression: see `Order`."""

    focus: str = ""
    keep: int | None = None
    preview: bool = False


def wanted(words: str) -> Wanted | str:
    """Read what stands behind /compact; a sentence where that cannot be meant."""
    rest, preview = _without_option(words.strip())
    found = rest.split()
    if found and all(_OPTION.fullmatch(word) for word in found):
        return NO_OPTION.format(option=f"`{found[0][:40]}`")
    if not found or found[0].casefold() != "here" or len(found) > 2:
        return Wanted(focus=rest, preview=preview)
    keep = _number(found[1]) if len(found) == 2 else KEEP
    return HERE if keep is None else Wanted(keep=keep, preview=preview)


def _without_option(words: str) -> tuple[str, bool]:
    """Take --preview off the beginning or the end."""
    first, _, behind = words.partition(" ")
    before, _, last = words.rpartition(" ")
    for word, rest in ((first, behind), (last, before)):
        if (match := _OPTION.fullmatch(word)) and match[1].casefold() in _PREVIEW:
            return rest.strip(), True
    return words, False


def _number(word: str) -> int | None:
    number = int(word) if word.isdecimal() and len(word) <= len(str(MOST)) else 0
    return number if 1 <= number <= MOST else None


async def compact(rooms: ContextRooms, asked: Asked) -> Said:
    """Compress, or say what that would do."""
    want, claimed = wanted(asked.rest), asked.claimed
    if isinstance(want, str):
        return Said(want)
    if claimed is None or claimed.fresh:
        return Said(NOTHING_SAID)
    if claimed.again and (done := await _tried(rooms, claimed)) is not None:
        return Said(_told(done))
    async with rooms.live(claimed) as open:
        if not open.window.conversation.rows:
            return Said(NOTHING_SAID)
        if want.preview:
            return Said(_preview(await foresee(open, Order(models=(), focus=want.focus, keep=want.keep, asked=True))))
        reason = ""
        async for told in open.window.command(want.focus, want.keep):
            if isinstance(told, CompressionEnded):
                reason = told.reason
        done = await _tried(rooms, claimed)
        return Said(_told(done) if done is not None else _nothing(open, want, reason))


async def _tried(rooms: ContextRooms, claimed: Claimed) -> Record | None:
    def job(connection: Connection) -> Record | None:
        found = compressions.of_turn(connection, claimed.session_id, claimed.turn)
        return found.record if found is not None else None

    return await rooms.database.read(job)


def figures(record: Record) -> str:
    """Return what a compression did in figures."""
    tokens, messages = record.tokens, record.messages
    said = f"{short(tokens[0])} → {short(tokens[1])} tokens"
    return f"{said}, {messages[0]} → {messages[1]} messages" if messages[0] != messages[1] else said


def _told(record: Record) -> str:
    reason = record.reason.partition(": ")[2] or record.reason
    if record.outcome == "kept":
        return aborted(reason)
    said = [f"Compressed: {figures(record)}."]
    if record.outcome == "pruned":
        said.append("Only old results of tools were shortened, since there was nothing to sum up.")
    if record.outcome == "fallback":
        said.append(replaced(reason))
    if record.outcome == "summary":
        said.append(written_by_another(reason, record.writer) if reason else f"{record.writer} wrote the summary.")
        if record.score is not None and record.score < LOW:
            said.append(
                f"It may have missed something: a check found {record.score:.0%} of what seemed to matter."
                " /compaction show shows it, /compaction undo takes it back."
            )
    return " ".join(said)


def _nothing(open: Open, want: Wanted, reason: str) -> str:
    exchanges = sum(row.asks for row in open.window.conversation.rows)
    takes = f"It takes about {short(open.window.tokens)} of {short(open.model.window)} tokens."
    if want.keep is not None and exchanges <= want.keep:
        count = f"{exchanges} exchange{'' if exchanges == 1 else 's'}"
        return f"Nothing was compressed: there are only {count} in view, and you want to keep {want.keep}. {takes}"
    why = reason.rstrip(".") or "there is nothing to compress"
    return f"Nothing was compressed: {why}. {takes} /compact here 1 keeps only the last exchange, /new starts afresh."


def _preview(seen: Foreseen) -> str:
    if not seen.known:
        return "This context engine cannot say beforehand what it would do. Nothing was changed."
    if not seen.hidden.number:
        return "There is nothing to sum up: all of it would stay as it was said. Nothing was changed."
    lines = [
        f"Would be summed up: {_share(seen.hidden.number, seen.hidden.tokens)}",
        f"Would stay as said: {_share(seen.kept.number, seen.kept.tokens)}",
    ]
    if seen.first:
        lines += [f"From: “{seen.first}”", f"To: “{seen.last}”"]
    listed = "\n".join(f"- {line}" for line in lines)
    return f"{listed}\n\nNothing was changed; /compact does it."


def _share(number: int, tokens: int) -> str:
    return f"{number} message{'' if number == 1 else 's'}, about {short(tokens)} tokens"
