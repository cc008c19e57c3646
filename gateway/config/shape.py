"""What the settings' types say of a key: what may stand there, which keys lie below it, whether it is a secret."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from gateway.config.node import Branch, Node, Origin, Path, said
from gateway.config.sections.base import UrlWithPassword

FILE_SUFFIX = "_file"
"""``token_file`` names the file that holds the secret `token`."""


@dataclass(frozen=True)
class Slot:
    """A place in the configuration. `field` is None for an entry of a mapping or list."""

    options: tuple[Any, ...]
    field: FieldInfo | None = None
    url: bool = False

    @property
    def secret(self) -> bool:
        """Say whether the value must never be shown: a secret, or an address that may hold a password."""
        return self.url or SecretStr in self.options

    @cached_property
    def models(self) -> tuple[type[BaseModel], ...]:
        return tuple(option for option in self.options if isinstance(option, type) and issubclass(option, BaseModel))

    @cached_property
    def value(self) -> Slot | None:
        """What an entry of the mapping is; None where the place holds none."""
        return self._inner(dict, Mapping, at=1)

    @cached_property
    def item(self) -> Slot | None:
        """What an item of the list is; None where the place holds none."""
        return self._inner(list, tuple, set, frozenset, Sequence, at=0)

    def _inner(self, *kinds: type, at: int) -> Slot | None:
        for option in self.options:
            if (get_origin(option) or option) in kinds:
                arguments = get_args(option)
                return slot(arguments[at]) if arguments else Slot((Any,))
        return None

    @cached_property
    def fields(self) -> dict[str, Slot]:
        """The keys of the section by name; of several possible sections, of all."""
        return {name: below for model in reversed(self.models) for name, below in fields(model).items()}

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of a choice."""
        literals = [option for option in self.options if get_origin(option) is Literal]
        return tuple(word for option in literals for word in get_args(option) if isinstance(word, str))

    @property
    def text(self) -> bool:
        """Say whether any text may stand here."""
        return bool({str, SecretStr, Any} & set(filter(_hashable, self.options)))

    def below(self, key: str) -> Slot | None:
        """Return what stands under a key of the section, the mapping or the list."""
        if found := self.fields.get(key):
            return found
        if self.names_a_file(key):
            return slot(str)
        if self.value is not None:
            return self.value
        return self.item if key.isdecimal() else None

    def names_a_file(self, key: str) -> bool:
        """Say whether the key is ``<secret>_file``."""
        secret = self.fields.get(key.removesuffix(FILE_SUFFIX))
        return key.endswith(FILE_SUFFIX) and key not in self.fields and secret is not None and secret.secret


def _hashable(option: object) -> bool:
    return option.__hash__ is not None


def slot(annotation: Any, field: FieldInfo | None = None) -> Slot:
    """Take a type apart."""
    marks = [*(field.metadata if field else ()), *_marks(annotation)]
    return Slot(tuple(_options(annotation)), field, any(isinstance(mark, UrlWithPassword) for mark in marks))


def _marks(annotation: Any) -> tuple[Any, ...]:
    return annotation.__metadata__ if get_origin(annotation) is Annotated else ()


def _options(annotation: Any) -> Iterator[Any]:
    if value := getattr(annotation, "__value__", None):  # a ``type`` statement
        yield from _options(value)
    elif get_origin(annotation) is Annotated:
        yield from _options(get_args(annotation)[0])
    elif get_origin(annotation) in {Union, types.UnionType}:
        for option in get_args(annotation):
            yield from _options(option)
    else:
        yield annotation


def fields(model: type[BaseModel]) -> dict[str, Slot]:
    """Return the keys of a section by name."""
    return {info.alias or name: slot(info.annotation, info) for name, info in model.model_fields.items()}


def find(root: type[BaseModel], path: Path) -> Slot | None:
    """Return what may stand at a path."""
    found: Slot | None = Slot((root,))
    for part in path:
        found = found.below(part) if found else None
    return found


def known(root: type[BaseModel]) -> Iterator[tuple[Path, Slot]]:
    """Yield every key with a name of its own, sections first; what a user names (``platforms.x.accounts``) has none."""
    return _known(Slot((root,)), ())


def _known(place: Slot, path: Path) -> Iterator[tuple[Path, Slot]]:
    for name, below in place.fields.items():
        yield (*path, name), below
        yield from _known(below, (*path, name))


def nearest(root: type[BaseModel], path: Path) -> Path:
    """Find what an unknown key was meant to be: a neighbour spelled alike, else the same word elsewhere; or ()."""
    above, key = path[:-1], path[-1]
    around = find(root, above)
    beside = around.fields if around else {}
    secrets = [name + FILE_SUFFIX for name, below in beside.items() if below.secret]
    if close := get_close_matches(key, [*beside, *secrets], n=1, cutoff=0.6):
        return (*above, close[0])
    candidates = {said(candidate): candidate for candidate, _ in known(root)}
    if same := [candidate for candidate in candidates.values() if candidate[-1] == key]:
        return max(same, key=lambda candidate: (len(set(candidate) & set(path)), -len(candidate)))
    close = get_close_matches(said(path), list(candidates), n=1, cutoff=0.8)
    return candidates[close[0]] if close else ()


@dataclass(frozen=True, slots=True)
class Unit:
    """A key that is set as one: a scalar, a list or a mapping of the user's own names."""

    path: Path
    node: Node
    slot: Slot
    origin: Origin


def units(tree: Branch, root: type[BaseModel]) -> Iterator[Unit]:
    """Yield every known key that the tree sets."""
    yield from _units(tree, Slot((root,)), ())


def _units(tree: Branch, place: Slot, path: Path) -> Iterator[Unit]:
    for key, entry in tree.entries.items():
        below = place.below(key)
        if below is None:
            continue
        if isinstance(entry.node, Branch) and (below.models or key == "accounts"):
            yield from _units(entry.node, below, (*path, key))
        else:
            yield Unit((*path, key), entry.node, below, entry.key)
