"""``memory``: what the agent keeps of each person and group, for who operates the gateway."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gateway.cli import exits
from gateway.cli.command import Group, command
from gateway.cli.output import Failure, Output

if TYPE_CHECKING:
    from gateway.agent.memory.approve import Approvals
    from gateway.agent.memory.backing.pending import Staged
    from gateway.agent.memory.memories import Memories
    from gateway.agent.memory.scopes import Owner
    from gateway.agent.memory.store import Sheet
    from gateway.rooms import Rooms

T = TypeVar("T")
HERE = "gateway.cli.memory:"
BY = "cli:operator"
NOWHERE = "no note holds this"
TEXT, SUMMARY, OWNER = 100, 80, 60

memory = Group(
    "memory",
    {
        "show": (f"{HERE}show", "Print notes, each with its handle."),
        "search": (f"{HERE}search", "Find words in everybody's notes."),
        "forget": (f"{HERE}forget", "Remove one note."),
        "allow": (f"{HERE}allow", "Let a note pass that the threat scan has blocked."),
        "reset": (f"{HERE}reset", "Remove all notes of one owner."),
        "pending": (f"{HERE}pending", "List writes that wait for approval."),
        "approve": (f"{HERE}approve", "Carry out writes that wait."),
        "reject": (f"{HERE}reject", "Drop writes that wait."),
    },
    help="Show, correct and erase what the agent remembers.",
)

of = click.option(
    "--of", "whose", default="home", show_default=True, metavar="OWNER", help="home, person:ID or chat:ADDRESS."
)
handles = click.argument("handle", metavar="#HANDLE")
numbered = click.argument("ids", metavar="ID...", nargs=-1, required=True)


@dataclass(frozen=True, slots=True)
class Kept:
    """What the commands work with."""

    rooms: Rooms
    memories: Memories
    approvals: Approvals

    async def owners(self) -> list[Owner]:
        from gateway.app.remember import all_owners

        return await all_owners(self.rooms.database, self.rooms.config.home.memories)

    async def sheets(self, owner: Owner) -> list[Sheet]:
        store = self.memories.store(owner)
        return [await store.sheet(target) for target in store.targets]


def _with(output: Output, work: Callable[[Kept], Awaitable[T]]) -> T:
    from gateway.agent.memory.approve import Approvals
    from gateway.agent.memory.backing.queues import Desk
    from gateway.app.remember import open_memories
    from gateway.cli.opened import in_rooms

    async def inside(rooms: Rooms) -> T:
        settings = rooms.config.settings.memory
        async with Desk() as desk:
            memories = open_memories(rooms.database, desk, rooms.config.home.memories, settings)
            return await work(Kept(rooms, memories, Approvals(rooms.database, memories, settings.write_approval)))

    return in_rooms(output, inside)


def _owner(text: str) -> Owner:
    from gateway.agent.memory.scopes import Owner

    try:
        return Owner.parse(text)
    except ValueError:
        raise Failure(
            f"not an owner of notes: {text}; write home, person:ID or chat:ADDRESS", code=exits.USAGE
        ) from None


@command("show")
@of
@click.option("--all", "every", is_flag=True, help="Everybody's.")
def show(output: Output, *, whose: str, every: bool) -> None:
    """Print the notes of one owner or of all, with the handle of each, and what the threat scan found in it."""
    first = _owner(whose)

    async def work(kept: Kept) -> list[tuple[Owner, Sheet]]:
        owners = await kept.owners() if every else [first]
        return [(owner, sheet) for owner in owners for sheet in await kept.sheets(owner)]

    found = _with(output, work)
    shown = [(owner, sheet) for owner, sheet in found if not every or sheet.entries or sheet.problem]
    lines = [line for owner, sheet in shown for line in _lines(owner, sheet)]
    output.answer({"notes": [_document(owner, sheet) for owner, sheet in shown]}, lines or ["there are no notes"])


def _lines(owner: Owner, sheet: Sheet) -> list[str]:
    from gateway.cli.listing import indented, one_line

    lines = [f"{one_line(str(owner), OWNER)} {sheet.target.file} {sheet.usage}".rstrip()]
    if sheet.problem:
        lines.append(f"  ! {sheet.problem}")
    for entry in sheet.entries:
        state = f" ({'allowed' if entry.allowed else 'blocked'}: {', '.join(entry.threats)})" if entry.threats else ""
        lines += [f"  {entry.handle}{state}", *indented(entry.text, "    ")]
    return lines


def _document(owner: Owner, sheet: Sheet) -> dict[str, Any]:
    return {
        "owner": str(owner),
        "target": str(sheet.target),
        "usage": sheet.usage,
        "problem": sheet.problem,
        "entries": [
            {"handle": entry.handle, "text": entry.text, "threats": list(entry.threats), "blocked": entry.blocked}
            for entry in sheet.entries
        ],
    }


@command("search")
@click.argument("text")
def search(output: Output, *, text: str) -> None:
    """Find words in everybody's notes, in any case."""
    from gateway.cli.listing import columns, one_line

    async def work(kept: Kept) -> list[tuple[Owner, Sheet]]:
        return [(owner, sheet) for owner in await kept.owners() for sheet in await kept.sheets(owner)]

    sheets = _with(output, work)
    found = [
        {"owner": str(owner), "target": str(sheet.target), "handle": entry.handle, "text": entry.text}
        for owner, sheet in sheets
        for entry in sheet.entries
        if text.casefold() in entry.text.casefold()
    ]
    problems = [sheet.problem for _, sheet in sheets if sheet.problem]
    head = ("OWNER", "TARGET", "HANDLE", "TEXT")
    rows = [(one_line(one["owner"], OWNER), one["target"], one["handle"], one_line(one["text"], TEXT)) for one in found]
    lines = columns([head, *rows]) if rows else ["no note that can be read holds this" if problems else NOWHERE]
    output.answer({"notes": found, "problems": problems}, [*lines, *(f"! {problem}" for problem in problems)])


@command("forget")
@handles
@of
def forget(output: Output, *, handle: str, whose: str) -> None:
    """Remove one note by its handle, or by words that only it holds."""
    from gateway.agent.memory.store import Written

    owner = _owner(whose)

    async def work(kept: Kept) -> str:
        result = await kept.memories.store(owner).forget(handle)
        if isinstance(result, Written):
            return f"removed; {result.target.file} now: {result.usage}"
        why = "several notes hold these words" if result.matches else result.error.removesuffix(".")
        code = exits.NOT_FOUND if result.matches or result.unknown else exits.FAILURE
        raise Failure(why, code=code, hint="hermes-gateway memory show lists the handles")

    output.answer({"ok": True}, [_with(output, work)])


@command("allow")
@handles
@of
def allow(output: Output, *, handle: str, whose: str) -> None:
    """Let a note pass from the next conversation on, whatever the threat scan finds in it."""
    owner = _owner(whose)

    async def work(kept: Kept) -> None:
        if not await kept.memories.allow(owner, handle, BY):
            hint = "hermes-gateway memory show lists them"
            raise Failure(f"there is no note {handle}", code=exits.NOT_FOUND, hint=hint)

    _with(output, work)
    output.answer({"ok": True}, [f"{handle} passes from the next conversation on"])


@command("reset")
@of
@click.option("--yes", is_flag=True, help="Do it; without this it is only said what would go.")
def reset(output: Output, *, whose: str, yes: bool) -> int:
    """Remove all notes of one owner, for good."""
    owner = _owner(whose)

    async def work(kept: Kept) -> int:
        if yes:
            return await kept.memories.erase(owner, "")
        return sum(len(entry.text) for sheet in await kept.sheets(owner) for entry in sheet.entries)

    count = _with(output, work)
    words = f"{count} characters of notes of {owner} {'are' if yes else 'would be'} removed"
    output.answer({"ok": yes, "characters": count}, [words if yes else f"{words}; say so with --yes"])
    return exits.OK if yes else exits.USAGE


@command("pending")
def pending(output: Output) -> None:
    """List writes of the agent that wait for approval, the oldest first."""
    from gateway.cli.listing import columns, one_line

    found = _with(output, _waiting)
    head = ("ID", "OWNER", "ORIGIN", "WRITE")
    rows = [
        (one.id, one_line(one.write.owner, OWNER), one.write.origin, one_line(one.summary, SUMMARY)) for one in found
    ]
    document = [
        {"id": one.id, "owner": one.write.owner, "origin": one.write.origin, "summary": one.summary} for one in found
    ]
    output.answer({"pending": document}, columns([head, *rows]) if rows else ["nothing waits"])


async def _waiting(kept: Kept) -> list[Staged]:
    from gateway.types import Role

    return await kept.approvals.waiting("", Role.OWNER)


@command("approve")
@numbered
def approve(output: Output, *, ids: tuple[str, ...]) -> None:
    """Carry out writes that wait, on the notes as they are now; `all` is every one."""
    _decide(output, ids, approved=True)


@command("reject")
@numbered
def reject(output: Output, *, ids: tuple[str, ...]) -> None:
    """Drop writes that wait; `all` is every one."""
    _decide(output, ids, approved=False)


def _decide(output: Output, ids: tuple[str, ...], *, approved: bool) -> None:
    async def work(kept: Kept) -> dict[str, str]:
        chosen = [one for one in await _waiting(kept) if one.id in ids or "all" in ids]
        decide = partial(kept.approvals.approve if approved else kept.approvals.reject, by=BY)
        return {one.id: await decide(one) for one in chosen}

    told = _with(output, work)
    if missing := [id for id in ids if id not in told and id != "all"]:
        hint = "hermes-gateway memory pending lists what does"
        raise Failure(f"nothing waits as {', '.join(missing)}", code=exits.NOT_FOUND, hint=hint)
    output.answer({"decided": told}, [f"{id}: {words}" for id, words in told.items()] or ["nothing waits"])
