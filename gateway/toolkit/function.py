"""Functions as tools.

In: a typed function, async or not, with a docstring. Out: a `Tool`: what the model is told of it, and how a call of
it is answered. A function that is not async runs in a worker thread. Whatever goes wrong inside is the tool's
answer.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import ValidationError

from gateway.contracts.tool import ToolSpec
from gateway.errors import Fenced, ToolError, TurnStopped
from gateway.messages import ToolCall
from gateway.toolkit.arguments import parse_arguments, wrong_arguments
from gateway.toolkit.limits import brief
from gateway.toolkit.schema import Form, read_form
from gateway.types import Role, Turn

log = logging.getLogger(__name__)

Function = Callable[..., str] | Callable[..., Awaitable[str]]
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # what the endpoints take, by OpenAI's reference


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `run` answers a call or raises `ToolError`; it checks the arguments itself."""

    spec: ToolSpec
    run: Callable[[ToolCall, Turn], Awaitable[str]]


def tool(
    *, name: str = "", parallel: bool = False, repeatable: bool = False, role: Role = Role.GUEST
) -> Callable[[Function], Tool]:
    """
    Make a tool of the function under this decorator; the flags are those of `ToolSpec`.

    The schema is made from the type hints and the docstring. A parameter of the type `Turn` is given the turn and is
    no part of the schema. A function that cannot be a tool raises `TypeError` here.
    """

    def make(function: Function) -> Tool:
        form = read_form(function)
        called = name or getattr(function, "__name__", "")
        if not NAME.fullmatch(called):
            raise TypeError(f"a tool cannot be named {called!r}")
        spec = ToolSpec(called, form.description, form.schema, parallel=parallel, repeatable=repeatable, role=role)
        return Tool(spec, partial(_answer, function, form, spec))

    return make


async def _answer(function: Function, form: Form, spec: ToolSpec, call: ToolCall, turn: Turn) -> str:
    arguments = parse_arguments(call, spec)
    try:
        values = form.fill(arguments, turn)
    except ValidationError as error:
        raise wrong_arguments(spec, error) from None
    try:
        return await _invoke(function, values)
    except (ToolError, Fenced, TurnStopped):
        raise
    except Exception as error:
        log.exception("the tool %s failed", spec.name)
        told = f"{type(error).__name__}: {brief(str(error), 300)}"
        raise ToolError(f"the tool {spec.name} failed: {told}") from error


async def _invoke(function: Function, values: dict[str, Any]) -> str:
    if inspect.iscoroutinefunction(function):
        answer: str = await function(**values)
        return answer
    return await asyncio.to_thread(_in_thread, function, values)


def _in_thread(function: Callable[..., Any], values: dict[str, Any]) -> str:
    try:
        answer: str = function(**values)
    except StopIteration as error:  # which a future cannot hold: whoever awaits it would wait for ever
        raise RuntimeError("a StopIteration left the tool") from error
    return answer
