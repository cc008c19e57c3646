"""From what a person wrote to what the model is shown: everything that the message refers to, behind what was said.

In: a turn, its tools, the user's message. Out: the message with the references in its `api_content`, and what the
person should hear of them. Read only where the turn has the file tools, and never for what a webhook brought, whose
words are a stranger's. The event loop never waits for a disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gateway.agent.references import local
from gateway.agent.references.block import REFUSE, block
from gateway.agent.references.parse import Kind, Reference, references
from gateway.agent.references.piece import Page, Piece, Unread
from gateway.agent.references.repository import Repository
from gateway.contracts.tool import ToolSpec
from gateway.errors import ToolError
from gateway.messages import Message
from gateway.toolkit.limits import brief
from gateway.types import ChatType, Turn

MOST = 16
"""References of one message."""
MOST_BYTES = 8_000_000
"""Of all files together, whatever the window: what is read lies in memory."""
LONGEST_TOKEN = 8
"""Bytes, more than any text has; what is too large for the window by this measure need not be read to be counted."""
READS = "read_file"
"""Whoever has this tool may have files attached."""


@dataclass(frozen=True, slots=True)
class Attached:
    """The user's message as the model is to be shown it, and what the person should hear."""

    said: Message
    notices: tuple[str, ...] = ()


class References:
    """Reads references: below the workspace and `read_dirs`, and pages by `fetch`, by default from the internet."""

    def __init__(self, read_dirs: Sequence[Path] = (), fetch: Callable[[str], Awaitable[Page]] | None = None) -> None:
        self._read_dirs = tuple(read_dirs)
        self._fetch = fetch or _fetched
        self._repository = Repository()

    async def attach(self, turn: Turn, window: int, tools: Sequence[ToolSpec], said: Message) -> Attached:
        """Return the message with what it refers to, for a model with a window of so many tokens."""
        found = _wanted(turn, tools, said)
        if not found:
            return Attached(said)
        most = min(MOST_BYTES, int(window * REFUSE) * LONGEST_TOKEN)
        results = await self._all(turn, found[:MOST], most)
        warnings = [f"only the first {MOST} references were looked at"] if len(found) > MOST else []
        shown = await asyncio.to_thread(block, results, window, warnings)
        notices = (_sentences(shown.warnings),) if shown.warnings else ()
        return Attached(replace(said, api_content=f"{said.content}\n\n{shown.text}"), notices)

    async def _all(self, turn: Turn, found: Sequence[Reference], most: int) -> list[Piece | Unread]:
        """Read everything side by side, files one after the other so that what they take together is bounded."""
        roots = (Path(turn.workspace), *self._read_dirs)
        files = [reference for reference in found if reference.kind in {Kind.FILE, Kind.FOLDER}]
        others = [reference for reference in found if reference not in files]
        async with asyncio.TaskGroup() as group:
            read = group.create_task(asyncio.to_thread(_read, files, roots, most))
            asked = [group.create_task(self._other(reference, roots[0])) for reference in others]
        results = dict(zip([*files, *others], [*read.result(), *(task.result() for task in asked)], strict=True))
        return [results[reference] for reference in found]

    async def _other(self, reference: Reference, workspace: Path) -> Piece | Unread:
        try:
            if reference.kind is not Kind.URL:
                return await self._repository.read(reference, workspace)
            page = await self._fetch(reference.value)
        except ToolError as error:
            return Unread(reference, str(error))
        return Piece(reference, "🌐", page.text, page.language, page.remark)


def _wanted(turn: Turn, tools: Sequence[ToolSpec], said: Message) -> tuple[Reference, ...]:
    if "@" not in said.text or not turn.workspace or not any(spec.name == READS for spec in tools):
        return ()
    if any(event.chat_type is ChatType.WEBHOOK for event in turn.events) or not any(
        event.text for event in turn.events
    ):
        return ()  # without any text, what stands in its place names files as others named them
    return references(said.text, MOST + 1)  # one more tells that there are more


def _read(files: Sequence[Reference], roots: Sequence[Path], most: int) -> list[Piece | Unread]:
    results = list[Piece | Unread]()
    for reference in files:
        try:
            piece = local.read(reference, roots, most)
        except ToolError as error:
            results.append(Unread(reference, str(error).removeprefix(f"{brief(reference.value)}: ")))
            continue
        most = max(0, most - len(piece.text.encode(errors="replace")))
        results.append(piece)
    return results


def _sentences(warnings: Sequence[str]) -> str:
    return " ".join(f"{warning[0].upper()}{warning[1:]}." for warning in warnings)


async def _fetched(url: str) -> Page:
    fetch = await asyncio.to_thread(_fetch)
    return await fetch(url)


def _fetch() -> Callable[[str], Awaitable[Page]]:
    # Its libraries take a while to load, which neither a start nor the event loop need wait for.
    from gateway.agent.references.web import Web

    return Web().fetch
