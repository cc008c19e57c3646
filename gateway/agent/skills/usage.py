"""
``.usage.json``: how often each skill was used, who made it, and whether it is pinned.

The layout is the reference's: a mapping of names to records. What we do not know in a record stays as it is. All
processes of the home write it, one at a time. Blocking.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeAlias

import orjson
from filelock import FileLock, Timeout

from gateway.agent.skills.stored import put
from gateway.agent.skills.walk import Stamp, read
from gateway.errors import ToolError

log = logging.getLogger(__name__)

NAME = ".usage.json"
LOCK = ".usage.json.lock"
LOCK_SECONDS = 10.0
MOST_BYTES = 16 * 1024 * 1024
DAMAGED = ".usage.json.damaged"

Kind = Literal["view", "use", "patch"]
Maker = Literal["agent", "person", "bundled"]
Raw: TypeAlias = dict[str, object]
_TIMES = {"view": "last_viewed_at", "use": "last_used_at", "patch": "last_patched_at"}
_MAKERS: dict[object, Maker] = {"agent": "agent", "bundled": "bundled"}


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of one skill; times are ISO 8601, "" where there is none."""

    views: int = 0
    uses: int = 0
    patches: int = 0
    pinned: bool = False
    created_by: Maker = "person"
    created: str = ""
    last: str = ""
    """When it was last viewed, used or patched."""
    archived: str = ""
    archived_from: str = ""
    """The path it had before it was archived."""
    archived_as: str = ""
    """Its name in the archive."""

    @property
    def rank(self) -> int:
        """How much it is used, told so roughly that it seldom changes: pinned ones before all others."""
        return 1000 if self.pinned else (self.views + self.uses).bit_length()


UNKNOWN = Record()


class Usage:
    """The records of one folder of skills."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def stamp(self) -> Stamp:
        """Return what changes with the file."""
        try:
            state = os.stat(self._folder / NAME)
        except OSError:
            return 0, 0
        return state.st_mtime_ns, state.st_size

    def records(self) -> Mapping[str, Record]:
        """Return what is known, by the names of the skills; nothing where the file cannot be read."""
        try:
            known = _parse(self._read())
        except (OSError, ToolError):
            return {}
        return {name: _record(raw) for name, raw in (known or {}).items()}

    def record(self, name: str) -> Record:
        return self.records().get(name, UNKNOWN)

    def bump(self, name: str, kind: Kind) -> None:
        """Count a use."""

        def more(raw: Raw) -> None:
            raw[f"{kind}_count"] = _count(raw.get(f"{kind}_count")) + 1
            raw[_TIMES[kind]] = _now()

        self._note(name, more)

    def pin(self, name: str) -> None:
        """Keep a skill from being archived."""
        self._change(name, lambda raw: raw.update(pinned=True))

    def unpin(self, name: str) -> None:
        self._change(name, lambda raw: raw.update(pinned=False))

    def made(self, name: str, by: Maker) -> None:
        """Note who made a new skill; nothing of an earlier one of this name stays."""

        def anew(raw: Raw) -> None:
            raw.clear()
            raw.update(created_by=by, created_at=_now(), state="active")

        self._note(name, anew)

    def archived(self, name: str, path: str, shelved: str) -> None:
        """Note where a skill was and what the archive calls it."""
        what = {"state": "archived", "archived_at": _now(), "archived_from": path, "archived_as": shelved}
        self._note(name, lambda raw: raw.update(what))

    def restored(self, name: str) -> None:
        """Note that a skill is back."""
        self._note(name, lambda raw: raw.update(state="active", archived_at=None, archived_as=""))

    def _note(self, name: str, edit: Callable[[Raw], None]) -> None:
        """Write down what has happened already, and is so whether that can be written or not."""
        try:
            self._change(name, edit)
        except (OSError, ToolError) as error:
            log.info("what became of the skill %s was not noted: %s", name, error)

    def _change(self, name: str, edit: Callable[[Raw], None]) -> None:
        try:
            with FileLock(self._folder / LOCK, timeout=LOCK_SECONDS, mode=0o600):
                raw = self._read()
                records = _parse(raw)
                if records is None:
                    put(self._folder, DAMAGED, raw)
                    records = {}
                edit(records.setdefault(name, {}))
                put(self._folder, NAME, _packed(records))
        except Timeout as error:
            raise ToolError(f"{NAME} is locked by another process") from error

    def _read(self) -> bytes:
        """Return what stands there; raise what `read` raises where it is there and cannot be had as a whole."""
        try:
            raw = read(self._folder, NAME, MOST_BYTES + 1)
        except FileNotFoundError:
            return b""
        if len(raw) > MOST_BYTES:
            raise ToolError(f"{NAME} is larger than {MOST_BYTES:,} bytes")
        return raw


def _parse(raw: bytes) -> dict[str, Raw] | None:
    """Return the records; None where the file is damaged."""
    if not raw:
        return {}
    try:
        values = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(values, dict):
        return None
    return {name: value for name, value in values.items() if isinstance(value, dict)}


def _packed(records: dict[str, Raw]) -> bytes:
    try:
        return orjson.dumps(records, option=orjson.OPT_INDENT_2)
    except orjson.JSONEncodeError as error:
        raise ToolError(f"{NAME} holds what cannot be written again: {error}") from error


def _record(raw: Raw) -> Record:
    return Record(
        views=_count(raw.get("view_count")),
        uses=_count(raw.get("use_count")),
        patches=_count(raw.get("patch_count")),
        pinned=raw.get("pinned") is True,
        created_by=_MAKERS.get(_text(raw.get("created_by")), "person"),
        created=_text(raw.get("created_at")),
        last=max(_text(raw.get(key)) for key in _TIMES.values()),
        archived=_text(raw.get("archived_at")),
        archived_from=_text(raw.get("archived_from")),
        archived_as=_text(raw.get("archived_as")),
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else 0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
