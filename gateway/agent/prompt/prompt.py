"""The prompt as a value: its text, the outline of its sections, and what it was made for. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import orjson

from gateway.types import Role, clean

GAP = "\n\n"
"""What stands between two sections."""
FORM = 1
"""The form of a packed outline."""


class Tier(IntEnum):
    """How long a section stays what it is, the longest first, so that the cache of the endpoint reaches far."""

    STABLE = 0
    """The same for every conversation of a home on a platform."""
    CONTEXT = 1
    """The same for every conversation in a folder."""
    VOLATILE = 2
    """This conversation's own, or soon another: skills, notes, who speaks where, the date."""


@dataclass(frozen=True, slots=True)
class Section:
    """
    A part of the prompt. `origin` names what it was made from, in words for whoever runs the gateway.

    `budget` is how many characters it may have; 0 where its origin bounds it.
    """

    name: str
    origin: str
    text: str
    tier: Tier
    budget: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """A section as it stands in the prompt: `length` in characters."""

    name: str
    origin: str
    tier: Tier
    length: int


@dataclass(frozen=True, slots=True)
class Prompt:
    """
    A system prompt. `model` is the one it was made for, and `level` a role that all who speak in the session have.

    `model` is "" where that is not known: of prompts that an earlier version has stored, without parts.
    """

    text: str = ""
    parts: tuple[Part, ...] = ()
    model: str = ""
    level: Role = Role.GUEST

    def suits(self, model: str, role: Role) -> bool:
        """Say whether it may go to a model in a turn of a role: it names no tool that they may not use."""
        return not self.model or (self.model == model and role.covers(self.level))

    def sections(self) -> list[Section]:
        """Take the text apart again; one section of unknown origin where there is no outline that fits it."""
        if sum(part.length for part in self.parts) + len(GAP) * max(0, len(self.parts) - 1) != len(self.text):
            return [Section("prompt", "stored without an outline", self.text, Tier.STABLE)] if self.text else []
        found, start = list[Section](), 0
        for part in self.parts:
            found.append(Section(part.name, part.origin, self.text[start : start + part.length], part.tier))
            start += part.length + len(GAP)
        return found

    def part(self, name: str) -> str:
        """Return the text of a section, "" where there is none of that name."""
        return next((section.text for section in self.sections() if section.name == name), "")

    def with_sections(self, names: Iterable[str], sections: Iterable[Section]) -> Prompt:
        """Return the prompt with the sections of these names replaced, at the place of each or else at its end."""
        if not self.parts:
            return self
        fresh = {section.name: section for section in sections}
        gone = set(names) - fresh.keys()
        kept = [fresh.pop(old.name, old) for old in self.sections() if old.name not in gone]
        made = assemble([*kept, *fresh.values()])
        return replace(self, text=made.text, parts=made.parts)

    def outline(self) -> str:
        """Pack everything but the text; "" where nothing is known."""
        if not self.parts:
            return ""
        parts = [[part.name, part.origin, int(part.tier), part.length] for part in self.parts]
        packed = {"form": FORM, "model": self.model, "level": str(self.level), "parts": parts}
        return orjson.dumps(packed).decode()

    @classmethod
    def stored(cls, text: str, outline: str) -> Prompt:
        """Read a prompt back; an outline of another form, or that does not fit, is as none."""
        try:
            known: Any = orjson.loads(outline) if outline else None
            if not isinstance(known, dict) or known.get("form") != FORM:
                return cls(text)
            parts = tuple(Part(name, origin, Tier(tier), length) for name, origin, tier, length in known["parts"])
            return cls(text, parts, known["model"], Role(known["level"]))
        except (ValueError, KeyError, TypeError):
            return cls(text)


def assemble(sections: Sequence[Section], *, model: str = "", level: Role = Role.GUEST) -> Prompt:
    """Join sections by tier, each stripped and within its budget; those that hold nothing are left out."""
    kept: list[Section] = []
    for tier in Tier:
        kept += [fit for section in sections if section.tier is tier and (fit := fitted(section)).text]
    parts = tuple(Part(section.name, section.origin, section.tier, len(section.text)) for section in kept)
    return Prompt(GAP.join(section.text for section in kept), parts, model, level)


def fitted(section: Section) -> Section:
    """Return a section stripped, and within its budget."""
    text = clean(section.text).strip()
    if section.budget and len(text) > section.budget:
        note = f"\n[cut: {section.name} has {len(text):,} characters, of which the prompt shows {section.budget:,}]"
        text = text[: max(0, section.budget - len(note))].rstrip() + note
    return replace(section, text=text)
