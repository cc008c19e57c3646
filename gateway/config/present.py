"""The configuration in effect, as it may be shown: every key with its value, and where that came from; no secrets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pydantic_core import PydanticUndefined, to_jsonable_python

from gateway.config.describe import bare, written
from gateway.config.loading import Config
from gateway.config.node import Node, Origin, Path, find, said
from gateway.config.reading import data
from gateway.config.shape import Slot
from gateway.log.redact import MASK, Redactor


def values(config: Config) -> dict[str, Any]:
    """Return every key with its value, nested."""
    return _section(config, Slot((config.shape,)), (), Redactor(config.secrets))


def value(config: Config, path: Path) -> Any:
    """Return what stands at a path; raise `KeyError` where there is no such key."""
    found: Any = values(config)
    for part in path:
        if isinstance(found, list) and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        elif isinstance(found, dict):
            found = found[part]
        else:
            raise KeyError(part)
    return found


def _section(config: Config, place: Slot, path: Path, hide: Callable[[str], str]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name, slot in place.fields.items():
        here = (*path, name)
        entry = find(config.document, here)
        if slot.models and slot.item is None and slot.value is None:
            shown[name] = _section(config, slot, here, hide)
        else:
            shown[name] = masked(_value(entry.node if entry else None, slot), slot, hide)
    return shown


def _value(node: Node | None, slot: Slot) -> Any:
    read = data(node, slot) if node is not None else None
    if read is not None or slot.field is None:
        return read
    default = slot.field.get_default(call_default_factory=True)
    return None if default is PydanticUndefined else to_jsonable_python(bare(default), fallback=str)


def masked(shown: Any, slot: Slot, hide: Callable[[str], str]) -> Any:
    """Take the secrets out of a value."""
    if isinstance(shown, dict):
        return {key: masked(one, slot.below(key) or Slot((Any,)), hide) for key, one in shown.items()}
    if isinstance(shown, list):
        return [masked(one, slot.item or Slot((Any,)), hide) for one in shown]
    if slot.secret and not slot.url:
        return MASK if shown else ""
    return hide(shown) if isinstance(shown, str) else shown


def lines(config: Config, *, origins: bool = False) -> Iterator[str]:
    """Write the configuration in effect as YAML, with the origin of each value behind it if wanted."""
    yield from _lines(values(config), Slot((config.shape,)), (), config if origins else None)


def _lines(shown: dict[str, Any], place: Slot, path: Path, config: Config | None) -> Iterator[str]:
    indent = "  " * len(path)
    for name, one in shown.items():
        slot, here = place.below(name), (*path, name)
        if isinstance(one, dict) and slot is not None and slot.models and slot.value is None:
            yield f"{indent}{written(name)}:"
            yield from _lines(one, slot, here, config)
        else:
            behind = f"  # {_origin(config, here)}" if config else ""
            yield f"{indent}{written(name)}: {written(one)}{behind}"


def origins(config: Config) -> dict[str, dict[str, Any]]:
    """Return every key with its value and origin, flat."""
    flat: dict[str, dict[str, Any]] = {}
    _flatten(values(config), Slot((config.shape,)), (), config, flat)
    return flat


def _flatten(shown: dict[str, Any], place: Slot, path: Path, config: Config, flat: dict[str, dict[str, Any]]) -> None:
    for name, one in shown.items():
        slot, here = place.below(name), (*path, name)
        if isinstance(one, dict) and slot is not None and slot.models and slot.value is None:
            _flatten(one, slot, here, config, flat)
        else:
            flat[said(here)] = {"value": one, "origin": _origin(config, here)}


def _origin(config: Config, path: Path) -> str:
    """Say where a value came from; a mapping of the user's own names comes from where its first entry does."""
    if origin := config.origins.get(said(path)):
        return str(origin)
    below = [origin for key, origin in config.origins.items() if key.startswith(said(path) + ".")]
    return str(below[0] if below else Origin())
