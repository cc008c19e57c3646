"""One owner's notes: one object for all the sessions of a process that use them.

In: operations of the tool, of a review, of a person. Out: what came of them. Every change sees the text as it stands
now, whoever wrote it last.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial

from gateway.agent.memory.backing.contract import Backing, Change, Done, Stored
from gateway.agent.memory.notes import Target, block, drift, join, parse, usage
from gateway.agent.memory.operations import Operation, Refusal, change, handle, objection
from gateway.agent.threats import scan
from gateway.errors import StorageError

log = logging.getLogger(__name__)

BLOCKED = "[BLOCKED:"
"""How an entry begins that is shown in place of one with a threat in it; the scan finds nothing in such an entry."""

Allowed = Callable[[], Awaitable[Set[str]]]
"""Reads the handles of the entries that their owner lets pass, whatever the scan finds."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Characters of each text; a target that is not there is switched off."""

    of: dict[Target, int]


@dataclass(frozen=True, slots=True)
class Written:
    """
    A change that is durable. `usage` is ``P% — used/limit chars``; `entries` how many there are now.

    `done` are the operations that changed something.
    """

    target: Target
    usage: str
    entries: int
    done: tuple[Operation, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """An entry as it may be shown; `threats` names what the scan found in it, `allowed` that it passes all the same."""

    text: str
    handle: str
    threats: tuple[str, ...] = ()
    allowed: bool = False

    @property
    def blocked(self) -> bool:
        return bool(self.threats) and not self.allowed


@dataclass(frozen=True, slots=True)
class Sheet:
    """One text as it stands: its entries, its usage, and what is wrong with it, in a sentence."""

    target: Target
    entries: tuple[Shown, ...] = ()
    usage: str = ""
    problem: str = ""


class NotesStore:
    """The notes of one owner. Nothing of it blocks the event loop."""

    def __init__(self, owner: str, backing: Backing, limits: Limits, allowed: Allowed) -> None:
        self.owner = owner
        self.limits = limits
        self._backing = backing
        self._allowed = allowed

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple(self.limits.of)

    async def write(self, target: Target, operations: Sequence[Operation]) -> Written | Refusal:
        """Carry operations out, all or none, and return once they are durable."""
        return await self._change(target, operations, write=True)

    async def forget(self, wanted: str) -> Written | Refusal:
        """Remove the one entry that a handle or words mean, whichever text it is in."""
        refusal = Refusal("No note holds this.", unknown=True)
        for target in self.targets:
            result = await self.write(target, [Operation("remove", old_text=wanted)])
            if isinstance(result, Written) or result.matches:
                return result
            if not result.unknown:
                refusal = result
        return refusal

    async def check(self, target: Target, operations: Sequence[Operation]) -> Written | Refusal:
        """Say what would come of operations, and change nothing."""
        return await self._change(target, operations, write=False)

    async def _change(self, target: Target, operations: Sequence[Operation], *, write: bool) -> Written | Refusal:
        # Before the change: nobody else can write while it runs.
        if (refused := await asyncio.to_thread(objection, operations, _threats)) is not None:
            return refused
        edit = partial(self._edit, target, operations, write=write)
        try:
            if not write:
                return (await asyncio.to_thread(edit, await self._backing.read(target))).told
            done: Done[Written | Refusal] = await self._backing.change(target, edit)
        except StorageError as error:
            return Refusal(f"{error}. Nothing was changed.")
        if isinstance(done.told, Refusal) and done.copy:
            return Refusal(f"{done.told.error} A copy of it as it stands: {done.copy}.")
        return done.told

    def _edit(
        self, target: Target, operations: Sequence[Operation], stored: Stored, *, write: bool
    ) -> Change[Written | Refusal]:
        limit, entries = self.limits.of[target], parse(stored.text)
        loses = any(operation.action != "add" for operation in operations)
        if loses and (why := drift(stored.text, limit)):
            return Change(None, Refusal(_DRIFTED.format(file=target.file, why=why)), keep=write)
        result = change(entries, operations, limit)
        if isinstance(result, Refusal):
            return Change(None, result)
        text = join(result.entries)
        written = Written(target, usage(result.entries, limit), len(result.entries), result.done, result.note)
        return Change(text if write and result.entries != tuple(entries) else None, written)

    async def sheet(self, target: Target) -> Sheet:
        """Return a text as a person or the model may see it."""
        try:
            stored = await self._backing.read(target)
        except StorageError as error:
            return Sheet(target, problem=str(error))
        entries = await asyncio.to_thread(lambda: list(dict.fromkeys(parse(stored.text))))
        shown = await self.shown(entries)
        problem = f"{target.file} is damaged: {stored.damage}; it is shown but not changed" if stored.damage else ""
        return Sheet(target, tuple(shown), usage(entries, self.limits.of[target]), problem)

    async def shown(self, entries: Sequence[str]) -> list[Shown]:
        """Return entries with what the scan found in them."""
        found = await asyncio.to_thread(_found, entries) if entries else []
        allowed = await self._allowed() if any(shown.threats for shown in found) else set[str]()
        return [replace(shown, allowed=True) if shown.handle in allowed else shown for shown in found]

    async def sections(self) -> dict[Target, str]:
        """Return the sections of the system prompt as the notes stand now: what a session keeps to its end."""
        return {target: section for target in self.targets if (section := await self._section(target))}

    async def snapshot(self) -> str:
        """Return the same as one text."""
        return "\n\n".join((await self.sections()).values())

    async def _section(self, target: Target) -> str:
        sheet = await self.sheet(target)
        limit = self.limits.of[target]
        for concern in concerns(sheet, limit):
            log.warning("the notes of %s: %s", self.owner, concern)
        section = block(target, [safe(target, entry) for entry in sheet.entries], limit)
        return "\n".join(part for part in (section, f"[{sheet.problem}]" if sheet.problem else "") if part)

    async def erase(self) -> int:
        """Remove both texts; return how many characters there were."""
        return await self._backing.erase()


def _threats(text: str) -> tuple[str, ...]:
    return scan(text, "strict")


def _found(entries: Sequence[str]) -> list[Shown]:
    return [Shown(entry, handle(entry), _threats(entry)) for entry in entries]


def concerns(sheet: Sheet, limit: int, *, blocked: bool = True) -> list[str]:
    """Return what an operator should know of a text, a sentence each; `blocked` also what the scan keeps back."""
    found = [sheet.problem] if sheet.problem else []
    used = len(join([entry.text for entry in sheet.entries]))
    if used > limit:
        found.append(f"{sheet.target.file} has {used:,} of {limit:,} characters: nothing is added until it is shorter")
    if blocked and (kept := [entry.handle for entry in sheet.entries if entry.blocked]):
        found.append(f"{sheet.target.file}: kept from the model by the threat scan: {', '.join(kept)}")
    return found


_DRIFTED = (
    "{file} was edited outside this tool: {why}. Nothing was changed, so that no word of it is lost. To mend"
    " it, divide it by hand into entries with lines that hold only §, or move what is not a note elsewhere; then try"
    " again."
)


def safe(target: Target, entry: Shown) -> str:
    """Return the entry, or what stands for one with a threat in it."""
    if not entry.blocked:
        return entry.text
    return (
        f"{BLOCKED} {target.file} entry contained threat pattern(s): {', '.join(entry.threats)}. Removed from system"
        f' prompt; use memory(action=remove, old_text="{entry.handle}") to delete the original.]'
    )
