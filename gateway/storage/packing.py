"""Values as JSON in a text column, which any database and any platform takes whatever texts they hold."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError

from gateway.types import clean

T = TypeVar("T")


def pack(form: TypeAdapter[T], value: T) -> str:
    """Return the value as JSON, without NUL and with U+FFFD for every lone surrogate."""
    try:
        packed = form.dump_json(value).decode()
        if "\\u0000" not in packed:
            return packed
    except PydanticSerializationError:  # a lone surrogate, which has no UTF-8
        pass
    return json.dumps(_cleaned(form.dump_python(value, mode="json")), ensure_ascii=False)


def _cleaned(value: Any) -> Any:
    match value:
        case str():
            return clean(value)
        case list():
            return [_cleaned(item) for item in value]
        case dict():
            return {_cleaned(key): _cleaned(item) for key, item in value.items()}
        case _:
            return value
