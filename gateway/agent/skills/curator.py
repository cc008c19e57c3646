"""
Which skills of the agent's own nobody uses any more, and putting them away. Blocking.

Only what the agent has made itself is looked at, and never what is pinned. Nothing is deleted: the archive has it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from gateway.agent.skills.library import Library
from gateway.agent.skills.skill import Source
from gateway.agent.skills.usage import UNKNOWN, Record
from gateway.agent.skills.workshop import Workshop
from gateway.errors import ToolError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Archived:
    """A skill that was put away, and what the archive calls it."""

    name: str
    shelved: str


def is_stale(record: Record, days: float, now: datetime) -> bool:
    """Say whether a skill is the agent's own and was not used for so many days; 0 days are never over."""
    if record.created_by != "agent" or record.pinned or not days:
        return False
    if record.archived:  # and there all the same: somebody else has put it into the place of the agent's
        return False
    used = _time(max(record.last, record.created))
    return used is not None and now - used > timedelta(days=days)


def curate(library: Library, days: float, now: datetime) -> list[Archived]:
    """Put away what was not used for so many days; what cannot be is a line in the log."""
    workshop, gone = Workshop(library), list[Archived]()
    catalog = library.catalog()
    for skill in catalog.skills:
        if skill.source is not Source.LOCAL or not is_stale(catalog.records.get(skill.name, UNKNOWN), days, now):
            continue
        if skill.name not in catalog.labels:  # several share the record, and it does not say whose they are
            continue
        try:
            shelved = workshop.archive(skill, unless=lambda record: not is_stale(record, days, now))
        except ToolError as error:
            log.warning("the skill %s could not be put away: %s", skill.name, error)
            continue
        if shelved:
            log.info("the skill %s was not used for %g days and is in the archive as %s", skill.name, days, shelved)
            gone.append(Archived(skill.name, shelved))
    return gone


def _time(text: str) -> datetime | None:
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    return read if read.tzinfo else read.replace(tzinfo=UTC)
