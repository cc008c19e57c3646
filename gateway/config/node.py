"""A configuration before it has types: a tree that remembers where each part of it was written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from gateway.errors import ConfigError

Path: TypeAlias = tuple[str, ...]
"""Where a setting stands: ``("platforms", "telegram", "token")``. Items of a list are numbered from 0."""

Scalar: TypeAlias = None | bool | int | float | str


class Source(StrEnum):
    """Where a value can come from, the strongest first."""

    FLAG = "flag"
    ENVIRONMENT = "environment"
    DOTENV = ".env"
    FILE = "file"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Origin:
    """The place of a value: a file with line and column, or the name of a variable or flag. Lines count from 1."""

    source: Source = Source.DEFAULT
    file: str = ""
    line: int = 0
    column: int = 0
    name: str = ""
    """The variable or flag."""
    secret_file: str = ""
    """The file that held the secret, where a ``…_file`` key named one."""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        said = " ".join(part for part in (self.source if not place else "", self.name, place) if part)
        return f"{said} ({self.secret_file})" if self.secret_file else said

    def error(self, text: str, *, hint: str = "") -> ConfigError:
        """Say what is wrong at this place."""
        said = f"{self.name}: {text}" if self.name else text
        return ConfigError(said, file=self.file, line=self.line, column=self.column, hint=hint)


@dataclass(frozen=True, slots=True)
class Leaf:
    """
    A scalar. `text` is its spelling and `value` what YAML makes of that.

    What came out of a variable is not `typed`: its text is read as the key wants it. `unset` names the variables it
    asked for and did not find.
    """

    text: str
    value: Scalar
    origin: Origin
    typed: bool = True
    unset: Path = ()


@dataclass(frozen=True, slots=True)
class Items:
    nodes: list[Node]
    origin: Origin


@dataclass(frozen=True, slots=True)
class Branch:
    origin: Origin
    entries: dict[str, Entry] = field(default_factory=dict)


Node: TypeAlias = Leaf | Items | Branch


@dataclass(frozen=True, slots=True)
class Entry:
    """A key of a mapping: where the key itself stands, and what it holds."""

    key: Origin
    node: Node


class ConfigErrors(ConfigError):
    """Everything that is wrong, in the order of the file."""

    def __init__(self, problems: list[ConfigError]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


def said(path: Path) -> str:
    """Write a path as one types it: ``compression.model_thresholds."glm-5.2"``."""
    return ".".join(f'"{part}"' if not part or set(part) & set('."') else part for part in path)


def split(text: str) -> Path:
    """Read what `said` wrote; raise `ValueError` for anything else."""
    part = r'"(?:[^"]*)"|[^."]+'
    if not re.fullmatch(rf"(?:{part})(?:\.(?:{part}))*", text):
        raise ValueError("write the key as section.key, a part that holds a dot in quotes")
    return tuple(found.strip('"') for found in re.findall(part, text))


def find(tree: Node, path: Path) -> Entry | None:
    """Return the entry at a path."""
    entry: Entry | None = None
    for part in path:
        if isinstance(tree, Branch):
            entry = tree.entries.get(part)
        elif isinstance(tree, Items) and part.isdecimal() and int(part) < len(tree.nodes):
            node = tree.nodes[int(part)]
            entry = Entry(node.origin, node)
        else:
            entry = None
        if entry is None:
            return None
        tree = entry.node
    return entry


def pop(tree: Branch, path: Path) -> Entry | None:
    """Take an entry out."""
    parent = find(tree, path[:-1]) if len(path) > 1 else Entry(tree.origin, tree)
    if parent is None or not isinstance(parent.node, Branch):
        return None
    return parent.node.entries.pop(path[-1], None)


def put(tree: Branch, path: Path, entry: Entry) -> None:
    """Set an entry, in place of whatever stood there or in its way."""
    for part in path[:-1]:
        below = tree.entries.get(part)
        if below is None or not isinstance(below.node, Branch):
            below = tree.entries[part] = Entry(entry.key, Branch(entry.key))
        assert isinstance(below.node, Branch)
        tree = below.node
    tree.entries[path[-1]] = entry


def leaves(node: Node, path: Path = ()) -> Iterator[tuple[Path, Leaf]]:
    """Yield every scalar with its path."""
    if isinstance(node, Leaf):
        yield path, node
    elif isinstance(node, Items):
        for number, item in enumerate(node.nodes):
            yield from leaves(item, (*path, str(number)))
    else:
        for key, entry in node.entries.items():
            yield from leaves(entry.node, (*path, key))


def plain(node: Node) -> object:
    """Return the tree as YAML means it, without places."""
    if isinstance(node, Leaf):
        return node.value
    if isinstance(node, Items):
        return [plain(item) for item in node.nodes]
    return {key: plain(entry.node) for key, entry in node.entries.items()}
