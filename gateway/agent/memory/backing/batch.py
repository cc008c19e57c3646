"""Edits that share one reading and one writing of a text: each sees the result of the one before, and fails alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from gateway.agent.memory.backing.contract import Change, Done, Edit, Stored
from gateway.agent.memory.backing.durable import TRIES, TextFile
from gateway.agent.memory.backing.form import decode, encode, settled
from gateway.agent.memory.backing.sentences import MOST, damaged, restless, told, too_large
from gateway.errors import StorageError
from gateway.storage.handover import Failed, tried

Outcome = Done[Any] | Failed


def carry_out(file: TextFile, edits: Sequence[Edit[Any]]) -> list[Outcome]:
    """Run edits under the lock and return what came of each; what was written is durable."""
    outcomes: list[Outcome] = []
    while len(outcomes) < len(edits):
        rest = edits[len(outcomes) :]
        done = tried(partial(_together, file, rest))
        outcomes += [done] * len(rest) if isinstance(done, Failed) else done
    return outcomes


def erase(file: TextFile) -> int:
    """Remove a text under the lock; return how many characters it had."""
    with told(file.path):
        return len(decode(file.remove())[0].text)


def _together(file: TextFile, edits: Sequence[Edit[Any]]) -> list[Outcome]:
    """Run the first of these edits, at least one, and write what they made of the text."""
    for _ in range(TRIES):
        sheet = _Sheet(file)
        outcomes = sheet.run_all(edits)
        saved = tried(sheet.save)
        if isinstance(saved, Failed):
            # What they saw never came to be, so each gets a writing of its own.
            each = edits[: len(outcomes)]
            return [saved] if len(each) == 1 else [outcome for edit in each for outcome in carry_out(file, [edit])]
        if saved:
            return outcomes
    raise restless(file.path)


class _Sheet:
    """The text of a file while edits are made to it."""

    def __init__(self, file: TextFile) -> None:
        self._file = file
        with told(file.path):
            self._now, self._form = decode(file.load() or b"")
        self._before = self._now.text

    def run_all(self, edits: Sequence[Edit[Any]]) -> list[Outcome]:
        """Make edits up to one that wants a copy of what is not written yet, and has to come again."""
        outcomes: list[Outcome] = []
        for edit in edits:
            outcome = tried(partial(self._run, edit))
            if outcome is None:
                break
            outcomes.append(outcome)
        return outcomes

    def save(self) -> bool:
        """Write the text if it is another one; false where somebody wrote it meanwhile."""
        if self._now.text == self._before:
            return True
        with told(self._file.path):
            return self._file.save(encode(self._now.text, self._form))

    def _run(self, edit: Edit[Any]) -> Done[Any] | None:
        change = edit(self._now)
        if change.keep and self._now.text != self._before:
            return None
        text = None if change.text is None else self._accepted(change.text)
        copy = self._kept(change) if change.keep else ""
        if text is not None:
            self._now = Stored(text)
        return Done(change.told, copy)

    def _accepted(self, text: str) -> str:
        if self._now.damage:
            raise damaged(str(self._file.path), self._now.damage)
        text = settled(text)
        if len(encode(text, self._form)) > MOST:
            raise too_large(str(self._file.path))
        return text

    def _kept(self, change: Change[Any]) -> str:
        try:
            with told(self._file.path):
                return self._file.keep()
        except StorageError as error:
            if change.text is not None:
                raise
            return f"none could be made ({error})"
