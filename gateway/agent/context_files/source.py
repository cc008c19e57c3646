"""
One context file as text.

In: a folder that is the top of all that is read, a path beneath it. Out: the text of a regular file, or nothing and one
line in the log that says why. Whatever lies there is a stranger's: nothing is followed out of the top, nothing waits
for a pipe, names behind which secrets lie are not read, and all files together have a budget of bytes.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice
from pathlib import Path

from gateway.agent.references.denied import check
from gateway.agent.references.text import decoded
from gateway.agent.threats import scan
from gateway.agent.tools.beneath import FOLDER, beneath
from gateway.agent.tools.files import naming, regular
from gateway.errors import ToolError
from gateway.toolkit.limits import brief
from gateway.types import clean

MOST_BYTES = 2_000_000
"""Of all files together; more characters than ever fit."""
MOST_NAMES = 100_000
"""Names of one folder that are looked at."""
LONGEST_NAME = 200
TRIES = 3
"""An editor puts a new file in the place of one that is just being opened."""
NAMELESS = "a file whose name is not shown"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Source:
    """
    A file as it was read; `name` is its path from the workspace.

    `inside`: it lies in the workspace under that name. `more`: the file goes on after the text.
    """

    name: str
    text: str
    inside: bool = True
    more: bool = False


class Reader:
    """Reads what lies beneath `top`, which is the workspace or one of the folders that it lies in; both are real."""

    def __init__(self, top: Path, workspace: Path, most: int = MOST_BYTES) -> None:
        self._top, self._workspace, self._left = top, workspace, most

    def read(self, path: str) -> Source | None:
        """Read a file by its path from the top; None where there is none that says anything."""
        try:
            raw, more = self._bytes(path)
        except ToolError as error:
            _tell(error)
            return None
        if (read := decoded(raw, cut=more)) is None:
            log.warning("context files: %s: it is binary, no text", brief(path))
            return None
        text, remark = read
        if remark:
            log.info("context files: %s: %s", brief(path), remark)
        name = os.path.relpath(self._top / path, self._workspace)
        text = clean(text).replace("\r\n", "\n").replace("\r", "\n")
        inside = not name.startswith("../") and is_shown(name)
        return Source(name if is_shown(name) else NAMELESS, text, inside, more) if text.strip() else None

    def names(self, folder: str, ending: str, most: int) -> list[str]:
        """Return the first names with that ending in a folder, in order; [] where there is no such folder."""
        try:
            with naming(folder), beneath(self._top, folder) as (above, last):
                descriptor = os.open(last, FOLDER | os.O_NOFOLLOW, dir_fd=above)
        except ToolError as error:
            _tell(error)
            return []
        try:
            with os.scandir(descriptor) as entries:
                seen = (entry.name for entry in islice(entries, MOST_NAMES))
                found = nsmallest(most + 1, (name for name in seen if name.endswith(ending)))
        finally:
            os.close(descriptor)
        if len(found) > most:
            log.warning("context files: %s: only the first %d files are read", brief(folder), most)
        return found[:most]

    def _bytes(self, path: str) -> tuple[bytes, bool]:
        """Return what a file holds, at most what is left of the budget, and whether there is more."""
        for rest in reversed(range(TRIES)):
            try:
                with naming(path), beneath(self._top, path) as (folder, last), regular(folder, last) as file:
                    check(self._top / path, file.fileno())
                    raw = file.read(self._left + 1)
                break
            except ToolError as error:
                if not rest or isinstance(error.__cause__, OSError):
                    raise
        more = len(raw) > self._left
        if more:
            log.warning("context files: %s: more than is read of all files together", brief(path))
        raw = raw[: self._left]
        self._left -= len(raw)
        return raw, more


def _tell(error: ToolError) -> None:
    """Say why something was not read, unless it is not there."""
    if not isinstance(error.__cause__, FileNotFoundError):
        log.warning("context files: %s", error)


def is_shown(name: str) -> bool:
    """Say whether a name may stand in the prompt: it is printed there, and a stranger may have chosen it."""
    return len(name) <= LONGEST_NAME and name.isprintable() and not scan(name.replace("_", " "), "strict")
