"""Tools of a provider: the model of its arguments makes both what a language model is told and the check of a call."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import cleandoc
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from gateway.contracts.tool import ToolSpec
from gateway.toolkit.arguments import wrong_arguments


class Arguments(BaseModel):
    """What a tool takes; the docstring of a subclass is what the model reads of the tool."""

    model_config = ConfigDict(frozen=True, extra="forbid")


A = TypeVar("A", bound=Arguments)


def offer(name: str, arguments: type[Arguments], *, repeatable: bool = False) -> ToolSpec:
    """Describe a tool; one that may be repeated only reads, and may run beside others."""
    schema = _untitled(arguments.model_json_schema())
    schema.pop("description", None)
    return ToolSpec(name, cleandoc(arguments.__doc__ or ""), schema, parallel=repeatable, repeatable=repeatable)


def read(spec: ToolSpec, arguments: type[A], given: Mapping[str, Any]) -> A:
    """Check the arguments of a call, null standing for "not given"; raise `ToolError` with what they must be."""
    try:
        return arguments.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise wrong_arguments(spec, error) from None


def _untitled(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            key: {name: _untitled(each) for name, each in value.items()} if key == "properties" else _untitled(value)
            for key, value in schema.items()
            if key != "title"
        }
    return [_untitled(each) for each in schema] if isinstance(schema, list) else schema
