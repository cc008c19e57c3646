from __future__ import annotations

import asyncio
import json
import logging
import threading
from enum import StrEnum
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from gateway.errors import Fenced, NotApproved, ToolError, TurnStopped
from gateway.toolkit.function import Tool, tool
from gateway.types import Role, Turn
from tests.unit.toolkit.turns import a_call, a_turn


class Unit(StrEnum):
    METRE = "metre"
    MILE = "mile"


class Point(BaseModel):
    title: str
    x: float = 0


@tool(parallel=True, repeatable=True, role=Role.MEMBER)
async def measure(
    place: Point,
    turn: Turn,
    unit: Unit = Unit.METRE,
    title: str = "none",
    count: Annotated[int, Field(ge=1, le=5)] = 1,
    kind: Literal["long", "short"] = "long",
    names: list[str] | None = None,
) -> str:
    """
    Measure a place.

    It is far away.

    Args:
        place: Where.
        title: What to call it.
        count: How often.
    """
    return f"{turn.id} {place.title} {place.x:g} {unit} {title} {count} {kind} {names}"


@tool()
def shadowed(json: str, copy: int = 0, _hidden: int = 0, model_config: str = "") -> str:
    """Take names that pydantic has for itself."""
    return f"{json} {copy} {_hidden} {model_config}"


@tool(name="here")
def where_it_runs() -> str:
    """Name the thread."""
    return threading.current_thread().name


async def answer(made: Tool, **arguments: object) -> str:
    return await made.run(a_call(made.spec.name, **arguments), a_turn())


def test_the_schema_says_what_the_signature_and_the_docstring_say() -> None:
    assert measure.spec.name == "measure"
    assert measure.spec.description == "Measure a place.\n\nIt is far away."
    assert (measure.spec.parallel, measure.spec.repeatable, measure.spec.role) == (True, True, Role.MEMBER)
    schema = measure.spec.parameters
    assert list(schema["properties"]) == ["place", "unit", "title", "count", "kind", "names"]
    assert schema["required"] == ["place"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["count"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 5,
        "default": 1,
        "description": "How often.",
    }


def test_no_schema_has_a_title_but_one_for_a_parameter_of_that_name() -> None:
    schema = measure.spec.parameters
    assert schema["properties"]["title"] == {"type": "string", "default": "none", "description": "What to call it."}
    assert list(schema["$defs"]["Point"]["properties"]) == ["title", "x"]
    without = {name: value for name, value in schema["properties"].items() if name != "title"}
    del schema["$defs"]["Point"]["properties"]["title"], schema["$defs"]["Point"]["required"]
    assert '"title"' not in json.dumps([without, schema["$defs"], list(schema)])


async def test_the_turn_is_given_and_arguments_become_what_the_hints_say() -> None:
    told = await answer(measure, place={"title": "Ufa", "x": "2"}, unit="mile", count="3", names=["a", "б"])
    assert told == "t1 Ufa 2 mile none 3 long ['a', 'б']"


async def test_null_means_not_given_where_none_is_no_value() -> None:
    told = await answer(measure, place={"title": "Ufa"}, unit=None, count=None, names=None)
    assert told == "t1 Ufa 0 metre none 1 long None"


async def test_the_model_cannot_give_the_turn() -> None:
    with pytest.raises(ToolError, match="'turn' is not one of its arguments"):
        await answer(measure, place={"title": "Ufa"}, turn={"role": "owner"})


async def test_every_wrong_argument_is_named_in_one_sentence() -> None:
    with pytest.raises(ToolError) as failed:
        await answer(measure, place={"x": []}, unit="inch", count=9, colour="red")
    told = str(failed.value)
    assert told.startswith("wrong arguments for measure: 'place.title' is missing; 'place.x': ")
    assert "'unit': Input should be 'metre' or 'mile', not 'inch'" in told
    assert "'count': Input should be less than or equal to 5, not 9" in told
    assert "'colour' is not one of its arguments" in told
    assert told.endswith("It takes a JSON object with place (required), unit, title, count, kind, names.")


async def test_a_parameter_may_have_any_name() -> None:
    assert list(shadowed.spec.parameters["properties"]) == ["json", "copy", "_hidden", "model_config"]
    assert await answer(shadowed, json="{}", copy=2, _hidden=3, model_config="x") == "{} 2 3 x"


async def test_a_function_that_is_not_async_runs_in_a_thread() -> None:
    assert await answer(where_it_runs) != threading.current_thread().name
    assert where_it_runs.spec.name == "here"


async def test_a_method_can_be_a_tool() -> None:
    class Counter:
        def __init__(self) -> None:
            self.count = 0

        async def add(self, by: int = 1) -> str:
            """Count."""
            self.count += by
            return str(self.count)

    made = tool()(Counter().add)
    assert [await answer(made), await answer(made, by=2)] == ["1", "3"]


async def test_a_bug_in_a_tool_is_its_answer_and_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    @tool()
    async def broken(key: str) -> str:
        """Fail."""
        return {"a": "b"}[key]

    with pytest.raises(ToolError) as failed:
        await answer(broken, key="\u202ec\n")
    assert str(failed.value) == "the tool broken failed: KeyError: \"'\\\\u202ec\\\\n'\""
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.exc_info is not None
    assert record.exc_info[0] is KeyError


async def test_a_stop_iteration_in_a_thread_does_not_hang_the_turn() -> None:
    @tool()
    def exhausted() -> str:
        """Ask an empty iterator."""
        return next(iter(()))

    with pytest.raises(ToolError, match="the tool exhausted failed: RuntimeError"):
        await answer(exhausted)


@pytest.mark.parametrize("error", [ToolError("no"), NotApproved("no"), Fenced("lost"), TurnStopped()])
async def test_errors_with_a_meaning_of_their_own_pass(error: Exception) -> None:
    @tool()
    async def refusing() -> str:
        """Refuse."""
        raise error

    with pytest.raises(type(error)) as failed:
        await answer(refusing)
    assert failed.value is error


async def test_a_cancelled_tool_is_cancelled() -> None:
    entered, left = asyncio.Event(), asyncio.Event()

    @tool()
    async def endless() -> str:
        """Never end."""
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()
        return ""

    async with asyncio.TaskGroup() as group:
        task = group.create_task(answer(endless))
        await entered.wait()
        task.cancel()
    assert task.cancelled()
    assert left.is_set()


def no_docstring() -> str:
    return ""


def no_type(path) -> str:  # type: ignore[no-untyped-def]
    """Lack a type."""
    return str(path)


def many(*paths: str) -> str:
    """Take many."""
    return ""


def positional(path: str, /) -> str:
    """Take it by place."""
    return path


def number() -> int:
    """Count."""
    return 1


def stray(path: str) -> str:
    """
    Describe what is not there.

    Args:
        path: A path.
        pth: A typing error.
    """
    return path


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (no_docstring, "needs a docstring"),
        (no_type, "path has no type"),
        (many, "paths cannot be given by name"),
        (positional, "path cannot be given by name"),
        (number, "returns str"),
        (stray, "describes pth"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused_where_it_is_declared(function: object, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        tool()(function)  # type: ignore[arg-type]


def test_a_name_that_endpoints_refuse_is_refused_where_it_is_declared() -> None:
    with pytest.raises(TypeError, match="cannot be named 'a b'"):
        tool(name="a b")(shadowed_again)


def shadowed_again() -> str:
    """Say nothing."""
    return ""
