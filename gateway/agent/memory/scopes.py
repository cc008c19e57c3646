"""Whose notes a turn uses. Pure.

In: the event that began a conversation and the setting. Out: an `Owner`. A private chat, the web chat and the command
line use the person's notes; a group uses the group's, since all of it hears the answers; a webhook has none. The notes
of the person who was made owner first are the home's own two files, so that an existing home reaches them. Every
profile is another agent: it has notes of its own of the same people and chats.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Literal, Self

from gateway.types import ChatType, Event, escape, unescape

LONGEST = 200
"""Characters of a folder's name, all ASCII; file systems take 255. Only a name with a digest is so long."""
PROFILE = "profile"
"""How the written form begins of what is not the gateway's own."""


class Kind(StrEnum):
    """Who can own notes."""

    HOME = "home"
    PERSON = "person"
    CHAT = "chat"


@dataclass(frozen=True, slots=True)
class Owner:
    """
    Whose notes they are; `id` is a person's id or a chat's written address, "" for the home.

    `profile` is whose notes of them, "" for the gateway's own: of the others the written form begins with
    ``profile:NAME:``.
    """

    kind: Kind
    id: str = ""
    profile: str = ""

    def __str__(self) -> str:
        whose = f"{PROFILE}:{escape(self.profile)}:" if self.profile else ""
        return f"{whose}{self.kind}:{self.id}" if self.id else f"{whose}{self.kind}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the written form; raise `ValueError` for anything else."""
        first, _, rest = text.partition(":")
        name, _, inner = rest.partition(":") if first == PROFILE else ("", "", text)
        kind, _, id = inner.partition(":")
        if (first == PROFILE and not name) or (kind == Kind.HOME) == bool(id) or kind not in set(Kind):
            raise ValueError(f"not an owner of notes: {text!r}; write home, person:ID or chat:ADDRESS")
        return cls(Kind(kind), id, unescape(name))

    def within(self, profile: str) -> Self:
        """Return the same with another profile."""
        return replace(self, profile=profile)

    def folder(self, memories: Path) -> Path:
        """Return where the files are, below the home's folder of memories."""
        if self.kind is Kind.HOME:
            return memories
        return memories / ("users" if self.kind is Kind.PERSON else "chats") / _name(self.id)


HOME = Owner(Kind.HOME)


def is_home(owner: str) -> bool:
    """Say of a written owner whether it is a profile's home itself."""
    return re.fullmatch(rf"(?:{PROFILE}:[^:]+:)?{Kind.HOME}", owner) is not None


def owner_of(event: Event, scope: Literal["person", "home"], person: Owner) -> Owner | None:
    """
    Return whose notes a conversation uses, None for nobody's.

    `person` are the notes of the one who speaks, in the profile that is spoken with.
    """
    if event.chat_type is ChatType.WEBHOOK:
        return None
    if scope == "home":
        return HOME.within(person.profile)
    if event.private:
        return person
    return Owner(Kind.CHAT, event.origin.queue, person.profile)


def chat_of(folder: str) -> Owner | None:
    """Return the chat whose folder is named so; None where the name is too long to tell."""
    return Owner(Kind.CHAT, unescape(folder)) if len(folder) < LONGEST else None


def _name(id: str) -> str:
    """Spell an id as a folder; what is too long keeps its beginning and ends in a digest."""
    name = escape(id)
    if name.startswith("."):
        name = "%2E" + name[1:]
    if len(name) < LONGEST:
        return name
    return f"{name[: LONGEST - 33]}~{hashlib.sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
