"""The tools of a provider as they may be offered: each with a name of its own, and a schema that endpoints take."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from gateway.contracts.tool import ToolSpec
from gateway.toolkit.function import NAME

log = logging.getLogger(__name__)


def admitted(provider: str, specs: Iterable[object], taken: Collection[str], *, of: str = "memory") -> list[ToolSpec]:
    """
    Return the specs that can be used; a warning says which cannot, and why.

    `of` is what the provider provides. `taken` are the names of our own tools. A spec may also be a dict in the form of
    an endpoint, as in plugins that were written for the reference: ``{"type": "function", "function": {"name": …}}``,
    or only the inner part.
    """
    found: dict[str, ToolSpec] = {}
    for given in specs:
        spec = _spec(given)
        if problem := _problem(spec, taken, found):
            log.warning("%s: a tool of %s is left out: %s", of, provider, problem)
        else:
            found[spec.name] = spec
    return list(found.values())


def _problem(spec: ToolSpec, taken: Collection[str], found: Collection[str]) -> str:
    if not spec.name:
        return "it has no name"
    if not NAME.fullmatch(spec.name):
        return f"it cannot be named {spec.name!r}"
    if spec.name in taken:
        return f"{spec.name} is the name of a tool of the gateway"
    return f"there are two named {spec.name}" if spec.name in found else ""


def _spec(given: object) -> ToolSpec:
    """Take the wrapping off; what is no spec at all comes out without a name."""
    if isinstance(given, Mapping):
        given = ToolSpec("", "", dict(given) if _wrapped(given) else {"type": "function", "function": given})
    if not isinstance(given, ToolSpec):
        return ToolSpec("", "")
    if not _wrapped(given.parameters):
        return replace(given, parameters=_schema(given.parameters))
    inner = given.parameters["function"]
    return replace(
        given,
        name=given.name or _text(inner, "name"),
        description=given.description or _text(inner, "description"),
        parameters=_schema(inner.get("parameters")),
    )


def _wrapped(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "function" and isinstance(schema.get("function"), Mapping)


def _text(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    return value if isinstance(value, str) else ""


def _schema(parameters: object) -> dict[str, Any]:
    if isinstance(parameters, Mapping) and parameters.get("type") == "object":
        return dict(parameters)
    return {"type": "object", "properties": {}}
