"""Notes as rows, where many machines share them."""

from __future__ import annotations

import time

from sqlalchemy import Connection, bindparam, delete, select, update

from gateway.agent.memory.backing.contract import Backing, Change, Done, Edit, Stored, T
from gateway.agent.memory.backing.files import FileBacking
from gateway.agent.memory.backing.form import settled
from gateway.agent.memory.backing.sentences import MOST, too_large
from gateway.agent.memory.notes import Target
from gateway.storage.clock import now
from gateway.storage.database import Database
from gateway.storage.tables import notes
from gateway.storage.upsert import Upsert

_TEXT = select(notes.c.text).where(notes.c.owner == bindparam("o"), notes.c.target == bindparam("t"))
_LOCKED = _TEXT.with_for_update()
_BEGIN = Upsert(
    lambda insert: (
        insert(notes)
        .values(owner=bindparam("o"), target=bindparam("t"), text=bindparam("x"), updated=now())
        .on_conflict_do_nothing()
    )
)
_WRITE = (
    update(notes)
    .where(notes.c.owner == bindparam("o"), notes.c.target == bindparam("t"))
    .values(text=bindparam("x"), updated=now())
)


def owners(connection: Connection) -> list[str]:
    """Return whoever has a row."""
    return list(connection.execute(select(notes.c.owner).distinct().order_by(notes.c.owner)).scalars())


class TableBacking(Backing):
    """
    A row for each text, locked while it is changed; a copy is a row ``memory.bak.<unix seconds>``.

    Where there is no row yet, the text of `first` counts, and the first change takes it over.
    """

    def __init__(self, database: Database, owner: str, first: FileBacking | None = None) -> None:
        self._database, self._owner, self._first = database, owner, first

    async def read(self, target: Target) -> Stored:
        text = await self._database.read(lambda connection: self._text(connection, target))
        return Stored(text) if text is not None else await self._before(target)

    async def change(self, target: Target, edit: Edit[T]) -> Done[T]:
        stored = await self.read(target) if self._first else Stored()
        if self._first and stored.damage:
            return await self._first.change(target, edit)  # which says what is wrong with the file
        return await self._database.write(lambda connection: self._change(connection, target, edit, stored.text))

    async def erase(self) -> int:
        """Also remove the files. Empty rows then stay, so that no machine takes over a file it still has."""
        files = {target: len((await self._before(target)).text) for target in Target}
        if self._first:
            await self._first.erase()
        rows = await self._database.write(self._erase)
        return sum(rows.get(target, files[target]) for target in Target)

    async def _before(self, target: Target) -> Stored:
        return await self._first.read(target) if self._first else Stored()

    # --- functions of a connection

    def _key(self, target: str) -> dict[str, str]:
        return {"o": self._owner, "t": target}

    def _text(self, connection: Connection, target: str) -> str | None:
        return connection.execute(_TEXT, self._key(target)).scalar()

    def _begin(self, connection: Connection, target: str, text: str) -> None:
        connection.execute(_BEGIN.of(connection), {**self._key(target), "x": text})

    def _change(self, connection: Connection, target: Target, edit: Edit[T], first: str) -> Done[T]:
        text = connection.execute(_LOCKED, self._key(target)).scalar()
        if text is None:
            self._begin(connection, target, first)
            text = connection.execute(_LOCKED, self._key(target)).scalar_one()
        change = edit(Stored(text))
        copy = self._keep(connection, target, text) if change.keep and text else ""
        self._write(connection, target, change, text)
        return Done(change.told, copy)

    def _write(self, connection: Connection, target: Target, change: Change[T], before: str) -> None:
        if change.text is None or (text := settled(change.text)) == before:
            return
        if len(text.encode()) > MOST:
            raise too_large(f"{target.file} of {self._owner}")
        connection.execute(_WRITE, {**self._key(target), "x": text})

    def _keep(self, connection: Connection, target: Target, text: str) -> str:
        """Copy a text, unless the newest copy is the same; return the copy's name."""
        start = f"{target}.bak."
        query = select(notes.c.target).where(notes.c.owner == self._owner, notes.c.target.startswith(start))
        seconds = {int(name.removeprefix(start)) for name in connection.execute(query).scalars()}
        if seconds and self._text(connection, newest := f"{start}{max(seconds)}") == text:
            return newest
        copy = f"{start}{max(int(time.time()), max(seconds, default=0) + 1)}"
        self._begin(connection, copy, text)
        return copy

    def _erase(self, connection: Connection) -> dict[str, int]:
        """Return how many characters each text had that was a row."""
        query = select(notes.c.target, notes.c.text).where(notes.c.owner == self._owner).with_for_update()
        had = {row.target: len(row.text) for row in connection.execute(query)}
        connection.execute(delete(notes).where(notes.c.owner == self._owner))
        if self._first:
            for target in Target:
                self._begin(connection, target, "")
        return had
