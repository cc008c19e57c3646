"""How the index of skills is written: lines for categories, skills and what is left out. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from gateway.agent.skills.skill import Skill
from gateway.agent.skills.words import one_line, unbroken

SHOWN_CHARS = 60
"""Characters of a description."""
NAMES = "[names only]"
UNLISTED = "[not listed]"

HEAD = """\
## Skills (mandatory)
Each skill below tells how a kind of task is done here: its steps, commands, conventions, and mistakes made before. \
Look through them before you answer. If one is even partly relevant, load it with skill_view(name) and do as it says, \
also where you think you know the way."""
MEND = (
    "Where a skill turns out wrong, outdated or incomplete while you use it, correct it at once with skill_manage"
    " (action patch), without being asked."
)
SHORT = "Not every skill is listed: skills_list(category) shows all that a category has."
END = "Go on without a skill only if genuinely none of them applies."


@dataclass(frozen=True, slots=True)
class Listed:
    """A skill, what it is called here, and its rank: the greater, the more it is used."""

    label: str
    skill: Skill
    category: str
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Told:
    """
    What an index tells: skills with descriptions, skills by name, and how many others categories have.

    `unnamed` is how many categories there is not even that of.
    """

    described: Sequence[Listed]
    named: Sequence[Listed] = ()
    missing: Mapping[str, int] = field(default_factory=dict)
    unnamed: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """Writes indexes for somebody who can `mend` skills, or not. `descriptions` are those of categories."""

    descriptions: Mapping[str, str]
    mend: bool = False

    def text(self, told: Told) -> str:
        """Return the whole section."""
        more = [MEND] if self.mend else []
        more += [SHORT] if told.missing or told.unnamed else []
        lines = self._lines(told)
        return "\n".join([" ".join([HEAD, *more]), "", "<available_skills>", *lines, "</available_skills>", "", END])

    def header(self, category: str) -> str:
        """Return the line of a category."""
        said = self.descriptions.get(category, "")
        return safe(f"  {category}: {one_line(said, SHOWN_CHARS)}" if said else f"  {category}:")

    def item(self, one: Listed) -> str:
        """Return the line of a skill."""
        said = one_line(one.skill.description, SHOWN_CHARS)
        return safe(f"    - {one.label}: {said}" if said else f"    - {one.label}")

    def _lines(self, told: Told) -> list[str]:
        lines = []
        entries = [(one.category, 0, one.label, one) for one in told.described]
        entries += [(one.category, 1, one.label, one) for one in told.named]
        for category, group in groupby(sorted(entries, key=lambda entry: entry[:3]), key=lambda entry: entry[0]):
            rows = list(group)
            lines.append(self.header(category))
            lines += [self.item(one) for _, kind, _, one in rows if kind == 0]
            if names := [label for _, kind, label, _ in rows if kind == 1]:
                lines.append(safe(f"    {NAMES} {', '.join(names)}"))
        if told.missing or told.unnamed:
            tails = [tail(category, count) for category, count in sorted(told.missing.items())]
            tails += [f"and more in {told.unnamed} other categories (skills_list)"] if told.unnamed else []
            lines.append(safe(f"  {UNLISTED} {', '.join(tails)}"))
        return lines


def tail(category: str, count: int) -> str:
    """Return what is said of the skills of a category that are not named."""
    return f"{category} ({count} more)"


def safe(line: str) -> str:
    """Take from a line what could pass for its end, for that of the block, or for the beginning of another."""
    return unbroken(line).replace("<", "‹")
