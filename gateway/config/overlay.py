"""Variables and flags over the file: which name means which key.

``HERMES_GATEWAY__A__B`` is the key ``a.b``. The names people have anyway: OPENAI_API_KEY, OPENAI_BASE_URL,
DATABASE_URL, REDIS_URL, and for every platform its secrets and allow-lists (TELEGRAM_BOT_TOKEN, SLACK_APP_TOKEN,
TELEGRAM_ALLOWED_USERS). Each secret's name with ``_FILE`` names a file. The environment beats ``.env``, which beats
the file; within one of them the long name beats the short one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from gateway.config.node import Branch, Entry, Leaf, Origin, Path, Source, find, pop, put, said, split
from gateway.config.reading import Report, structured
from gateway.config.sentences import did_you_mean
from gateway.config.shape import FILE_SUFFIX, Slot, nearest
from gateway.config.shape import find as find_slot
from gateway.config.variables import Variable, Variables

PREFIX = "HERMES_GATEWAY__"
SHORT: Mapping[str, Path] = {
    "OPENAI_API_KEY": ("model", "api_key"),
    "OPENAI_BASE_URL": ("model", "base_url"),
    "DATABASE_URL": ("gateway", "database"),
    "REDIS_URL": ("gateway", "bus"),
}
KEY, ENDPOINT = SHORT["OPENAI_API_KEY"], SHORT["OPENAI_BASE_URL"]


def short_names(root: type[BaseModel]) -> dict[str, Path]:
    """Return the names people have anyway."""
    names = dict(SHORT)
    platforms = find_slot(root, ("platforms",))
    for platform, section in (platforms.fields if platforms else {}).items():
        for key, slot in section.fields.items():
            if slot.secret or key.startswith("allowed_"):
                name = "BOT_TOKEN" if key == "token" else key.upper()
                names[f"{platform.upper()}_{name}"] = ("platforms", platform, key)
    for name, path in list(names.items()):
        slot_ = find_slot(root, path)
        if slot_ is not None and slot_.secret:
            names[name + FILE_SUFFIX.upper()] = (*path[:-1], path[-1] + FILE_SUFFIX)
    return names


def overlay(tree: Branch, root: type[BaseModel], variables: Variables, report: Report) -> None:
    """Put every variable that means a key into the tree, the weakest first."""
    short = short_names(root)
    pair = _filled(tree, KEY) and _filled(tree, ENDPOINT)
    for layer in variables.layers:
        for name in short.keys() & layer.keys():
            # A key that the file gives together with its endpoint stays with it: the one lying about in the
            # environment is another endpoint's, and would be sent to this one.
            slot = find_slot(root, short[name])
            if slot and layer[name].value and not (pair and name.startswith("OPENAI_API_KEY")):
                _set(tree, short[name], slot, layer[name], report)
        for name in sorted(layer):
            if name.startswith(PREFIX):
                _set_long(tree, root, layer[name], report)


def _filled(tree: Branch, path: Path) -> bool:
    return any(
        entry is not None and isinstance(entry.node, Leaf) and bool(entry.node.text)
        for entry in (find(tree, path), find(tree, (*path[:-1], path[-1] + FILE_SUFFIX)))
    )


def _set_long(tree: Branch, root: type[BaseModel], variable: Variable, report: Report) -> None:
    parts = variable.name.removeprefix(PREFIX).split("__")
    path = tuple(_spelled(root, parts))
    slot = find_slot(root, path)
    if not all(parts) or slot is None:
        near = nearest(root, path)
        hint = f"did you mean {PREFIX}{'__'.join(near).upper()}?" if near else ""
        report(variable.origin.error(f"{said(path)}: unknown key", hint=hint))
        return
    _set(tree, path, slot, variable, report)


def _spelled(root: type[BaseModel], parts: list[str]) -> Iterator[str]:
    """Give the parts of a variable's name the case of the keys; names of the user's own are taken as lower case."""
    place: Slot | None = Slot((root,))
    for part in parts:
        key = next((name for name in place.fields if name.upper() == part.upper()), "") if place else ""
        yield key or part.lower()
        place = place.below(key or part.lower()) if place else None


def _set(tree: Branch, path: Path, slot: Slot, variable: Variable, report: Report) -> None:
    """Set a key; the other way of giving the same secret, from a weaker source, is void."""
    key = path[-1]
    twin = key.removesuffix(FILE_SUFFIX) if key.endswith(FILE_SUFFIX) else key + FILE_SUFFIX
    weaker = find(tree, (*path[:-1], twin))
    if weaker is not None and weaker.key.source != variable.origin.source:
        pop(tree, (*path[:-1], twin))
    leaf = Leaf(variable.value, variable.value, variable.origin, typed=False)
    put(tree, path, Entry(variable.origin, structured(leaf, slot, report)))


def flags(tree: Branch, root: type[BaseModel], given: Mapping[str, str], report: Report) -> None:
    """Put what was said on the command line over everything else."""
    for name, value in given.items():
        origin = Origin(Source.FLAG, name="on the command line")
        path = split(name)
        slot = find_slot(root, path)
        if slot is None:
            report(origin.error(f"{name}: unknown key", hint=did_you_mean(path, nearest(root, path))))
        else:
            _set(tree, path, slot, Variable(name, value, origin), report)
