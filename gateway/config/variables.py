"""The variables of the environment and of ``.env``, and ``${NAME}`` in the file.

In: the environment, which wins, and the text of ``.env``. Out: the value and the origin of a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path

from dotenv.parser import parse_stream

from gateway.config.document import LONGEST
from gateway.config.node import Branch, ConfigErrors, Entry, Items, Leaf, Node, Origin, Source
from gateway.errors import ConfigError

REFERENCE = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    value: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class Variables:
    """`layers` are the variables of ``.env``, then those of the environment."""

    layers: tuple[Mapping[str, Variable], Mapping[str, Variable]]

    def get(self, name: str) -> Variable | None:
        """Find a variable; the environment wins over ``.env``."""
        dotenv, environment = self.layers
        return environment.get(name) or dotenv.get(name)

    def __iter__(self) -> Iterator[Variable]:
        """Yield every variable, an overridden one too."""
        for layer in self.layers:
            yield from layer.values()


def gather(environ: Mapping[str, str], env_file: Path) -> Variables:
    """Read ``.env``; raise `ConfigErrors` where a line is not NAME=value."""
    environment = {
        name: Variable(name, value, Origin(Source.ENVIRONMENT, name=name)) for name, value in environ.items()
    }
    return Variables((_read(env_file), environment))


def _read(file: Path) -> dict[str, Variable]:
    try:
        with file.open("rb") as stream:
            content = stream.read(LONGEST + 1)
        if len(content) > LONGEST:
            raise ConfigError("is larger than any file of settings", file=file.name)
        text = content.decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ConfigError("not UTF-8 text", file=file.name, line=line, column=1) from None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", file=file.name) from error
    return _parse(text, file.name)


def _parse(text: str, file: str) -> dict[str, Variable]:
    variables: dict[str, Variable] = {}
    problems: list[ConfigError] = []
    for binding in parse_stream(StringIO(text)):
        # A binding begins with the blank lines before it.
        original = binding.original.string
        line = binding.original.line + original[: len(original) - len(original.lstrip())].count("\n")
        if binding.error:
            problems.append(ConfigError("not NAME=value", file=file, line=line, column=1))
        elif binding.key is not None and binding.value is not None:
            origin = Origin(Source.DOTENV, file, line, 1, binding.key)
            variables[binding.key] = Variable(binding.key, binding.value, origin)
    if problems:
        raise ConfigErrors(problems)
    return variables


def expand(tree: Branch, variables: Variables) -> Branch:
    """Put the variables in for ``${NAME}`` (unset is empty) and ``${NAME:-default}``; ``$${`` is a plain ``${``."""
    entries = {key: Entry(entry.key, _expanded(entry.node, variables)) for key, entry in tree.entries.items()}
    return Branch(tree.origin, entries)


def _expanded(node: Node, variables: Variables) -> Node:
    if isinstance(node, Branch):
        return expand(node, variables)
    if isinstance(node, Items):
        return Items([_expanded(item, variables) for item in node.nodes], node.origin)
    return _expand(node, variables)


def _expand(leaf: Leaf, variables: Variables) -> Leaf:
    if not REFERENCE.search(leaf.text):
        return leaf
    unset: list[str] = []

    def value(found: re.Match[str]) -> str:
        name, default = found[1], found[2]
        if name is None:
            return "${"
        variable = variables.get(name)
        if variable is not None and (variable.value or default is None):
            return variable.value
        if default is None:
            unset.append(name)
        return default or ""

    text = REFERENCE.sub(value, leaf.text)
    return replace(leaf, text=text, value=text, typed=False, unset=tuple(unset))
