"""
Which context files a workspace has. The names and their order are the reference's: the first kind that is there wins.

In: the workspace, and how far up files are looked for. Out: the files, as they are to be read. `.hermes.md` is the
nearest one up to the root of the repository; AGENTS.md are all from that root down to the workspace, in a folder its
override in place of it; the rest is looked for in the workspace only.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from gateway.agent.context_files.matter import body
from gateway.agent.context_files.source import Reader, Source

HERMES = (".hermes.md", "HERMES.md", "hermes.md")
AGENTS = ("AGENTS.override.md", "agents.override.md", "AGENTS.md", "agents.md")
CLAUDE = ("CLAUDE.md", "claude.md")
CURSOR = ".cursorrules"
RULES = ".cursor/rules"
NAMES = frozenset((*HERMES, *AGENTS, *CLAUDE, CURSOR))
MOST_RULES = 50
WRITABLE_BY_ALL = 0o002


def find(workspace: Path, top: Path | None = None) -> tuple[Source, ...]:
    """
    Return the context files of a workspace; for a thread to do.

    `top` is the highest folder that may be looked into, the workspace where it is None; see `top_of`.
    """
    try:
        workspace = workspace.resolve(strict=True)
        root = _root(workspace, (top or workspace).resolve(strict=True))
    except (OSError, RuntimeError):
        return ()
    way = workspace.relative_to(root).parts
    return in_folders(Reader(root, workspace), ["/".join(way[:depth]) for depth in range(len(way) + 1)])


def in_folders(reader: Reader, folders: Sequence[str]) -> tuple[Source, ...]:
    """Return the files of the first kind there is in folders on the way down to the last, which is the workspace."""
    here = folders[-1:]
    return (
        _first(_firsts(reader, reversed(folders), HERMES))
        or tuple(reversed(list(_firsts(reader, reversed(folders), AGENTS))))
        or _first(_firsts(reader, here, CLAUDE))
        or tuple(_cursor(reader, here[0]))
    )


def top_of(workspace: Path, home: Path, *, fixed: bool) -> Path:
    """
    Return how far up the files of a workspace may lie.

    Folders that we make for conversations lie in the home, and what is above them is none of their business. One that
    was named in the settings (`fixed`) is a part of its repository, as long as that holds no home: the gateway's or
    that of its user, where other people's repositories of settings begin.
    """
    top = workspace.resolve()
    if not fixed:
        return top
    homes = [home.resolve(), Path.home().resolve()]
    for folder in top.parents:
        if any(one.is_relative_to(folder) for one in homes):
            break
        top = folder
    return top


def _root(workspace: Path, top: Path) -> Path:
    """Return the root of the repository that the workspace is in, or the workspace itself."""
    on_the_way = list[Path]()
    for folder in (workspace, *workspace.parents):
        if not folder.is_relative_to(top):
            break
        on_the_way.append(folder)
        if os.path.lexists(folder / ".git"):
            return folder if _are_ours(on_the_way) else workspace
    return workspace


def _are_ours(folders: Sequence[Path]) -> bool:
    """Say whether folders above a workspace belong to who made it or runs us: anybody may put files into others."""
    owners = {os.getuid(), folders[0].stat().st_uid}
    found = [folder.stat() for folder in folders[1:]]
    return all(one.st_uid in owners and not one.st_mode & WRITABLE_BY_ALL for one in found)


def _firsts(reader: Reader, folders: Iterable[str], names: Sequence[str]) -> Iterator[Source]:
    """Yield of each folder the first of the names that says something."""
    for folder in folders:
        found = (_said(reader.read(_join(folder, name))) for name in names)
        if first := next((source for source in found if source), None):
            yield first


def _first(sources: Iterator[Source]) -> tuple[Source, ...]:
    return tuple(islice(sources, 1))


def _cursor(reader: Reader, folder: str) -> Iterator[Source]:
    rules = _join(folder, RULES)
    paths = [_join(folder, CURSOR), *(_join(rules, name) for name in reader.names(rules, ".mdc", MOST_RULES))]
    yield from (source for path in paths if (source := _said(reader.read(path))))


def _said(source: Source | None) -> Source | None:
    return source if source and body(source.text)[0] else None


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
