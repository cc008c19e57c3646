"""The arguments of calls that were made: read, whatever they are, and shortened so that they stay valid JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

LEAF = 200
"""Characters of a text within arguments that are kept."""
CUT = "...[truncated]"
"""How a text ends that was shortened."""
_EXACT = 2**63


def read(arguments: object) -> Mapping[str, Any]:
    """Return what the arguments of a call are, as JSON text or as an object; empty where they are neither."""
    if isinstance(arguments, str):
        try:
            arguments = orjson.loads(arguments)
        except ValueError:
            return {}
    return arguments if isinstance(arguments, dict) else {}


def worth(arguments: object, longer_than: int) -> bool:
    """Say whether arguments may be worth shortening; histories of other gateways hold None among them."""
    return isinstance(arguments, str) and len(arguments) > longer_than


def shrink(arguments: object, longer_than: int) -> str | None:
    """
    Return the JSON text of the same object with every long text within it cut to `LEAF` characters and `CUT`.

    None where it stays as it is: not longer than `longer_than` characters, not the JSON of an object, or nothing in it
    to be cut. What is returned is shorter, and is accepted by whatever accepted it before.
    """
    if not isinstance(arguments, str) or len(arguments) <= longer_than:
        return None
    try:
        found = orjson.loads(arguments)
        cut = _shrunk(found)
        if not isinstance(found, dict) or cut == found:
            return None
        shrunk = orjson.dumps(cut).decode()
    except (ValueError, TypeError, RecursionError):  # no JSON; numbers that would change; nested too deeply
        return None
    return shrunk if len(shrunk) < len(arguments) else None


def _shrunk(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= LEAF + len(CUT) else value[:LEAF] + CUT
    if isinstance(value, dict):
        return {key: _shrunk(leaf) for key, leaf in value.items()}
    if isinstance(value, list):
        return [_shrunk(leaf) for leaf in value]
    if isinstance(value, float) and abs(value) >= _EXACT:
        raise ValueError("may have been a whole number, which is not kept to the digit")
    return value
