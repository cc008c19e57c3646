"""A process that adds notes, several at once, and says of each that it is kept, until it is killed."""

from __future__ import annotations

import asyncio
import sys
from itertools import count
from pathlib import Path

from gateway.agent.memory.backing.contract import Change, Stored
from gateway.agent.memory.backing.files import FileBacking
from gateway.agent.memory.backing.queues import Desk
from gateway.agent.memory.notes import Target, join, parse


async def write_on(folder: Path, name: str) -> None:
    async with Desk() as desk:
        backing = FileBacking(folder, desk)

        async def add(entry: str) -> None:
            def edit(stored: Stored) -> Change[None]:
                return Change(join([*parse(stored.text), entry]), None)

            await backing.change(Target.MEMORY, edit)
            sys.stdout.write(f"{entry}\n")
            sys.stdout.flush()

        for number in count():
            await asyncio.gather(*(add(f"{name} {number}.{part}") for part in range(1 + number % 4)))


if __name__ == "__main__":
    asyncio.run(write_on(Path(sys.argv[1]), sys.argv[2]))
