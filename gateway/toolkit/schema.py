"""What a function takes, as a model is told it and as we check it.

In: a Python function with type hints and a docstring (Google, NumPy or reST). Out: a `Form`: description, JSON
Schema, and a way from checked arguments to the function's own. A function that cannot be a tool is a `TypeError`
when it is declared.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_type_hints

from docstring_parser import parse
from pydantic import BaseModel, ConfigDict, Field, create_model

from gateway.types import Turn

MARK = "p_"  # before the names of fields, so that a parameter may be called `json` or `copy`
NAMED = {"properties", "$defs"}  # their keys are names, not words of JSON Schema
VALUES = {"default", "const", "enum", "examples"}


@dataclass(frozen=True, slots=True)
class Form:
    """`turn` is the parameter that takes the turn, "" for none; `nullable` are those that take None as a value."""

    description: str
    schema: dict[str, Any]
    fields: type[BaseModel]
    turn: str
    nullable: frozenset[str]

    def fill(self, arguments: Mapping[str, Any], turn: Turn) -> dict[str, Any]:
        """Check the arguments, or raise pydantic's `ValidationError`. Null stands for "not given"."""
        required = self.schema.get("required", ())
        given = {
            name: value
            for name, value in arguments.items()
            if value is not None or name in required or name in self.nullable
        }
        filled = self.fields.model_validate(given)
        values = {name.removeprefix(MARK): getattr(filled, name) for name in self.fields.model_fields}
        return {**values, self.turn: turn} if self.turn else values


def read_form(function: Callable[..., object]) -> Form:
    """Read what a function takes."""
    hints = get_type_hints(function, include_extras=True)
    taken = dict(inspect.signature(function).parameters)
    turn = next((name for name in taken if hints.get(name) is Turn), "")
    taken.pop(turn, None)
    _check(function, hints, taken)
    text = parse(inspect.getdoc(function) or "")
    described = {param.arg_name: param.description or "" for param in text.params}
    if not text.description:
        raise TypeError(f"{_name(function)}: a tool needs a docstring, it is what the model reads")
    if stray := sorted(described.keys() - taken.keys()):
        raise TypeError(f"{_name(function)}: the docstring describes {', '.join(stray)}, which the model cannot give")
    fields = _fields(taken, hints, described)
    nullable = frozenset(name for name in taken if type(None) in get_args(hints[name]))
    return Form(text.description, _untitled(fields.model_json_schema()), fields, turn, nullable)


def _check(function: Callable[..., object], hints: Mapping[str, Any], taken: Mapping[str, inspect.Parameter]) -> None:
    if hints.get("return") is not str:
        raise TypeError(f"{_name(function)}: a tool returns str")
    for name, parameter in taken.items():
        if name not in hints:
            raise TypeError(f"{_name(function)}: the parameter {name} has no type")
        if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            raise TypeError(f"{_name(function)}: the parameter {name} cannot be given by name")


def _fields(
    taken: Mapping[str, inspect.Parameter], hints: Mapping[str, Any], described: Mapping[str, str]
) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for name, parameter in taken.items():
        hint = Annotated[hints[name], Field(description=described[name])] if name in described else hints[name]
        fields[MARK + name] = (hint, ... if parameter.default is parameter.empty else parameter.default)
    config = ConfigDict(extra="forbid", alias_generator=lambda name: name.removeprefix(MARK))
    return create_model("Arguments", __config__=config, **fields)


def _untitled(schema: dict[str, Any]) -> dict[str, Any]:
    """Drop the titles pydantic gives: tokens that say the name again."""
    return {key: _untitled_under(key, value) for key, value in schema.items() if key != "title"}


def _untitled_under(key: str, value: Any) -> Any:
    if key in VALUES:
        return value
    if key in NAMED:
        return {name: _untitled(schema) for name, schema in value.items()}
    if isinstance(value, list):
        return [_untitled(schema) if isinstance(schema, dict) else schema for schema in value]
    return _untitled(value) if isinstance(value, dict) else value


def _name(function: Callable[..., object]) -> str:
    return getattr(function, "__qualname__", repr(function))
