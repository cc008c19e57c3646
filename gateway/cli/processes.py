"""Whether a process of this machine lives: a number in, yes or no out. Numbers are given anew, hence the time."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
SLACK_SECONDS = 60.0
"""How much later than its first word a process may seem to have started, for clocks that disagree."""


def lives(pid: int, since: float) -> bool:
    """Say whether the process that was there at a time (seconds since 1970; 0: any time) is there still."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        pass  # it is somebody else's
    except (OSError, OverflowError):
        return False
    state, started = _seen(pid)
    return state != "Z" and (not since or started <= since + SLACK_SECONDS)


def _seen(pid: int) -> tuple[str, float]:
    """Return the state of a process and when it started, as Linux tells it (proc(5)); elsewhere nothing is known."""
    with suppress(OSError, ValueError, IndexError, StopIteration):
        fields = (PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        lines = (PROC / "stat").read_text("utf-8", "replace").splitlines()
        booted = next(int(line.split()[1]) for line in lines if line.startswith("btime "))
        return fields[0], booted + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return "", 0.0
