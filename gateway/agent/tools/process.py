"""One child process, from its start to its end.

In: a command line, a time limit. Out: what it wrote, head and tail, and how it ended. Whatever ends the waiting
(the end of the process, of its time, of the turn) leaves no process behind, as far as killing its group and closing
its sandbox reaches.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

KEPT = 50_000  # bytes, half from the beginning and half from the end; this and the next by the reference
MOST_LINES = 2_000
MOST = 16_000_000  # bytes, after which the process is killed
CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Ended:
    """`code` is the exit code, negative for a signal; `stopped` says why we ended it, "" where it ended by itself."""

    output: str
    code: int
    stopped: str = ""


async def run(command: Sequence[str], *, seconds: float) -> Ended:
    """Run a command with no input and an empty environment; raise `OSError` where it cannot be started."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env={}, start_new_session=True
    )
    kept, stopped = _Kept(), ""
    try:
        async with asyncio.timeout(seconds):
            stopped = await _read(process, kept)
            if not stopped:
                await process.wait()
    except TimeoutError:
        stopped = f"stopped after {seconds:g} s"
    finally:
        await _end(process)
    assert process.returncode is not None
    return Ended(kept.text(), process.returncode, stopped)


async def _read(process: Process, kept: _Kept) -> str:
    assert process.stdout is not None
    while data := await process.stdout.read(CHUNK):
        kept.add(data)
        if kept.total > MOST:
            return f"stopped after {MOST // 1_000_000} MB of output"
    return ""


async def _end(process: Process) -> None:
    """Kill what still runs and wait for it; asyncio sees the end only once the pipe is read empty."""
    assert process.stdout is not None
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    while await process.stdout.read(CHUNK):
        pass
    await process.wait()


class _Kept:
    """The beginning and the end of a stream of bytes."""

    def __init__(self) -> None:
        self.total = 0
        self._head, self._tail = bytearray(), bytearray()

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = KEPT // 2 - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        del self._tail[: -KEPT // 2]

    def text(self) -> str:
        kept = bytes(self._head + self._tail)
        if len(kept) == self.total and kept.count(b"\n") <= MOST_LINES:
            return kept.decode(errors="replace")
        head = b"\n".join(kept[: KEPT // 2].split(b"\n")[: MOST_LINES // 2])
        tail = b"\n".join(kept[-KEPT // 2 :].split(b"\n")[-MOST_LINES // 2 :])
        cut = self.total - len(head) - len(tail)
        return f"{head.decode(errors='replace')}\n[cut: {cut:,} bytes]\n{tail.decode(errors='replace')}"
