"""YAML text in, a `Branch` out that knows the line and column of every key and value.

YAML 1.2, so that ``off`` and ``12:30`` are text. Keys are kept as spelled (``-100123`` is a key like any other). What
the parser says is said again in our words, since its own quote the line, and the line may hold a secret.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from pathlib import Path as FilePath

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.nodes import Node as YamlNode
from ruamel.yaml.reader import ReaderError

from gateway.config.node import Branch, ConfigErrors, Entry, Items, Leaf, Node, Origin, Scalar, Source, said
from gateway.errors import ConfigError

LONGEST = 4 * 1024 * 1024
"""Bytes of a configuration file: more is a mistake, or an attack."""
DEEPEST = 100
MOST_NODES = 50_000
"""Aliases repeat what they name, and aliases of aliases multiply."""

TAG = "tag:yaml.org,2002:"
WORDS = {
    "mapping values are not allowed": "a ':' where none can stand",
    "could not find expected ':'": "a key without its ':'",
    "unexpected end of stream": "a quote that does not end",
    "undefined alias": "a value that begins with '*' needs quotes",
    "that cannot start any token": "a character that cannot begin a value; put the value in quotes, indent by spaces",
    "expected ',' or": "a bracket that does not end",
    "expected the node content": "a bracket that does not end",
    "unknown escape character": "an unknown escape in double quotes; write \\\\ for one \\",
    "expected <block end>": "indented differently from the lines before it",
    "found another document": "a second document ('---')",
    "maximum depth": "nested too deeply",
    "directive": "a line that begins with '%'",
}


def origin_of(file: FilePath) -> Origin:
    """Return what every place in a file begins with."""
    return Origin(Source.FILE, file.name)


def read(file: FilePath) -> Branch:
    """Read a file; one that is absent is empty. Raise `ConfigErrors` or `ConfigError`."""
    name = file.name
    try:
        with file.open("rb") as stream:
            content = stream.read(LONGEST + 1)
    except (FileNotFoundError, NotADirectoryError):  # the latter where the home is none
        return Branch(Origin())
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", file=name) from error
    if len(content) > LONGEST:
        raise ConfigError(f"is larger than {LONGEST // 1024 // 1024} MB", file=name)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        column = error.start - before.rfind(b"\n")
        raise ConfigError("not UTF-8 text", file=name, line=before.count(b"\n") + 1, column=column) from None
    return parse(text, origin_of(file))


def parse(text: str, origin: Origin) -> Branch:
    """Read a document, which is a mapping or empty."""
    node = _Reader(origin).read(text)
    if isinstance(node, Branch):
        return node
    if isinstance(node, Leaf) and node.value is None:
        return Branch(origin)
    raise node.origin.error("expects keys with values, not a list or a single value")


def parse_value(text: str, origin: Origin) -> Node:
    """Read the text of a variable as a list or mapping; all of it comes from `origin`."""
    return _Reader(origin, places=False).read(text)


@dataclass(slots=True)
class _Reader:
    origin: Origin
    places: bool = True

    def read(self, text: str) -> Node:
        problems: list[ConfigError] = []
        root = self._compose(text)
        if root is None:
            return Leaf("", None, self.origin)
        try:
            node = _Builder(self, problems).build(root, ())
        except RecursionError:
            raise self.origin.error("nested too deeply") from None
        if problems:
            raise ConfigErrors(problems)
        return node

    def _compose(self, text: str) -> YamlNode | None:
        try:
            yaml = YAML(typ="safe", pure=True)
            yaml.max_depth = DEEPEST
            yaml.composer.warn_double_anchors = False  # it would quote both lines
            root: YamlNode | None = yaml.compose(text)
        except ReaderError as error:
            before = text[: error.position]
            place = self.at(before.count("\n"), len(before) - before.rfind("\n") - 1)
            raise place.error(f"the character U+{ord(text[error.position]):04X} cannot stand in YAML") from None
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = self.at(mark.line, mark.column) if mark else self.origin
            raise place.error(f"not YAML: {_in_our_words(error)}") from None
        except (YAMLError, ValueError):
            raise self.origin.error("not YAML") from None
        except RecursionError:
            raise self.origin.error("nested too deeply") from None
        return root

    def at(self, line: int, column: int) -> Origin:
        if not self.places:
            return self.origin
        return Origin(self.origin.source, self.origin.file, line + 1, column + 1)


def _in_our_words(error: MarkedYAMLError) -> str:
    problem = f"{error.problem or ''} {error.context or ''}"
    return next((words for part, words in WORDS.items() if part in problem), "a mistake in the notation")


@dataclass(slots=True)
class _Builder:
    reader: _Reader
    problems: list[ConfigError]
    built: int = 0
    above: tuple[int, ...] = ()

    def build(self, node: YamlNode, path: tuple[str, ...]) -> Node:
        origin = self.reader.at(node.start_mark.line, node.start_mark.column)
        self.built += 1
        if self.built > MOST_NODES:
            raise origin.error(f"more than {MOST_NODES} values")
        if id(node) in self.above:
            raise origin.error(f"{said(path)}: holds itself")
        if isinstance(node, ScalarNode):
            return self._leaf(node, origin, path)
        before, self.above = self.above, (*self.above, id(node))
        try:
            if isinstance(node, SequenceNode):
                return Items([self.build(item, (*path, str(n))) for n, item in enumerate(node.value)], origin)
            assert isinstance(node, MappingNode)
            return Branch(origin, self._entries(node, path))
        finally:
            self.above = before

    def _entries(self, node: MappingNode, path: tuple[str, ...]) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        merged: dict[str, Entry] = {}
        for key, value in node.value:
            place = self.reader.at(key.start_mark.line, key.start_mark.column)
            if not isinstance(key, ScalarNode):
                self.problems.append(place.error(f"{said(path)}: a key must be one word or text".removeprefix(": ")))
            elif str(key.ctag) == TAG + "merge":
                for entry in self._merged(value, path):
                    merged = {**entry, **merged}
            elif key.value in entries:
                first = entries[key.value].key
                self.problems.append(place.error(f"{said((*path, key.value))}: already set in line {first.line}"))
            else:
                entries[key.value] = Entry(place, self.build(value, (*path, key.value)))
        return {**merged, **entries}

    def _merged(self, value: YamlNode, path: tuple[str, ...]) -> Iterator[dict[str, Entry]]:
        """Yield the mappings named by ``<<``."""
        for node in value.value if isinstance(value, SequenceNode) else [value]:
            built = self.build(node, path)
            if isinstance(built, Branch):
                yield built.entries
            else:
                self.problems.append(built.origin.error(f"{said((*path, '<<'))}: expects a mapping"))

    def _leaf(self, node: ScalarNode, origin: Origin, path: tuple[str, ...]) -> Leaf:
        text: str = node.value
        kind = str(node.ctag).removeprefix(TAG)
        if kind not in {"null", "bool", "int", "float", "str", "timestamp", "value", "merge"}:
            self.problems.append(origin.error(f"{said(path)}: a value that begins with '!' needs quotes"))
        if any(0xD800 <= ord(character) < 0xE000 for character in text):
            self.problems.append(origin.error(f"{said(path)}: holds half of a character (a lone surrogate)"))
        return Leaf(text, _scalar(kind, text), origin)


def _scalar(kind: str, text: str) -> Scalar:
    """Give a plain scalar its value; a number that Python would not read stays text."""
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() in {"true", "yes", "on"}  # the latter where the file asks for YAML 1.1
    if kind in {"int", "float"}:
        return number(text)
    return text


def number(text: str) -> int | float | str:
    """Read a decimal, hexadecimal or octal number; anything else, the infinite too, stays the text it is."""
    if len(text) > 40 or not text.isascii():
        return text
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError):
        return int(text, 0)
    with suppress(ValueError):
        value = float(text)
        return value if isfinite(value) else text
    return text
