"""What the types refuse, said in one sentence: the place, the key, what is accepted. Never what was written there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from gateway.config.node import Branch, Entry, Items, Leaf, Node, Origin, Path, find, said
from gateway.config.shape import find as find_slot
from gateway.config.shape import nearest
from gateway.errors import ConfigError

WANTED = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "dict_type": "keys with values",
    "model_type": "keys with values",
    "model_attributes_type": "keys with values",
    "path_type": "a path",
}
BOUNDS = {
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "string_too_long": "must be at most {max_length} characters long",
    "too_short": "needs at least {min_length}",
    "too_long": "takes at most {max_length}",
    "missing": "is missing",
    "string_pattern_mismatch": "does not match {pattern}",
    "union_tag_invalid": "expects one of {expected_tags}",
    "union_tag_not_found": "needs the key {discriminator}",
}
UNIT = re.compile(r"\s*\d+(\.\d+)?\s*[A-Za-z]+\s*")


@dataclass(frozen=True, slots=True)
class Found:
    """An error at its place. `wanted` is set where something else was expected, `text` where more is to be said."""

    path: Path
    origin: Origin
    wanted: str = ""
    text: str = ""
    hint: str = ""
    node: Node | None = None


def explain(
    errors: Iterable[ErrorDetails], tree: Branch, root: type[BaseModel], hide: Callable[[str], str], above: Path = ()
) -> list[ConfigError]:
    """Say what is wrong in `tree`, whose root stands at `above` in the whole configuration of type `root`."""
    grouped: dict[Path, list[Found]] = {}
    for error in errors:
        found = _place(error, tree, root, above)
        grouped.setdefault(found.path, []).append(found)
    return [_say(path, group, hide) for path, group in grouped.items()]


def _place(error: ErrorDetails, tree: Branch, root: type[BaseModel], above: Path) -> Found:
    entry, inside = _entry(error["loc"], tree)
    kind, context = error["type"], error.get("ctx", {})
    if kind == "missing":
        inside = (*inside, str(error["loc"][-1]))
    path = (*above, *inside)
    node = entry.node if entry else tree
    key = entry.key if entry else tree.origin
    if kind == "extra_forbidden":
        return Found(path, key, text="unknown key", hint=did_you_mean(path, nearest(root, path)))
    origin = node.origin if isinstance(node, Leaf) else key
    if kind == "literal_error":
        return Found(path, origin, _choice(context), hint=_nearest_word(node, root, path), node=node)
    if kind in WANTED:
        return Found(path, origin, WANTED[kind], hint=_hint(node, kind), node=node)
    return Found(path, origin, text=_text(kind, context, error["msg"]), hint=_hint(node, kind))


def _entry(location: tuple[int | str, ...], tree: Branch) -> tuple[Entry | None, Path]:
    """Walk to the place of an error; the names of alternatives that pydantic puts in between are no keys."""
    path: Path = ()
    entry: Entry | None = None
    for part in map(str, location):
        if below := find(tree, (*path, part)):
            entry, path = below, (*path, part)
    return entry, path


def _text(kind: str, context: Mapping[str, Any], message: str) -> str:
    if kind in {"value_error", "assertion_error"}:
        return str(context.get("error", message))
    if kind == "string_too_short":
        least = context["min_length"]
        return "must not be empty" if least == 1 else f"must be at least {least} characters long"
    if kind in BOUNDS:
        return BOUNDS[kind].format(**context)
    return "is not what is expected here"


def _choice(context: Mapping[str, Any]) -> str:
    words = re.findall(r"'([^']*)'", str(context.get("expected", "")))
    said_words = [word or '""' for word in words]
    return said_words[0] if len(said_words) == 1 else f"one of {', '.join(said_words)}"


def did_you_mean(path: Path, near: Path) -> str:
    """Say the nearest key: by its own name where it stands beside the unknown one, else by its whole path."""
    if not near:
        return ""
    return f"did you mean {said(near[-1:] if near[:-1] == path[:-1] else near)}?"


def _nearest_word(node: Node, root: type[BaseModel], path: Path) -> str:
    slot = find_slot(root, path)
    if slot is None or not isinstance(node, Leaf):
        return ""
    if node.unset:
        return _hint(node, "")
    close = get_close_matches(node.text.strip().lower(), [word for word in slot.words if word], n=1)
    return f"did you mean {close[0]}?" if close else ""


def _hint(node: Node, kind: str) -> str:
    if not isinstance(node, Leaf):
        return ""
    if node.unset:
        return f"{', '.join(node.unset)} is not set"
    if kind.startswith(("int", "float")) and UNIT.fullmatch(node.text):
        return "write the number alone, without a unit"
    if kind in {"list_type", "tuple_type"}:
        return "write it in brackets: [a, b]"
    return ""


def _got(node: Node | None) -> str:
    if isinstance(node, Items):
        return "a list"
    if isinstance(node, Branch):
        return "keys with values"
    if node is None or node.value is None:
        return "nothing"
    if isinstance(node.value, bool):
        return str(node.value).lower()
    if isinstance(node.value, str):
        return "text" if node.text else "nothing"
    return "a number"


def _say(path: Path, group: list[Found], hide: Callable[[str], str]) -> ConfigError:
    """Say one place's errors; those of the alternatives of one key are one error."""
    first = group[0]
    wanted = [found.wanted for found in group if found.wanted]
    texts = dict.fromkeys(found.text for found in group if found.text)
    if texts:
        sentence = hide("; ".join(texts))
    else:
        sentence = f"expects {', or '.join(dict.fromkeys(wanted))}, got {_got(first.node)}"
    hint = next((found.hint for found in group if found.hint), "")
    return first.origin.error(f"{said(path)}: {sentence}", hint=hint)
