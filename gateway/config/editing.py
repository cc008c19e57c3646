"""One change to the text of a YAML file that leaves every other character as it is, comments above all.

In: a text, a path, a value. Out: the text with the key set or taken out. The result is read again and compared with
what it should be; where the notation is beyond us (anchors, mostly), `ConfigError` says so and nothing is changed.
"""

from __future__ import annotations

import copy
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import CollectionNode, MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.nodes import Node as YamlNode

from gateway.config.describe import written
from gateway.config.document import parse
from gateway.config.node import Origin, Path, plain, said
from gateway.errors import ConfigError

Pair = tuple[YamlNode, YamlNode]


def set_value(text: str, path: Path, value: Any) -> str:
    """Set a key, with all the sections it needs."""
    wanted = _data(text)
    if path[:1] == ("model",) and len(path) > 1 and isinstance(wanted.get("model"), str):
        text = set_value(text, ("model",), {"default": wanted["model"]})
        wanted = _data(text)
    below = wanted
    for part in path[:-1]:
        if not isinstance(below.get(part), dict):
            below[part] = {}
        below = below[part]
    below[path[-1]] = value
    return _checked(_set(text, path, value), wanted, path)


def take_out(text: str, path: Path) -> str:
    """Take a key out. Raise `KeyError` where it is not there."""
    wanted = _data(text)
    below: Any = wanted
    for part in path[:-1]:
        below = below[part] if isinstance(below, dict) else {}
    if not isinstance(below, dict):
        raise KeyError(said(path))
    del below[path[-1]]
    return _checked(_take_out(text, path), wanted, path)


def _data(text: str) -> dict[str, Any]:
    tree: Any = plain(parse(text, Origin()))
    return copy.deepcopy(tree)


def _checked(text: str, wanted: dict[str, Any], path: Path) -> str:
    try:
        made = _data(text)
    except ConfigError:
        made = {}
    if made != wanted:
        raise ConfigError(f"{said(path)}: cannot be changed in this file", hint="change it in an editor")
    return text


def _set(text: str, path: Path, value: Any) -> str:
    pairs = _along(text, path)
    if len(pairs) == len(path):
        return _replace(text, pairs[-1], written(value))
    rest = path[len(pairs) :]
    nested = _nested(rest[1:], value)
    if pairs and not isinstance(pairs[-1][1], MappingNode):
        return _replace(text, pairs[-1], written({rest[0]: nested}))
    section = pairs[-1][1] if pairs else _root(text)
    if section is None or not section.value:
        return _into_empty(text, pairs, {rest[0]: nested})
    if _in_brackets(section):
        at = section.value[0][0].start_mark.index
        return f"{text[:at]}{written(rest[0])}: {written(nested)}, {text[at:]}"
    return _append(text, section, rest[0], nested)


def _nested(path: Path, value: Any) -> Any:
    for part in reversed(path):
        value = {part: value}
    return value


def _in_brackets(node: YamlNode) -> bool:
    return isinstance(node, CollectionNode) and bool(node.flow_style)


def _into_empty(text: str, pairs: list[Pair], value: dict[str, Any]) -> str:
    if pairs:
        return _replace(text, pairs[-1], written(value))
    root = _root(text)
    if root is not None:  # {}
        return text[: root.start_mark.index] + written(value) + text[root.end_mark.index :]
    (key, one), gap = *value.items(), "" if not text or text.endswith("\n") else "\n"
    return f"{text}{gap}{_lines(key, one, 0)}"


def _append(text: str, section: YamlNode, key: str, value: Any) -> str:
    """Add a key behind the last one of a block."""
    column = section.value[0][0].start_mark.column
    at = _line_end(text, _end(text, section.value[-1]))
    gap = "" if at and text[at - 1] == "\n" else "\n"
    return text[:at] + gap + _lines(key, value, column) + text[at:]


def _lines(key: str, value: Any, column: int) -> str:
    if isinstance(value, dict) and len(value) == 1:
        ((below, one),) = value.items()
        return f"{' ' * column}{written(key)}:\n{_lines(below, one, column + 2)}"
    return f"{' ' * column}{written(key)}: {written(value)}\n"


def _replace(text: str, pair: Pair, new: str) -> str:
    """Put a value in place of another, behind its key."""
    key, value = pair
    written_there = isinstance(value, ScalarNode) and value.start_mark.index < value.end_mark.index
    if written_there or _in_brackets(value):
        start, end = value.start_mark.index, _end(text, pair)
    else:
        start = text.index(":", key.end_mark.index) + 1
        end = start if isinstance(value, ScalarNode) else _end(text, pair)
    space = "" if text[start - 1 : start] in {" ", "\t"} else " "
    return text[:start] + space + new + text[end:]


def _take_out(text: str, path: Path) -> str:
    pairs = _along(text, path)
    parent = pairs[-2][1] if len(pairs) > 1 else _root(text)
    if len(pairs) != len(path) or parent is None:
        raise KeyError(said(path))
    names = [key.value for key, _ in parent.value]
    at = names.index(path[-1])
    if len(names) == 1:
        if len(pairs) == 1:
            return _root_emptied(text, pairs[0])
        return _replace(text, pairs[-2], "{}")
    if not _in_brackets(parent):
        start = text.rfind("\n", 0, pairs[-1][0].start_mark.index) + 1
        return text[:start] + text[_line_end(text, _end(text, pairs[-1])) :]
    if at + 1 < len(names):
        return text[: pairs[-1][0].start_mark.index] + text[parent.value[at + 1][0].start_mark.index :]
    return text[: _end(text, parent.value[at - 1])] + text[_end(text, pairs[-1]) :]


def _root_emptied(text: str, pair: Pair) -> str:
    root = _root(text)
    if root is not None and _in_brackets(root):
        return text[: root.start_mark.index] + "{}" + text[root.end_mark.index :]
    return text[: pair[0].start_mark.index] + text[_line_end(text, _end(text, pair)) :]


def _root(text: str) -> MappingNode | None:
    root = YAML(typ="safe", pure=True).compose(text)
    return root if isinstance(root, MappingNode) else None


def _along(text: str, path: Path) -> list[Pair]:
    """Return the keys and values on the way to a path, as far as they exist."""
    pairs: list[Pair] = []
    node: YamlNode | None = _root(text)
    for part in path:
        if not isinstance(node, MappingNode):
            break
        pair = next((pair for pair in node.value if pair[0].value == part), None)
        if pair is None:
            break
        pairs.append(pair)
        node = pair[1]
    return pairs


def _end(text: str, pair: Pair) -> int:
    """Return where the last character of a value stands; a block ends before the remarks behind it."""
    key, value = pair
    if isinstance(value, ScalarNode) and value.start_mark.index == value.end_mark.index:
        return text.index(":", key.end_mark.index) + 1  # nothing is written there
    if isinstance(value, MappingNode) and not _in_brackets(value) and value.value:
        return _end(text, value.value[-1])
    if isinstance(value, SequenceNode) and not _in_brackets(value) and value.value:
        return _end(text, (key, value.value[-1]))
    end: int = value.end_mark.index
    return len(text[:end].rstrip()) if isinstance(value, ScalarNode) and value.style in {"|", ">"} else end


def _line_end(text: str, index: int) -> int:
    """Return where the next line begins."""
    found = text.find("\n", index)
    return len(text) if found < 0 else found + 1
