"""The settings for readers: the docstring of every key, the JSON Schema, and an example file with all keys.

In: the type of the whole document. Out: text. The example is a configuration that changes nothing.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, SecretStr
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import PydanticUndefined, core_schema, to_jsonable_python

from gateway.config.node import Path
from gateway.config.overlay import short_names
from gateway.config.shape import FILE_SUFFIX, Slot, fields

WIDTH = 110
PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
ABRIDGED = frozenset({"accounts", "display"})
"""Keys of a platform that hold once more what stands elsewhere."""
RESERVED = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})

HEAD = """\
# yaml-language-server: $schema=config.schema.json
#
# Every setting of hermes-gateway with its default: copy what you want to change into config.yaml of the home.
# Printed by: hermes-gateway config show --example
#
# The command line wins over the environment, that over .env, and that over this file. ${NAME} is the variable NAME, and
# ${NAME:-text} is text where there is none. Every secret can be read from a file: api_key_file: /run/secrets/key.
# The variable HERMES_GATEWAY__WEB__PORT is the key web.port, and so on.
"""


def descriptions(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstring of each field, from the class itself and those it builds on."""
    found: dict[str, str] = {}
    for kind in reversed(model.__mro__):
        if issubclass(kind, BaseModel) and kind is not BaseModel:
            found |= _docstrings(kind.__module__).get(kind.__qualname__, {})
    described = {name: info.description for name, info in model.model_fields.items() if info.description}
    return {**found, **described}


@cache
def _docstrings(module: str) -> dict[str, dict[str, str]]:
    """Return what stands below each field of each class of a module."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError, KeyError):
        return {}  # made at run time
    return {node.name: dict(_below_fields(node.body)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _below_fields(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, below in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            value = below.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield field.target.id, " ".join(value.value.split())


class _Schema(GenerateJsonSchema):
    """Adds the docstrings, and the ``…_file`` of every secret."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        result = super().model_schema(schema)
        kind: type[BaseModel] = schema["cls"]
        properties: dict[str, JsonSchemaValue] = result.get("properties", {})
        for name, text in descriptions(kind).items():
            if name in properties:
                properties[name]["description"] = text
        for name, slot in fields(kind).items():
            if slot.secret and name in properties:
                file = {"type": "string", "description": f"A file that holds {name}."}
                properties[name + FILE_SUFFIX] = file
                result["required"] = [key for key in result.get("required", ()) if key != name]
        return result


def json_schema(root: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON Schema of the whole document."""
    schema = root.model_json_schema(schema_generator=_Schema)
    properties = schema["properties"]
    for name, short in (("model", {"type": "string"}), ("toolsets", {"type": "array", "items": {"type": "string"}})):
        whole = properties[name]
        kind = {"$ref": whole.pop("$ref")} if "$ref" in whole else {}
        properties[name] = {**whole, "anyOf": [kind, short]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "hermes-gateway"}


def example(root: type[BaseModel]) -> str:
    """Write a file with every key at its default."""
    variables = {path: name for name, path in short_names(root).items() if not path[-1].endswith(FILE_SUFFIX)}
    return HEAD + "\n".join(_section(root, (), variables)) + "\n"


def _section(model: type[BaseModel], path: Path, variables: Mapping[Path, str]) -> Iterator[str]:
    indent = "  " * len(path)
    texts = descriptions(model)
    for name, slot in fields(model).items():
        here = (*path, name)
        if not path:
            yield ""
        yield from _comment(texts.get(name, ""), indent)
        if path[:1] == ("platforms",) and name in ABRIDGED:
            yield f"{indent}{name}: {{}}"
        elif slot.models and slot.item is None and slot.value is None:
            yield f"{indent}{name}:"
            yield from _section(slot.models[0], here, variables)
        else:
            yield f"{indent}{name}: {_default(here, slot, variables)}"
            yield from _pattern(slot, indent)


def _comment(text: str, indent: str) -> list[str]:
    lead = f"{indent}# "
    return textwrap.wrap(text, WIDTH, initial_indent=lead, subsequent_indent=lead)


def _default(path: Path, slot: Slot, variables: Mapping[Path, str]) -> str:
    if path in variables and slot.options == (SecretStr,):
        return f"${{{variables[path]}}}"
    value = slot.field.get_default(call_default_factory=True) if slot.field else None
    return written(to_jsonable_python(bare(value), fallback=str))


def bare(value: Any) -> Any:
    """Return the text of a secret default, which is none."""
    return value.get_secret_value() if isinstance(value, SecretStr) else value


def _pattern(slot: Slot, indent: str) -> Iterator[str]:
    """Show, as a comment, what an entry of a list or mapping is made of."""
    inner = slot.item or slot.value
    if inner is None or not inner.models:
        return
    lead = "- " if slot.item else "  "
    if slot.value:
        yield f"{indent}# NAME:"
    texts = descriptions(inner.models[0])
    for key, below in inner.fields.items():
        required = below.field is not None and below.field.is_required()
        yield from _comment(texts.get(key, ""), f"{indent}#   ")
        yield f"{indent}# {lead}{key}: {'...' if required else _default((key,), below, {})}"
        lead = "  "


def written(value: Any) -> str:
    """Write a value in YAML, on one line."""
    if isinstance(value, str) and PLAIN.fullmatch(value) and value.lower() not in RESERVED:
        return value
    if isinstance(value, dict):
        return f"{{{', '.join(f'{written(key)}: {written(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    text = json.dumps(value if value is not PydanticUndefined else None, ensure_ascii=False, default=str)
    return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in text)
