"""What a model wrote as the arguments of a call.

In: the JSON text of a `ToolCall`. Out: a dict of plain values, or a `ToolError` that says what was wrong with the
text and what the tool takes, so that the model's next try can be right.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, NoReturn

from pydantic import ValidationError

from gateway.contracts.tool import ToolSpec
from gateway.errors import ToolError
from gateway.messages import ToolCall
from gateway.toolkit.limits import brief
from gateway.toolkit.repair import repair
from gateway.types import clean

log = logging.getLogger(__name__)

LONGEST = 1_000_000  # characters
SHOWN = 5  # faults of one call
NAMES_SHOWN = 100


def parse_arguments(call: ToolCall, spec: ToolSpec) -> dict[str, Any]:
    """Read the arguments; nothing at all and ``null`` mean none. What they must be is not checked here."""
    if len(call.arguments) > LONGEST:
        _refuse(spec, f"the arguments have {len(call.arguments):,} characters, the most is {LONGEST:,}")
    try:
        arguments, damage = _read(call.arguments)
        _check_characters(arguments)
    except RecursionError:
        _refuse(spec, "the arguments are nested too deeply")
    except ValueError as error:
        _refuse(spec, str(error))
    if damage:
        log.warning("repaired the arguments of %s: %s", spec.name, damage)
    return arguments


def repaired(text: str) -> str:
    """Return the JSON of the object a text stands for, fit to be stored and replayed; "" where that takes a guess."""
    try:
        return clean(json.dumps(_read(text)[0], ensure_ascii=False))
    except (ValueError, RecursionError):
        return ""


def unknown_tool(name: str, known: Iterable[str]) -> ToolError:
    """Say that no tool has this name, which name is near, and which there are."""
    names = sorted(known)
    near = get_close_matches(name[:64].lower(), names, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else "."
    listed = f"The tools are: {', '.join(names[:NAMES_SHOWN])}." if names else "There are no tools in this turn."
    return ToolError(f"there is no tool named {brief(name)}{hint} {listed}")


def wrong_arguments(spec: ToolSpec, error: ValidationError) -> ToolError:
    """Say which arguments do not fit, in the words of the schema."""
    faults = error.errors(include_url=False, include_context=False)
    told = [_fault(fault["loc"], fault["type"], fault["msg"], fault["input"]) for fault in faults[:SHOWN]]
    more = f"; and {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
    return ToolError(f"wrong arguments for {spec.name}: {'; '.join(told)}{more}. {_usage(spec)}")


def _read(text: str) -> tuple[dict[str, Any], str]:
    """Return the object and what had to be repaired; raise `ValueError` with a sentence."""
    if not text.strip():
        return {}, ""
    damage = ""
    try:
        found = _loaded(text)
        if isinstance(found, str):  # encoded twice, as some models do
            found = _loaded(found)
    except json.JSONDecodeError as error:
        damage = f"{error.msg} at character {error.pos + 1}"
        if (found := repair(error.doc)) is None:
            near = error.doc[max(0, error.pos - 30) : error.pos + 30]
            raise ValueError(f"the arguments are not valid JSON: {damage}, near {brief(near)}") from None
    if found is None:
        return {}, ""
    if not isinstance(found, dict):
        raise ValueError(f"the arguments must be a JSON object, not {brief(json.dumps(found))}")
    return found, damage


def _loaded(text: str) -> Any:
    return json.loads(text, strict=False, object_pairs_hook=_only_once, parse_constant=_no_number)


def _only_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"{brief(next(key for key in keys if keys.count(key) > 1))} is given twice")
    return found


def _no_number(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _check_characters(arguments: dict[str, Any]) -> None:
    """Refuse half a character: putting something else in its place would run what nobody wrote."""
    for name, value in arguments.items():
        try:
            json.dumps([name, value], ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = f"U+{ord(error.object[error.start]):04X}"
            raise ValueError(f"the argument {brief(name)} holds half a character (the lone surrogate {half})") from None


def _fault(where: tuple[int | str, ...], kind: str, text: str, value: object) -> str:
    name = brief(".".join(map(str, where)))
    if kind == "missing":
        return f"{name} is missing"
    if kind == "extra_forbidden":
        return f"{name} is not one of its arguments"
    return f"{name}: {text}, not {brief(value, 60) if isinstance(value, str) else repr(value)[:60]}"


def _usage(spec: ToolSpec) -> str:
    required = spec.parameters.get("required", [])
    names = [f"{name} (required)" if name in required else name for name in spec.parameters.get("properties", {})]
    return f"It takes a JSON object with {', '.join(names)}." if names else "It takes no arguments."


def _refuse(spec: ToolSpec, why: str) -> NoReturn:
    raise ToolError(f"{spec.name} was not called: {why}. {_usage(spec)}")
