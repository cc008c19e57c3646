"""``memory``: what the agent keeps of each person and group, for who operates the gateway."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gateway.cli import exits
from gateway.cli.command import Group, command
from gateway.cli.deciding import decide, tell
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
within = click.option("--profile", default="", metavar="NAME", help="The agent whose notes they are, if not the main.")
handles = click.argument("handle", metavar="#HANDLE")
numbered = click.argument("ids", metavar="ID...", nargs=-1, required=True)


@dataclass(frozen=True, slots=True)
class Kept:
    """What the commands work with, by the profile of an owner."""

    rooms: Rooms
    memories: Mapping[str, Memories]
    approvals: Mapping[str, Approvals]

    def of(self, owner: Owner) -> Memories:
        if owner.profile not in self.memories:
            there = ", ".join(self.rooms.config.profiles) or "none but the main one"
            raise Failure(f"there is no profile {owner.profile}", code=exits.NOT_FOUND, hint=f"there are {there}")
        return self.memories[owner.profile]

    async def owners(self) -> list[Owner]:
        from gateway.app.remember import all_owners

        config = self.rooms.config
        folders = {"": config.home.memories, **{name: own.home.memories for name, own in config.profiles.items()}}
        found = [await all_owners(self.rooms.database, folder, name) for name, folder in folders.items()]
        return [owner for owners in found for owner in owners]

    async def sheets(self, owner: Owner) -> list[Sheet]:
        store = self.of(owner).store(owner)
        return [await store.sheet(target) for target in store.targets]

    async def waiting(self) -> list[tuple[Approvals, Staged]]:
        """Return what waits, with who decides on it."""
        from gateway.types import Role

        return [(by, one) for by in self.approvals.values() for one in await by.waiting("", Role.OWNER)]


def _with(output: Output, work: Callable[[Kept], Awaitable[T]]) -> T:
    from gateway.agent.memory.approve import Approvals
    from gateway.agent.memory.backing.queues import Desk
    from gateway.app.remember import open_memories
    from gateway.cli.opened import in_rooms

    async def inside(rooms: Rooms) -> T:
        kept = Kept(rooms, memories := {}, approvals := {})
        async with Desk() as desk:
            for name, own in {"": rooms.config, **rooms.config.profiles}.items():
                settings = own.settings.memory
                memories[name] = open_memories(rooms.database, desk, own.home.memories, settings)
                mode = settings.write_approval
                approvals[name] = Approvals(rooms.database, memories[name], mode, profile=name)
            return await work(kept)

    return in_rooms(output, inside)


def _owner(text: str, profile: str) -> Owner:
    from gateway.agent.memory.scopes import Owner
    from gateway.sessions.keys import NAMESPACE

    try:
        owner = Owner.parse(text)
        return owner.within("" if profile == NAMESPACE else profile) if profile else owner
    except ValueError:
        raise Failure(
            f"not an owner of notes: {text}; write home, person:ID or chat:ADDRESS", code=exits.USAGE
        ) from None


@command("show")
@of
@within
@click.option("--all", "every", is_flag=True, help="Everybody's.")
def show(output: Output, *, whose: str, profile: str, every: bool) -> None:
    """Print the notes of one owner or of all, with the handle of each, and what the threat scan found in it."""
    first = _owner(whose, profile)

    async def work(kept: Kept) -> list[tuple[Owner, Sheet]]:
        kept.of(first)
        everybody = [owner for owner in await kept.owners() if not profile or owner.profile == first.profile]
        owners = everybody if every else [first]
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
@within
def forget(output: Output, *, handle: str, whose: str, profile: str) -> None:
    """Remove one note by its handle, or by words that only it holds."""
    from gateway.agent.memory.store import Written

    owner = _owner(whose, profile)

    async def work(kept: Kept) -> str:
        result = await kept.of(owner).store(owner).forget(handle)
        if isinstance(result, Written):
            return f"removed; {result.target.file} now: {result.usage}"
        why = "several notes hold these words" if result.matches else result.error.removesuffix(".")
        code = exits.NOT_FOUND if result.matches or result.unknown else exits.FAILURE
        raise Failure(why, code=code, hint="hermes-gateway memory show lists the handles")

    output.answer({"ok": True}, [_with(output, work)])


@command("allow")
@handles
@of
@within
def allow(output: Output, *, handle: str, whose: str, profile: str) -> None:
    """Let a note pass from the next conversation on, whatever the threat scan finds in it."""
    owner = _owner(whose, profile)

    async def work(kept: Kept) -> None:
        if not await kept.of(owner).allow(owner, handle, BY):
            hint = "hermes-gateway memory show lists them"
            raise Failure(f"there is no note {handle}", code=exits.NOT_FOUND, hint=hint)

    _with(output, work)
    output.answer({"ok": True}, [f"{handle} passes from the next conversation on"])


@command("reset")
@of
@within
@click.option("--yes", is_flag=True, help="Do it; without this it is only said what would go.")
def reset(output: Output, *, whose: str, profile: str, yes: bool) -> int:
    """Remove all notes of one owner, for good."""
    owner = _owner(whose, profile)

    async def work(kept: Kept) -> int:
        if yes:
            return await kept.of(owner).erase(owner, "")
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
    return [one for _, one in await kept.waiting()]


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
        return await decide(await kept.waiting(), ids, BY, approved=approved)

    tell(output, ids, _with(output, work), "memory")
