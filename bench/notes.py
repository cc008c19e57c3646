"""Notes that many write at once: by eight processes on one store, and by fifty sessions of one process."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from gateway.agent.memory.backing.contract import Change, Stored
from gateway.agent.memory.backing.files import FileBacking
from gateway.agent.memory.backing.queues import Desk
from gateway.agent.memory.notes import DELIMITER, Target, parse

Figures = dict[str, float | int | str]

WRITERS, ADDS = 8, 200


async def add(backing: FileBacking, entry: str) -> None:
    """Add an entry by the cheapest edit there is: the text grows to many times what notes are."""

    def edit(stored: Stored) -> Change[None]:
        return Change(f"{stored.text}{DELIMITER}{entry}" if stored.text else entry, None)

    await backing.change(Target.MEMORY, edit)


async def write(folder: Path, writer: int) -> list[tuple[float, float]]:
    """Be one of the writers: add one after the other, and return when each began and ended."""
    times = []
    async with Desk() as desk:
        backing = FileBacking(folder, desk)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)
        for number in range(ADDS):
            began = time.monotonic()
            await add(backing, f"{writer}.{number}")
            times.append((began, time.monotonic()))
    return times


async def notes_processes() -> Figures:
    """8 processes × 200 adds on one store, begun together; `replaces_per_s` is the most the disk allows one by one."""
    with tempfile.TemporaryDirectory(prefix="hermes-bench-") as name:
        folder = Path(name)
        disk = replace_ms(folder)
        writers = [await _writer(folder, number) for number in range(WRITERS)]
        for writer in writers:
            assert writer.stdout is not None
            await writer.stdout.readline()
        times = [time for told in await asyncio.gather(*map(_run, writers)) for time in told]
        disk = (disk + replace_ms(folder)) / 2
        all_there(parse((folder / Target.MEMORY.file).read_text()), WRITERS * ADDS)
    rate = len(times) / (max(ended for _, ended in times) - min(began for began, _ in times))
    taken = [ended - began for began, ended in times]
    p95 = statistics.quantiles(taken, n=20)[-1] * 1000
    worst = max(taken) * 1000
    goal = 3 * WRITERS * disk
    return {
        "adds_per_s": round(rate),
        "goal_adds_per_s": 1500,
        "replaces_per_s": round(1000 / disk),
        "p50_ms": round(statistics.median(taken) * 1000, 2),
        "p95_ms": round(p95, 2),
        "replace_ms": round(disk, 3),
        "goal_p95_ms": round(goal, 2),
        "worst_ms": round(worst, 1),
        "goal_worst_ms": 100,
        "ratio": round(max(1500 / rate, p95 / goal, worst / 100), 2),
    }


async def notes_one() -> Figures:
    """2,000 adds of one process, 50 at once, each durable before it returns."""
    count, slots = 2000, asyncio.Semaphore(50)
    with tempfile.TemporaryDirectory(prefix="hermes-bench-") as folder:
        async with Desk() as desk:
            backing = FileBacking(Path(folder), desk)

            async def one(number: int) -> None:
                async with slots:
                    await add(backing, f"{number}")

            began = time.perf_counter()
            async with asyncio.TaskGroup() as group:
                for number in range(count):
                    group.create_task(one(number))
            rate = count / (time.perf_counter() - began)
            all_there(parse((await backing.read(Target.MEMORY)).text), count)
    return {
        "adds_per_s": round(rate),
        "goal_adds_per_s": 2500,
        "ratio": round(2500 / rate, 2),
    }


def all_there(entries: list[str], count: int) -> None:
    """Raise where an add was lost or done twice."""
    if len(entries) != count or len(set(entries)) != count:
        raise RuntimeError(f"{len(set(entries))} of {count} entries are there, in {len(entries)} places")


def replace_ms(folder: Path) -> float:
    """Return the median of one atomic replace of 2.2 KB: file and folder made durable, nothing else."""
    taken, target = [], folder / "replaced"
    for _ in range(100):
        began = time.perf_counter()
        temporary = folder / "replacing"
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        os.write(file, b"x" * 2200)
        os.fsync(file)
        os.close(file)
        os.replace(temporary, target)
        place = os.open(folder, os.O_RDONLY)
        os.fsync(place)
        os.close(place)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1000


async def _writer(folder: Path, number: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bench.notes",
        str(folder),
        str(number),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )


async def _run(writer: asyncio.subprocess.Process) -> list[tuple[float, float]]:
    told, _ = await writer.communicate(b"\n")
    return [(began, ended) for began, ended in json.loads(told)]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(write(Path(sys.argv[1]), int(sys.argv[2])))) + "\n")
