"""Notes as files: MEMORY.md and USER.md in a folder, as the reference keeps them."""

from __future__ import annotations

from pathlib import Path

from gateway.agent.memory.backing.contract import Backing, Done, Edit, Stored, T
from gateway.agent.memory.backing.form import decode
from gateway.agent.memory.backing.queues import Desk
from gateway.agent.memory.notes import Target


class FileBacking(Backing):
    """
    Two files and what lies beside them; the folder is made by the first change.

    ``.lock`` is held while a text is changed, ``.bak.<unix seconds>`` is a copy that an edit asked for.
    """

    def __init__(self, folder: Path, desk: Desk) -> None:
        self.folder = folder
        self._queues = {target: desk.queue(folder / target.file) for target in Target}

    async def read(self, target: Target) -> Stored:
        return decode(await self._queues[target].read())[0]

    async def change(self, target: Target, edit: Edit[T]) -> Done[T]:
        return await self._queues[target].change(edit)

    async def erase(self) -> int:
        return sum([await queue.erase() for queue in self._queues.values()])
