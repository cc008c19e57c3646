"""From a tree to plain data of the shape the types want: text of variables read, ``…_file`` keys opened.

Nothing is checked here beyond what a text can be read as; what does not fit stays as it is, and the types refuse it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any, get_origin

from pydantic import SecretStr

from gateway.config.document import number, parse_value
from gateway.config.node import Branch, Entry, Items, Leaf, Node, Origin, Path, plain, said
from gateway.config.shape import FILE_SUFFIX, Slot
from gateway.errors import ConfigError

TRUE = frozenset({"true", "yes", "on", "1"})
FALSE = frozenset({"false", "no", "off", "0"})
NOTHING = frozenset({"", "null", "none", "~"})
LONGEST_SECRET = 64 * 1024

Report = Callable[[ConfigError], None]


def structure(tree: Branch, place: Slot, report: Report, path: Path = ()) -> Branch:
    """
    Read the text of variables where a list or a section is wanted: ``a,b`` and ``{key: value}``.

    What is no text, since a variable held other bytes, is reported and left out.
    """
    entries = {}
    for key, entry in tree.entries.items():
        below, here = place.below(key) or Slot((Any,)), (*path, key)
        if _is_text(entry.node, here, report):
            entries[key] = Entry(entry.key, structured(entry.node, below, report, here))
    return Branch(tree.origin, entries)


def structured(node: Node, place: Slot, report: Report, path: Path = ()) -> Node:
    """Do so for one value."""
    if isinstance(node, Branch):
        return structure(node, place, report, path)
    if isinstance(node, Items):
        item, texts = place.item or Slot((Any,)), [one for one in node.nodes if _is_text(one, path, report)]
        return Items([structured(one, item, report, path) for one in texts], node.origin)
    return node if node.typed or place.text else _parts(node, place, report)


def _is_text(node: Node, path: Path, report: Report) -> bool:
    if isinstance(node, Leaf) and any(0xD800 <= ord(letter) < 0xE000 for letter in node.text):
        report(node.origin.error(f"{said(path)}: holds bytes that are no UTF-8 text"))
        return False
    return True


def _parts(leaf: Leaf, place: Slot, report: Report) -> Node:
    text = leaf.text.strip()
    try:
        if place.item is not None and not text.startswith("[") and text not in place.words:
            parts = [part.strip() for part in text.split(",") if part.strip()]
            return Items([Leaf(part, part, leaf.origin, typed=False) for part in parts], leaf.origin)
        if place.models or place.value or place.item:
            return parse_value(text, leaf.origin)
    except ConfigError as error:
        report(error)
    return leaf


def open_files(tree: Branch, place: Slot, home: FilePath, report: Report, path: Path = ()) -> None:
    """Put the content of the file in place of every ``<secret>_file`` key; a path counts from the home."""
    for key, entry in list(tree.entries.items()):
        below = place.below(key)
        if below is None:
            continue
        if place.names_a_file(key):
            del tree.entries[key]
            secret = key.removesuffix(FILE_SUFFIX)
            _open_file(tree, secret, entry, home, report, (*path, key))
        else:
            _open_below(entry.node, below, home, report, (*path, key))


def _open_below(node: Node, place: Slot, home: FilePath, report: Report, path: Path) -> None:
    if isinstance(node, Branch):
        open_files(node, place, home, report, path)
    elif isinstance(node, Items) and place.item is not None:
        for number_, item in enumerate(node.nodes):
            _open_below(item, place.item, home, report, (*path, str(number_)))


def _open_file(tree: Branch, secret: str, entry: Entry, home: FilePath, report: Report, path: Path) -> None:
    node = entry.node
    if not isinstance(node, Leaf):
        report(entry.key.error(f"{said(path)}: expects the name of a file"))
        return
    if not node.text or node.value is None:
        return
    there = tree.entries.get(secret)
    if there is not None and isinstance(there.node, Leaf) and there.node.text:
        report(node.origin.error(f"{said(path)}: {secret} is set as well; leave one of the two"))
        return
    try:
        content = _content(home, node.text)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        report(node.origin.error(f"{said(path)}: the file cannot be used: {reason}"))
        return
    where = node.origin
    origin = Origin(where.source, where.file, where.line, where.column, where.name, secret_file=node.text)
    tree.entries[secret] = Entry(entry.key, Leaf(content, content, origin, typed=False))


def _content(home: FilePath, name: str) -> str:
    """Read a secret; the line end behind it is not part of it."""
    with (home / os.path.expanduser(name)).open("rb") as stream:
        content = stream.read(LONGEST_SECRET + 1)
    if len(content) > LONGEST_SECRET:
        raise ValueError("it is too large for a secret")
    try:
        text = content.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    if not text:
        raise ValueError("it is empty")
    return text


def data(node: Node, place: Slot) -> Any:
    """Return the tree as plain data; what is left empty, and is empty by default or cannot be, keeps its default."""
    if isinstance(node, Leaf):
        return _scalar(node, place)
    if isinstance(node, Items):
        return [data(item, place.item) if place.item else plain(item) for item in node.nodes]
    read: dict[str, Any] = {}
    for key, entry in node.entries.items():
        below = place.below(key)
        if below is None:
            read[key] = plain(entry.node)
        elif not _left_empty(entry.node, below):
            read[key] = data(entry.node, below)
    return read


def _left_empty(node: Node, place: Slot) -> bool:
    if not isinstance(node, Leaf):
        return False
    if node.value == "":
        return place.field is not None and place.field.default in ("", SecretStr(""))
    if node.value is not None:
        return False
    return bool(place.models or place.item or place.value) and type(None) not in place.options


def _scalar(leaf: Leaf, place: Slot) -> Any:
    if not leaf.typed:
        return _from_text(leaf.text, place)
    numeric = isinstance(leaf.value, (int, float)) and not isinstance(leaf.value, bool)
    if numeric and place.text and not {int, float, Any} & set(place.options):
        return leaf.text  # 0123 is an id, and as such begins with 0
    return leaf.value


def _from_text(text: str, place: Slot) -> Any:
    if place.text or text in place.words:
        return text
    word = text.strip().lower()
    if type(None) in place.options and word in NOTHING:
        return None
    if bool in place.options and word in TRUE | FALSE:
        return word in TRUE
    return number(text.strip()) if _takes_numbers(place) else text


def _takes_numbers(place: Slot) -> bool:
    return any(get_origin(option) is None and option in {int, float} for option in place.options)
