"""A skill: a folder with a SKILL.md, and what its front matter says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

FILE = "SKILL.md"
CATEGORY_FILE = "DESCRIPTION.md"
SUPPORT = ("references", "templates", "scripts", "assets")
"""The folders beside SKILL.md that a skill may have."""
GENERAL = "general"
"""The category of skills that lie in none."""
NAME_CHARS = 64
DESCRIPTION_CHARS = 1024


class Source(StrEnum):
    """Where a skill lies: in the home's own folder, or in one that is only read."""

    LOCAL = "local"
    EXTERNAL = "external"


@dataclass(frozen=True, slots=True)
class ConfigItem:
    """A setting that a skill reads from ``skills.config.<key>``."""

    key: str
    description: str = ""
    default: str = ""
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class Conditions:
    """
    For whom a skill is: for turns that have all of the `requires_…`, and none of the `fallback_for_…`.

    `platforms` are operating systems.
    """

    platforms: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    requires_tools: tuple[str, ...] = ()
    requires_toolsets: tuple[str, ...] = ()
    fallback_for_tools: tuple[str, ...] = ()
    fallback_for_toolsets: tuple[str, ...] = ()


ANYBODY = Conditions()


@dataclass(frozen=True, slots=True)
class About:
    """What the front matter says besides name and description."""

    version: str = ""
    tags: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    conditions: Conditions = ANYBODY
    variables: tuple[str, ...] = ()
    """Names of environment variables it needs."""
    commands: tuple[str, ...] = ()
    """Names of programs it needs."""
    config: tuple[ConfigItem, ...] = ()


NOTHING = About()


@dataclass(frozen=True, slots=True)
class Skill:
    """
    One skill. `path` is its folder's, relative to `root`; "" where the root is the skill.

    `name` and `description` are each one line without control characters, whoever wrote them. `problem` says in a
    sentence what is wrong with it; it can be used all the same.
    """

    name: str
    description: str
    path: str
    root: Path
    source: Source = Source.LOCAL
    about: About = NOTHING
    problem: str = ""

    @property
    def folder(self) -> Path:
        return self.root / self.path

    @property
    def category(self) -> str:
        """The folders above it, joined by slashes."""
        return self.path.rpartition("/")[0] or GENERAL

    @property
    def file(self) -> str:
        """The path of its SKILL.md, relative to the root."""
        return f"{self.path}/{FILE}" if self.path else FILE
