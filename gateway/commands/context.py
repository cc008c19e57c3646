"""/context: what fills the window of a conversation's model, and when it is compressed. And the commands around it."""

from __future__ import annotations

import asyncio
import time
from functools import partial

from gateway.agent.context.guards import Guards
from gateway.agent.context.looked import Filling, Open, Share
from gateway.agent.context.standing import standing
from gateway.agent.context.words import short
from gateway.commands.compact import NOTHING_SAID, ContextRooms, compact
from gateway.commands.compaction import compaction
from gateway.commands.registry import Asked, Command, Said
from gateway.contracts.context import ContextEngine
from gateway.contracts.model import Model

THRESHOLD = "threshold"
"""What an engine calls the thing in its status that says how its threshold came about."""


def context_commands(rooms: ContextRooms) -> list[Command]:
    """Return the commands, in the order of the menu."""
    return [
        Command(
            "compact", "sum up the older part of this conversation", work=partial(compact, rooms), aliases=("compress",)
        ),
        Command("compaction", "list compressions, or undo the newest", work=partial(compaction, rooms)),
        Command("context", "show what fills the model's window", work=partial(_context, rooms)),
    ]


async def _context(rooms: ContextRooms, asked: Asked) -> Said:
    if asked.claimed is None or asked.claimed.fresh:
        return Said(NOTHING_SAID)
    async with rooms.live(asked.claimed) as open:
        conversation = open.window.conversation
        filled = await asyncio.to_thread(open.measure.fill, conversation.prompt, conversation.rows)
        return Said("\n".join(map(_bullet, _lines(open, filled, automatic=rooms.automatic(asked.key)))))


def _bullet(line: str) -> str:
    """Make a line an item of a list, one that is indented an item below the one before."""
    text = line.lstrip()
    return f"{line[: len(line) - len(text)]}- {text}"


def _lines(open: Open, filled: Filling, *, automatic: bool) -> list[str]:
    counted = f"; the endpoint counted {open.meter.counted:,} last" if open.meter.counted else ""
    window = filling(open.model, open.window.tokens) + counted
    return told(window, filled, open.engine, open.window.conversation.guards, automatic=automatic)


def filling(model: Model, tokens: int, remark: str = "") -> str:
    """Say how much of a model's window is filled; `remark` goes behind the share."""
    share = f"{tokens / model.window:.0%}{remark}"
    return f"Window of {model.name}: about {short(tokens)} of {short(model.window)} tokens ({share})"


def told(window: str, filled: Filling, engine: ContextEngine, guards: Guards, *, automatic: bool) -> list[str]:
    """Return what is said of a conversation's context, a line for each thing; `window` is the first."""
    return [
        window,
        *_kinds(filled),
        _threshold(engine, automatic=automatic),
        f"Engine: {engine.name}",
        *_states(engine),
        f"Compressions so far: {guards.compressions}",
        *(f"Automatic compressions: {line}" for line in standing(guards, time.time())),
    ]


def _kinds(filled: Filling) -> list[str]:
    return [
        f"System prompt: {short(filled.prompt)}",
        *(f"  {piece.name}: {short(piece.tokens)} ({_line(piece.origin)})" for piece in filled.sections),
        f"Tools: {_share(filled.tools, 'tool')}",
        *([f"Summary: {short(filled.summary)}"] if filled.summary else []),
        f"People: {_share(filled.people, 'message')}",
        f"Answers: {_share(filled.answers, 'message')}",
        *([f"Results of tools: {_share(filled.results, 'message')}"] if filled.results.number else []),
    ]


def _share(share: Share, noun: str) -> str:
    return f"{short(share.tokens)} in {share.number} {noun}{'' if share.number == 1 else 's'}"


def _states(engine: ContextEngine) -> list[str]:
    return [f"{_line(name).capitalize()}: {_line(text)}" for name, text in engine.status().items() if name != THRESHOLD]


def _threshold(engine: ContextEngine, *, automatic: bool) -> str:
    """Say at how many tokens a conversation is compressed, and how that came about."""
    if not automatic or not engine.due:
        why = "compression.enabled is false" if not automatic else f"the engine {engine.name} says so"
        return f"Compressed by itself: never ({why})"
    how = _line(engine.status().get(THRESHOLD, ""))
    return f"Compressed at {short(engine.due)} tokens{how and f': {how}'}"


def _line(text: str) -> str:
    return " ".join(text.split())[:200]
