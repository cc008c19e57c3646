"""
All skills of a home: those in its own folder, and those of other folders that are only read.

In: the folders, as they are on the disk. Out: the skills that are in effect, found by name, and the index of them for
a prompt. Everything blocks for as long as the disk takes; callers run it in a thread, several at once if they like.
"""

from __future__ import annotations

import logging
import os
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from cachetools import LRUCache

from gateway.agent.skills import snapshot
from gateway.agent.skills.audience import Audience
from gateway.agent.skills.index import render
from gateway.agent.skills.page import Listed
from gateway.agent.skills.reading import read_category, read_skill
from gateway.agent.skills.shelf import Shelf
from gateway.agent.skills.skill import Skill, Source
from gateway.agent.skills.snapshot import Snapshot
from gateway.agent.skills.usage import UNKNOWN, Record, Usage
from gateway.agent.skills.walk import HEAD_BYTES, Reader, Stamp, Walked, walk
from gateway.errors import ConfigError, ToolError

log = logging.getLogger(__name__)

FRESH_SECONDS = 1.0
INDEXES = 8


@dataclass(frozen=True, slots=True)
class Catalog:
    """What was there when the folders were last looked at."""

    skills: tuple[Skill, ...] = ()
    labels: Mapping[str, Skill] = field(default_factory=dict)
    """Each skill by what it is called: its name, or category/name where several have that."""
    descriptions: Mapping[str, str] = field(default_factory=dict)
    """Of categories."""
    records: Mapping[str, Record] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


class Library:
    """
    The skills of the home at `home`.

    Local skills win over external ones of the same name, and earlier folders over later ones. `disabled` are names
    that exist for nobody, `platform_disabled` those that do not exist on a chat platform.

    The folders are compared with what is known at most once in `FRESH_SECONDS`; our own writes are known at once. So
    a skill that somebody else changes on the disk is seen by every conversation that begins a second later. Files are
    told apart by time and size, as the reference does.

    Raise `ConfigError` for a folder that holds the home: everybody who may read skills can read all that is in one.
    """

    def __init__(
        self,
        home: Path,
        *,
        external: Sequence[Path] = (),
        disabled: Collection[str] = (),
        platform_disabled: Mapping[str, Collection[str]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.home = home
        self.folder = Path(os.path.realpath(home / "skills"))
        self.usage = Usage(self.folder)
        self.shelf = Shelf(self.folder, self.usage)
        self._external = tuple(Path(os.path.realpath(folder)) for folder in external)
        for root in self.roots:
            _check(root, home)
        self._disabled = frozenset(disabled)
        self._platform_disabled = {name: frozenset(names) for name, names in (platform_disabled or {}).items()}
        self._clock = clock
        self._lock = Lock()
        self._checked: float | None = None
        self._walked: dict[Path, Walked] = {}
        self._known: dict[Path, Snapshot] = {}
        self._usage_stamp: Stamp = (-1, -1)
        self._catalog = Catalog()
        self._told: frozenset[str] = frozenset()
        self._indexes: LRUCache[Audience, str] = LRUCache(INDEXES)

    @property
    def roots(self) -> Sequence[Path]:
        """The folders, the home's own first."""
        return (self.folder, *self._external)

    def catalog(self) -> Catalog:
        """Return what is there."""
        with self._lock:
            self._refresh()
            return self._catalog

    def visible(self, audience: Audience) -> dict[str, Skill]:
        """Return the skills that are of use to somebody, by what they are called there."""
        return _visible(self.catalog(), audience, self._platform_disabled)

    def find(self, name: str, audience: Audience | None = None) -> Skill | None:
        """
        Return the skill of this name; None where there is none, or none for this audience.

        A name may be ``category/name``, that of the folder, or written in another case or with other dashes. Raise
        `ToolError` where several skills are meant.
        """
        catalog = self.catalog()
        labels = catalog.labels if audience is None else _enabled(catalog.labels, audience, self._platform_disabled)
        if name in labels:
            return labels[name]
        for same in (_by_path, _by_name, _by_folder, _by_slug):
            if found := [label for label, skill in labels.items() if same(skill, name)]:
                break
        else:
            return None
        if len(found) > 1:
            raise ToolError(f"several skills are called {name}: {', '.join(found)}; name one of these")
        return labels[found[0]]

    def index(self, audience: Audience) -> str:
        """Return the section on skills of a conversation's prompt; "" where there are none, or no tool to read them."""
        with self._lock:
            self._refresh()
            if (known := self._indexes.get(audience)) is not None:
                return known
            catalog = self._catalog
            listed = [
                Listed(label, skill, skill.category, catalog.records.get(skill.name, UNKNOWN).rank)
                for label, skill in _visible(catalog, audience, self._platform_disabled).items()
            ]
            text = self._indexes[audience] = render(listed, catalog.descriptions, audience)
            return text

    def changed(self) -> None:
        """Look at the folders anew when next asked: something of ours was written."""
        with self._lock:
            self._checked = None

    # --- how

    def _refresh(self) -> None:
        now = self._clock()
        if self._checked is not None and 0 <= now - self._checked < FRESH_SECONDS:
            return
        found = [(root, walk(root)) for root in self.roots]
        for root, walked in found:
            if walked != self._walked.get(root):
                self._bring_up(root, walked)
        walked_before, self._walked = self._walked, dict(found)
        usage = self.usage.stamp()
        if self._walked != walked_before or usage != self._usage_stamp:
            self._usage_stamp = usage
            self._renew()
        self._checked = now

    def _bring_up(self, root: Path, walked: Walked) -> None:
        """Read what is new in a folder, and keep what it says now."""
        local = root == self.folder
        known = self._known.get(root)
        if known is None:
            known = snapshot.load(self.home, root) if local else Snapshot()
        self._known[root] = fresh = _brought_up(known, walked, root, Source.LOCAL if local else Source.EXTERNAL)
        if local and (fresh.manifest != known.manifest or fresh.skills != known.skills):
            snapshot.save(self.home, fresh)

    def _renew(self) -> None:
        skills = _in_effect(self._known.values(), self._disabled)
        descriptions: dict[str, str] = {}
        for known in self._known.values():
            descriptions = known.descriptions | descriptions
        records = self.usage.records()
        said = [f"{skill.folder}: {skill.problem}" for skill in skills if skill.problem]
        problems = [problem for walked in self._walked.values() for problem in walked.problems]
        catalog = Catalog(skills, _labels(skills), descriptions, records, (*problems, *said))
        ranks = {name: record.rank for name, record in records.items()}
        before = {name: record.rank for name, record in self._catalog.records.items()}
        if catalog.skills != self._catalog.skills or descriptions != self._catalog.descriptions or ranks != before:
            self._indexes.clear()
        for problem in catalog.problems:
            if problem not in self._told:
                log.warning("skills: %s", problem)
        self._told = frozenset(catalog.problems)
        self._catalog = catalog


def _check(root: Path, home: Path) -> None:
    if Path(os.path.realpath(home)).is_relative_to(root):
        raise ConfigError(
            f"the folder of skills {root} holds the home {home}, and with it our secrets",
            hint="choose another folder in skills.external_dirs",
        )


def _brought_up(known: Snapshot, walked: Walked, root: Path, source: Source) -> Snapshot:
    """Return what the files say now, read only where they changed."""
    if known.manifest == {**walked.skills, **walked.descriptions} and known.skills.keys() == walked.skills.keys():
        return known
    fresh = Snapshot()
    with Reader(root) as reader:
        for path, stamp in sorted(walked.skills.items()):
            skill = known.skills.get(path) if known.manifest.get(path) == stamp else None
            if skill is None:
                if (raw := _raw(reader, root, path)) is None:
                    continue
                skill = read_skill(raw, path.rpartition("/")[0], root, source)
            fresh.skills[path] = skill
            fresh.manifest[path] = stamp
        for path, stamp in sorted(walked.descriptions.items()):
            category = path.rpartition("/")[0]
            told = known.descriptions.get(category) if known.manifest.get(path) == stamp else None
            if told is None:
                if (raw := _raw(reader, root, path)) is None:
                    continue
                told = read_category(raw)
            fresh.descriptions[category] = told
            fresh.manifest[path] = stamp
    return fresh


def _raw(reader: Reader, root: Path, path: str) -> bytes | None:
    """Return the beginning of a file; None for one that is gone meanwhile, or cannot be read."""
    try:
        return reader.read(path, HEAD_BYTES)
    except FileNotFoundError:
        return None
    except (OSError, ToolError) as error:
        log.warning("skills: %s: %s", root / path, getattr(error, "strerror", None) or error)
        return None


def _in_effect(known: Iterable[Snapshot], disabled: frozenset[str]) -> tuple[Skill, ...]:
    """Return the skills of all folders, without those that an earlier folder has by the same name."""
    taken: set[str] = set()
    found: list[Skill] = []
    for folder in known:
        own = [skill for skill in folder.skills.values() if skill.name not in taken and skill.name not in disabled]
        found += own
        taken.update(skill.name for skill in own)
    return tuple(found)


def _labels(skills: Sequence[Skill]) -> dict[str, Skill]:
    counts = Counter(skill.name for skill in skills)
    return {skill.name if counts[skill.name] == 1 else _qualified(skill): skill for skill in skills}


def _qualified(skill: Skill) -> str:
    """Return what no other skill is called."""
    return skill.path if "/" in skill.path else f"./{skill.path}"


def _enabled(
    labels: Mapping[str, Skill], audience: Audience, platform_disabled: Mapping[str, frozenset[str]]
) -> Mapping[str, Skill]:
    off = platform_disabled.get(audience.platform)
    return {label: skill for label, skill in labels.items() if skill.name not in off} if off else labels


def _visible(catalog: Catalog, audience: Audience, platform_disabled: Mapping[str, frozenset[str]]) -> dict[str, Skill]:
    labels = _enabled(catalog.labels, audience, platform_disabled)
    return {label: skill for label, skill in labels.items() if audience.fits(skill.about.conditions)}


def _by_path(skill: Skill, name: str) -> bool:
    return "/" in name and name in {skill.path, f"{skill.category}/{skill.name}"}


def _by_name(skill: Skill, name: str) -> bool:
    return skill.name == name


def _by_folder(skill: Skill, name: str) -> bool:
    return skill.path.rpartition("/")[2] == name


def _by_slug(skill: Skill, name: str) -> bool:
    return slug(skill.name) == slug(name)


def slug(name: str) -> str:
    """Return what names have in common that differ in case, spaces, dashes and composed characters only."""
    return "-".join(unicodedata.normalize("NFC", name).casefold().replace("_", " ").replace("-", " ").split())
