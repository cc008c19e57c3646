"""Small files of ours beneath a folder, written so that a crash leaves the old or the new. Blocking."""

from __future__ import annotations

from pathlib import Path

from gateway.agent.tools.beneath import beneath
from gateway.agent.tools.whole import replace_file


def put(root: Path, path: str, data: bytes) -> None:
    """Write a whole file; folders on the way are made, and the permissions of what was there stay."""
    with beneath(root, path, make_folders=True) as (folder, name):
        replace_file(folder, name, data)
