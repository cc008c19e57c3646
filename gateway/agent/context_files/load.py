"""
From files to what the prompt says of them.

In: the files of a workspace or SOUL.md, the room there is, the hashes of what the owner lets pass. Out: a text for
each, scanned, cut to fit, the same bytes for the same files. What was blocked or cut is in the log and in the result.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from gateway.agent.context_files.cut import LEAST, LEAST_SHARE, Cut, cut, shares
from gateway.agent.context_files.find import find
from gateway.agent.context_files.matter import body
from gateway.agent.context_files.source import Reader, Source
from gateway.agent.threats.blocked import Finding, Screened, blocked, whole

SOUL = "SOUL.md"
TRIES = 3

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Section:
    """One file. `size` is the number of characters it says, `left_out` how many of them are not in the text."""

    name: str
    text: str = ""
    size: int = 0
    left_out: int = 0
    findings: tuple[Finding, ...] = ()

    @property
    def blocked(self) -> tuple[Finding, ...]:
        """What is kept from the model."""
        return tuple(finding for finding in self.findings if not finding.allowed)


@dataclass(frozen=True, slots=True)
class Loaded:
    """The context files of a workspace, in the order in which they are said: what is nearer comes later."""

    sections: tuple[Section, ...] = ()

    @property
    def cut(self) -> tuple[str, ...]:
        """The names of those that are not there as a whole."""
        return tuple(section.name for section in self.sections if section.left_out)

    @property
    def blocked(self) -> tuple[str, ...]:
        """The names of those of which something is kept from the model."""
        return tuple(section.name for section in self.sections if section.blocked)


def load(workspace: Path, top: Path | None, limit: int, allowed: Set[str], *, read_file: bool = True) -> Loaded:
    """
    Return the context files of a workspace in at most `limit` characters; for a thread to do.

    `top` is how far up they are looked for (`find.top_of`), `read_file` whether the model has that tool.
    """
    loaded = shown(find(workspace, top), limit, allowed, read_file=read_file)
    report(loaded.sections)
    return loaded


def soul(file: Path, allowed: Set[str], limit: int = LEAST) -> Section:
    """Return what SOUL.md says; its text is "" where the file says nothing, is not there or cannot be read."""
    section = read_soul(file, allowed, limit)
    report([section])
    return section


def read_soul(file: Path, allowed: Set[str], limit: int = LEAST) -> Section:
    """Do the same without a word in the log of what was blocked."""
    try:
        real = file.resolve(strict=True)  # the home is its owner's, who may keep the file elsewhere
    except (OSError, RuntimeError):
        return Section(SOUL)
    source = Reader(real.parent, real.parent).read(real.name)
    text = source.text.strip() if source else ""
    if not source or not text:
        return Section(SOUL)
    skipped = source.text[: source.text.index(text[0])].count("\n")
    return _section(replace(source, name=SOUL, inside=False, text=text), text, skipped, limit, allowed)


def shown(sources: Sequence[Source], limit: int, allowed: Set[str], *, read_file: bool = True) -> Loaded:
    """Return what the prompt says of files, in at most `limit` characters."""
    fitting = sources[-max(1, limit // LEAST_SHARE) :]
    if len(fitting) < len(sources):
        log.warning("context files: there is room for %d of %d files only", len(fitting), len(sources))
    bodies = [body(source.text) for source in fitting]
    rooms = shares([len(text) for text, _ in bodies], limit)
    spare, sections = limit - sum(rooms), list[Section]()
    for source, (text, skipped), room in zip(fitting, bodies, rooms, strict=True):
        reached = source if read_file else replace(source, inside=False)
        sections.append(_section(reached, text, skipped, room + spare, allowed))
        spare -= max(0, len(sections[-1].text) - room)
    return Loaded(tuple(sections))


def report(sections: Sequence[Section]) -> None:
    """Write into the log what was blocked and what was cut."""
    for section in sections:
        for finding in section.blocked:
            where = f"line {finding.line}, {finding.digest}" if finding.digest else f"line {finding.line}, taken out"
            log.warning("BLOCKED %s %s %s", section.name, ",".join(finding.ids), where)
        if section.left_out:
            log.warning("%s: %d of %d characters left out", section.name, section.left_out, section.size)


def _section(source: Source, text: str, skipped: int, room: int, allowed: Set[str]) -> Section:
    """Cut, scan, and cut more where what is said of the parts that were blocked is longer than they were."""
    path, fits = source.name if source.inside else "", room
    for _ in range(TRIES):
        short = cut(text, fits, name=source.name, first=skipped + 1, path=path, more=source.more)
        screened = blocked(short.text, "context", allowed, source.name)
        if len(screened.text) <= room:
            break
        fits = max(0, fits - (len(screened.text) - room))
    else:
        short, screened = Cut(text), whole(text, "context", allowed, source.name)
    found = _found(screened, short, skipped)
    return Section(source.name, screened.text, len(text), short.left_out, found)


def _found(screened: Screened, short: Cut, skipped: int) -> tuple[Finding, ...]:
    """Return the findings with the lines of the file itself."""
    return tuple(replace(finding, line=short.line(finding.line) + skipped) for finding in screened.findings)
