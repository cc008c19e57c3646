"""/memory and /forgetme: a person sees, corrects and erases what is kept of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from gateway.agent.memory.approve import Approvals
from gateway.agent.memory.backing.pending import Staged
from gateway.agent.memory.memories import Memories
from gateway.agent.memory.notes import Target
from gateway.agent.memory.scopes import Kind, Owner
from gateway.agent.memory.store import NotesStore, Shown, Written
from gateway.commands.registry import Asked, Command, Said
from gateway.sessions.live import Whose
from gateway.storage import erase
from gateway.storage.database import Connection, Database
from gateway.types import Event, Role

SHOWN_CHARS = 200
OFF = "Memory is off: memory.memory_enabled and memory.user_profile_enabled are false in config.yaml."
NONE = "There are no notes in this conversation."
HELP = (
    "/memory show lists the notes; /memory forget #HANDLE removes one; /memory allow #HANDLE lets one pass that the"
    " scan has blocked; /memory pending lists what waits; /memory approve ID and /memory reject ID decide (or: all)."
)
SURE = (
    "This erases what I keep of you, for good: your notes, every conversation of yours with its files, and what waits"
    " for approval. What you wrote in groups stays with the groups. Send `/forgetme yes` to do it."
)
GROUP = "Send /forgetme in a private chat with me: here it would speak for everybody."


@dataclass(frozen=True, slots=True)
class Remembered:
    """
    What the commands work with.

    `forget` removes what else there is of an owner and a person, such as the folders of these sessions, and returns
    sentences that report it.
    """

    database: Database
    memories: Memories
    approvals: Approvals
    whose: Callable[[Event], Awaitable[Whose]]
    forget: Callable[[Owner, str, Sequence[str]], Awaitable[list[str]]]


def memory_commands(rooms: Remembered) -> list[Command]:
    """Return the commands, in the order of the menu."""
    return [
        Command("memory", "show and correct what I remember", work=partial(_memory, rooms)),
        Command("forgetme", "erase what I keep of you", work=partial(_forgetme, rooms)),
    ]


async def _memory(rooms: Remembered, asked: Asked) -> Said:
    whose = await rooms.whose(asked.event)
    person, notes = whose.person, whose.notes
    word, _, rest = asked.rest.partition(" ")
    rest = rest.strip()
    if word in {"pending", "approve", "apply", "reject", "deny", "drop"}:
        return Said(await _decide(rooms, asked, person, word, rest))
    if not rooms.memories.on:
        return Said(OFF)
    if not notes:
        return Said(NONE)
    owner = Owner.parse(notes)
    store = rooms.memories.store(owner)
    answers = {
        "": partial(_standing, rooms, asked, person, store),
        "show": partial(_show, store),
        "forget": partial(_forget, store, rest),
        "allow": partial(_allow, rooms, asked, owner, rest),
    }
    return Said(await answers[word]() if word in answers else HELP)


async def _standing(rooms: Remembered, asked: Asked, person: str, store: NotesStore) -> str:
    lines = []
    for target in Target:
        if target not in store.targets:
            key = "memory.memory_enabled" if target is Target.MEMORY else "memory.user_profile_enabled"
            lines.append(f"{target.file}: off ({key}: false)")
            continue
        sheet = await store.sheet(target)
        blocked = sum(entry.blocked for entry in sheet.entries)
        more = f", {blocked} blocked by the scan" if blocked else ""
        lines.append(f"{target.file}: {sheet.problem or f'{len(sheet.entries)} entries, {sheet.usage}{more}'}")
    waiting = await rooms.approvals.waiting(person, asked.role)
    lines.append(f"Writes: {rooms.approvals.mode}; waiting for approval: {len(waiting)}")
    lines.append(f"Whose: {_whose(Owner.parse(store.owner))}")
    return "\n".join([*(f"- {line}" for line in lines), "", HELP])


def _whose(owner: Owner) -> str:
    match owner.kind:
        case Kind.CHAT:
            return "this group's, shared by all its members"
        case Kind.PERSON:
            return "yours alone"
        case Kind.HOME:
            return "the owner's"


async def _show(store: NotesStore) -> str:
    lines = []
    for target in store.targets:
        sheet = await store.sheet(target)
        lines.append(f"**{target.file}** {sheet.usage}".rstrip())
        lines += [f"- `{entry.handle}` {_line(entry)}" for entry in sheet.entries] or ["- nothing yet"]
        if sheet.problem:
            lines.append(f"- {sheet.problem}")
        lines.append("")
    return "\n".join(lines).strip()


def _line(entry: Shown) -> str:
    text = " ".join(entry.text.split())
    short = text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"
    if entry.blocked:
        return f"(blocked: {', '.join(entry.threats)}) {short}"
    return f"(allowed) {short}" if entry.allowed and entry.threats else short


async def _forget(store: NotesStore, wanted: str) -> str:
    if not wanted:
        return "Say which: /memory forget #HANDLE, from /memory show."
    result = await store.forget(wanted)
    if isinstance(result, Written):
        return (
            f"Forgotten. {result.target.file} now: {result.usage}. A conversation that runs keeps its copy until /new."
        )
    if result.matches:
        return "Several notes hold these words; take the handle of one from /memory show."
    return "No note holds this; /memory show lists them." if result.unknown else result.error


async def _allow(rooms: Remembered, asked: Asked, owner: Owner, wanted: str) -> str:
    if owner.kind is Kind.CHAT and not asked.role.covers(Role.OWNER):
        return "In a group only an owner of the gateway lets a blocked note pass."
    store = rooms.memories.store(owner)
    for target in store.targets:
        for entry in (await store.sheet(target)).entries:
            if entry.handle == wanted:
                await rooms.memories.allow(owner, wanted, _account(asked))
                return f"{wanted} passes from the next conversation on."
    return "There is no note with this handle; /memory show lists them."


async def _decide(rooms: Remembered, asked: Asked, person: str, word: str, id: str) -> str:
    waiting = await rooms.approvals.waiting(person, asked.role)
    if word == "pending":
        return "\n".join(map(_pending, waiting)) or "Nothing waits for approval."
    chosen = [one for one in waiting if id in {one.id, "all"}]
    if not chosen:
        return f"Nothing of yours waits as {id[:40]}." if id else "Say which: an id from /memory pending, or all."
    decide = rooms.approvals.approve if word in {"approve", "apply"} else rooms.approvals.reject
    return "\n".join([f"- {one.id}: {await decide(one, _account(asked))}" for one in chosen])


def _pending(staged: Staged) -> str:
    auto = " [auto]" if staged.write.origin == "background_review" else ""
    return f"- `{staged.id}`{auto} {staged.summary}"


def _account(asked: Asked) -> str:
    return f"{asked.event.origin.platform}:{asked.event.sender.id}"


async def _forgetme(rooms: Remembered, asked: Asked) -> Said:
    if not asked.event.private:
        return Said(GROUP)
    if asked.rest.lower() != "yes":
        return Said(SURE)
    whose = await rooms.whose(asked.event)
    person, notes = whose.person, whose.notes
    if not person:
        return Said("I keep nothing of you.")

    def job(connection: Connection) -> erase.Erased:
        return erase.erase_conversations(connection, person, asking=str(asked.key), keep=asked.id)

    erased = await rooms.database.write(job)
    lines = [f"{len(erased.sessions)} conversations with {erased.messages} messages"]
    owner = Owner.parse(notes) if notes else Owner(Kind.PERSON, person)
    if owner.kind is not Kind.CHAT:
        lines.append(f"{await rooms.memories.erase(owner, person)} characters of notes")
    lines += await rooms.forget(owner, person, erased.sessions)
    await rooms.database.write(lambda connection: erase.erase_person(connection, person))
    return Said("Erased:\n" + "\n".join(f"- {line}" for line in lines))
