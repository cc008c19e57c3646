"""/memory and /forgetme: a person sees, corrects and erases what is kept of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from gateway.access import people
from gateway.agent.memory.approve import Approvals, Heard
from gateway.agent.memory.backing.pending import Staged, Staging
from gateway.agent.memory.memories import Memories
from gateway.agent.memory.notes import Target
from gateway.agent.memory.scopes import Kind, Owner
from gateway.agent.memory.store import NotesStore, Shown, Written
from gateway.bus import reports
from gateway.commands.registry import Asked, Command, Said
from gateway.errors import StorageError
from gateway.sessions.keys import is_of_one
from gateway.sessions.whose import Whose
from gateway.storage import erase, words
from gateway.storage.database import Connection, Database
from gateway.types import Event, Role, SessionKey

SHOWN_CHARS = 200
OFF = "Memory is off: memory.memory_enabled and memory.user_profile_enabled are false in config.yaml."
NONE = "There are no notes in this conversation."
HELP = (
    "/memory show lists the notes; /memory forget #HANDLE removes one; /memory allow #HANDLE lets one pass that the"
    " scan has blocked; /memory pending lists what waits; /memory approve ID and /memory reject ID decide (or: all)."
)
SURE = (
    "This erases what I keep of you, for good: your notes, every conversation of yours with its files, and what waits"
    " for approval. What a group shares stays with the group. Send `/forgetme yes` to do it."
)
UNERASED = (
    "Your notes could not be erased: {error}. Send `/forgetme yes` again once that is mended. Erased so far:\n{lines}"
)
NOTHING = "Nothing waits for approval."
SHARED = "the notes that everybody shares here stay"
GROUP = "Send /forgetme in a private chat with me: here it would speak for everybody."


class Own(Protocol):
    """Returns whose notes are a person's own; `home` says that it is the one who owns the home."""

    def __call__(self, person: str, *, home: bool) -> Owner: ...


@dataclass(frozen=True, slots=True)
class Remembered:
    """
    What the commands work with, of the agent whose conversation it is.

    `own` says whose notes a person's own are. `heard` is told of what a person changes, as it is of the agent's writes;
    `service` is the provider's name. `forget` removes what else there is of a person, such as the folders of these
    sessions, and returns sentences that report it; `erase` removes a person's own notes and returns how many characters
    they had.
    """

    database: Database
    memories: Memories
    approvals: Approvals
    whose: Callable[[Event], Awaitable[Whose]]
    own: Own
    heard: Heard
    forget: Callable[[str, Sequence[str]], Awaitable[list[str]]]
    erase: Callable[[str], Awaitable[int]]
    service: str = ""


def memory_commands(of: Callable[[SessionKey], Remembered]) -> list[Command]:
    """Return the commands, in the order of the menu; `of` gives what they work with in a conversation, by its key."""

    async def memory(asked: Asked) -> Said:
        return await _memory(of(asked.key), asked)

    async def forgetme(asked: Asked) -> Said:
        return await _forgetme(of(asked.key), asked)

    return [
        Command("memory", "show and correct what I remember", work=memory),
        Command("forgetme", "erase what I keep of you", work=forgetme),
    ]


async def _memory(rooms: Remembered, asked: Asked) -> Said:
    whose = await rooms.whose(asked.event)
    person, notes = whose.person, whose.notes
    word, _, rest = asked.rest.partition(" ")
    rest = rest.strip()
    if word in {"pending", "approve", "apply", "reject", "deny", "drop"}:
        return Said(await _decide(rooms, asked, whose, word, rest))
    if not rooms.memories.on:
        return Said(OFF)
    if not notes:
        return Said(NONE)
    owner = Owner.parse(notes)
    store = rooms.memories.store(owner)
    answers = {
        "": partial(_standing, rooms, asked, whose, store),
        "show": partial(_show, store),
        "forget": partial(_forget, rooms, person, store, rest),
        "allow": partial(_allow, rooms, asked, whose, rest),
    }
    return Said(await answers[word]() if word in answers else HELP)


async def _standing(rooms: Remembered, asked: Asked, whose: Whose, store: NotesStore) -> str:
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
    waiting = await _waiting(rooms, asked, whose)
    lines.append(f"Writes: {rooms.approvals.mode}; waiting for approval: {len(waiting)}")
    lines.append(f"Whose: {_whose(Owner.parse(store.owner))}")
    if rooms.service:
        lines.append(f"Also remembers: {rooms.service}")
    return f"{_list(lines)}\n\n{HELP}"


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


async def _forget(rooms: Remembered, person: str, store: NotesStore, wanted: str) -> str:
    if not wanted:
        return "Say which: /memory forget #HANDLE, from /memory show."
    result = await store.forget(wanted)
    if isinstance(result, Written):
        rooms.heard(Staging(store.owner, person, "foreground", result.target, result.done), result.done)
        return (
            f"Forgotten. {result.target.file} now: {result.usage}. A conversation that runs keeps its copy until /new."
        )
    if result.matches:
        return "Several notes hold these words; take the handle of one from /memory show."
    return "No note holds this; /memory show lists them." if result.unknown else result.error


async def _allow(rooms: Remembered, asked: Asked, whose: Whose, wanted: str) -> str:
    owner = Owner.parse(whose.notes)
    if owner != await _own(rooms, whose.person) and not asked.role.covers(Role.OWNER):
        return "These notes are shared, and only an owner of the gateway lets a blocked one of them pass."
    if await rooms.memories.allow(owner, wanted, asked.event.account):
        return f"{wanted} passes from the next conversation on."
    return "There is no note with this handle; /memory show lists them."


async def _waiting(rooms: Remembered, asked: Asked, whose: Whose) -> list[Staged]:
    """Return what waits and may be told here: where others read along, only what is for the notes of this place."""
    waiting = await rooms.approvals.waiting(whose.person, asked.role)
    return waiting if asked.event.private else [one for one in waiting if one.write.owner == whose.notes]


async def _decide(rooms: Remembered, asked: Asked, whose: Whose, word: str, id: str) -> str:
    waiting = await _waiting(rooms, asked, whose)
    if word == "pending":
        return "\n".join(map(_pending, waiting)) or NOTHING
    chosen = [one for one in waiting if id in {one.id, "all"}]
    if not chosen and id == "all":
        return NOTHING
    if not chosen:
        return f"Nothing of yours waits as {id[:40]}." if id else "Say which: an id from /memory pending, or all."
    decide = rooms.approvals.approve if word in {"approve", "apply"} else rooms.approvals.reject
    return "\n".join([f"- {one.id}: {await decide(one, asked.event.account)}" for one in chosen])


def _pending(staged: Staged) -> str:
    auto = " [auto]" if staged.write.origin == "background_review" else ""
    return f"- `{staged.id}`{auto} {staged.summary}"


async def _forgetme(rooms: Remembered, asked: Asked) -> Said:
    if not asked.event.private:
        return Said(GROUP)
    if asked.rest.lower() != "yes":
        return Said(SURE)
    whose = await rooms.whose(asked.event)
    person = whose.person
    if not person:
        return Said("I keep nothing of you.")

    indexed = await rooms.database.read(partial(words.indexed_of, person=person))

    def conversations(connection: Connection) -> erase.Erased:
        talking = reports.talking(connection, people.accounts(connection, person))
        begun = set(filter(is_of_one, talking))
        row = asked.id
        return erase.erase_conversations(connection, person, begun, asking=str(asked.key), keep=row, indexed=indexed)

    def leave(connection: Connection) -> erase.Erased | None:
        """Also forget who it was, and what has begun since under that name; None for who stays."""
        if erase.stays(connection, person):
            return None
        begun = conversations(connection)
        erase.erase_person(connection, person)
        return begun

    erased, owner = await rooms.database.write(conversations), await _own(rooms, person)
    lines = await rooms.forget(person, erased.sessions)
    try:
        notes = await rooms.erase(person)
    except StorageError as error:
        return Said(UNERASED.format(error=error, lines=_list([_gone(erased), *lines])))
    if (more := await rooms.database.write(leave)) is not None:
        notes += await rooms.erase(person)  # what had begun since may have noted something
        erased = erased.and_then(more)
    shared = [SHARED] if whose.notes and Owner.parse(whose.notes) != owner else []
    return Said(f"Erased:\n{_list([_gone(erased), f'{notes} characters of notes', *lines, *shared])}")


def _gone(erased: erase.Erased) -> str:
    return f"{erased.conversations} conversations with {erased.messages} messages"


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


async def _own(rooms: Remembered, person: str) -> Owner:
    """Return whose notes are a person's own, whatever the settings say of those its conversations use."""
    home = await rooms.database.read(lambda connection: people.is_home(connection, person))
    return rooms.own(person, home=home)
