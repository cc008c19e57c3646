"""Changes of skills, carried out. In: a `Change`. Out: the folder as it is to be, and what came of it. Blocking."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from filelock import FileLock, Timeout

from gateway.agent.skills.change import Author, Change, Step, prepare
from gateway.agent.skills.library import Library
from gateway.agent.skills.skill import FILE, Skill
from gateway.agent.skills.stored import put
from gateway.agent.skills.usage import Record
from gateway.agent.tools.beneath import beneath
from gateway.agent.tools.files import WHY
from gateway.errors import ToolError

LOCK = ".manage.lock"
LOCK_SECONDS = 10.0
MOST_DIFF_LINES = 200


@dataclass(frozen=True, slots=True)
class Changed:
    """What came of a change: the step that was taken, one sentence, and the path of the skill, "" where it is gone."""

    step: Step
    message: str
    path: str


class Workshop:
    """Changes the local skills of a library, one at a time among all processes of the home."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def check(self, change: Change, author: Author) -> Step:
        """Return what a change would come to; raise `ToolError` for one that cannot be carried out."""
        return prepare(self._library, change, author)

    def carry_out(self, change: Change, author: Author) -> Changed:
        """Do it, on the files as they are now; raise `ToolError` where it cannot be done."""
        with self._alone():
            self._library.changed()
            step = prepare(self._library, change, author)
            try:
                return self._done(step, change)
            except OSError as error:
                raise ToolError(f"{step.path}: {WHY.get(error.errno or 0, error.strerror)}") from error
            finally:
                self._library.changed()

    def archive(self, skill: Skill, *, unless: Callable[[Record], bool] | None = None) -> str:
        """
        Put a skill away; return the name under which the archive has it.

        "" where `unless` holds by then, or where another process was faster.
        """
        with self._alone():
            gone = not (skill.root / skill.file).exists()
            if unless and (gone or unless(self._library.usage.record(skill.name))):
                return ""
            try:
                return self._library.shelf.archive(skill)
            finally:
                self._library.changed()

    def restore(self, name: str) -> str:
        """Bring back what the archive has under this name; return the path it has now."""
        with self._alone():
            try:
                return self._library.shelf.restore(name)
            finally:
                self._library.changed()

    def _done(self, step: Step, change: Change) -> Changed:
        usage = self._library.usage
        if step.kind == "archive" and step.skill is not None:
            shelved = self._library.shelf.archive(step.skill)
            into = f"; {change.absorbed_into} has its content" if change.absorbed_into else ""
            return Changed(
                step, f"{step.name} is in the archive as {shelved}, from where it can be restored{into}.", ""
            )
        if step.skill is None:
            put(self._library.folder, step.path, (step.after or "").encode())
            usage.made(step.name, "agent")
            path = step.path.removesuffix(f"/{FILE}")
            return Changed(step, f"{step.name} is there; every conversation that begins from now on has it.", path)
        if step.kind == "remove":
            self._remove(step.path)
        else:
            put(self._library.folder, step.path, (step.after or "").encode())
        usage.bump(step.name, "patch")
        return Changed(step, _told(step), step.skill.path)

    def _remove(self, path: str) -> None:
        with beneath(self._library.folder, path) as (folder, name):
            os.unlink(name, dir_fd=folder)
        above = path.rpartition("/")[0]
        with suppress(OSError, ToolError), beneath(self._library.folder, above) as (folder, name):
            os.rmdir(name, dir_fd=folder)  # where it is empty now

    @contextmanager
    def _alone(self) -> Iterator[None]:
        folder = self._library.folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with FileLock(folder / LOCK, timeout=LOCK_SECONDS, mode=0o600):
                yield
        except Timeout as error:
            raise ToolError("another process is changing the skills; try again") from error
        except OSError as error:
            raise ToolError(f"the folder of skills cannot be written: {error.strerror}") from error


def difference(step: Step) -> str:
    """Return what a step changes, as a unified diff of at most so many lines."""
    before, after = (step.before or "").splitlines(), (step.after or "").splitlines()
    lines = list(difflib.unified_diff(before, after, step.path, step.path, lineterm=""))
    more = [f"… and {len(lines) - MOST_DIFF_LINES} more lines"] if len(lines) > MOST_DIFF_LINES else []
    return "\n".join([*lines[:MOST_DIFF_LINES], *more])


def _told(step: Step) -> str:
    inside = step.path.removeprefix(f"{step.skill.path}/") if step.skill else step.path
    if step.kind == "remove":
        return f"{inside} of {step.name} is removed."
    if step.count:
        return f"{inside} of {step.name}: replaced {step.count} time{'s' if step.count > 1 else ''}."
    return f"{inside} of {step.name} is written."
