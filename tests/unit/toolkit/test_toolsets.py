from __future__ import annotations

import asyncio

import pytest

from gateway.errors import ToolError
from gateway.messages import ToolCall
from gateway.toolkit.function import Tool, tool
from gateway.toolkit.limits import Limited
from gateway.toolkit.toolset import FunctionTools, Narrowed, Union
from gateway.types import Role
from tests.unit.toolkit.turns import a_call, a_turn


def named(name: str, role: Role = Role.GUEST) -> Tool:
    async def say() -> str:
        """Say a name."""
        return f"I am {name}"

    return tool(name=name, role=role)(say)


ALL = FunctionTools([named("zebra"), named("owl", Role.OWNER), named("mole", Role.MEMBER)])


def test_specs_are_in_the_order_of_their_names_however_they_came() -> None:
    one = FunctionTools([named("b"), named("a"), named("c")])
    parts = Union(FunctionTools([named("c")]), FunctionTools([named("b"), named("a")]))
    assert [spec.name for spec in one.specs()] == ["a", "b", "c"]
    assert list(parts.specs()) == list(one.specs())
    assert one.specs() is one.specs()


@pytest.mark.parametrize(
    ("role", "offered"),
    [(Role.GUEST, ["zebra"]), (Role.MEMBER, ["mole", "zebra"]), (Role.OWNER, ["mole", "owl", "zebra"])],
)
async def test_each_role_is_offered_what_it_may_use_and_refused_the_rest(role: Role, offered: list[str]) -> None:
    tools = Narrowed(ALL, role)
    assert [spec.name for spec in tools.specs()] == offered
    for name in ("mole", "owl", "zebra"):
        if name in offered:
            assert await tools.call(a_call(name), a_turn(role)) == f"I am {name}"
        else:
            with pytest.raises(ToolError, match=f"{name} needs the role"):
                await tools.call(a_call(name), a_turn(role))


async def test_a_turn_of_less_rights_than_its_tools_is_refused_at_the_call() -> None:
    for tools in (Narrowed(ALL, Role.OWNER), Narrowed(ALL, Role.GUEST), ALL):
        with pytest.raises(ToolError, match="owl needs the role owner; the people of this turn have the role guest"):
            await tools.call(a_call("owl"), a_turn(Role.GUEST))


async def test_an_owner_turn_does_not_widen_the_tools_of_a_guest() -> None:
    with pytest.raises(ToolError, match="owl needs the role owner"):
        await Narrowed(ALL, Role.GUEST).call(a_call("owl"), a_turn(Role.OWNER))


async def test_the_answer_to_an_unknown_name_lists_only_what_the_role_may_use() -> None:
    with pytest.raises(ToolError, match=r"no tool named 'zebr'; did you mean zebra\? The tools are: mole, zebra\.$"):
        await Narrowed(ALL, Role.MEMBER).call(a_call("zebr"), a_turn(Role.MEMBER))


async def test_a_union_calls_the_set_that_has_the_tool() -> None:
    both = Union(FunctionTools([named("a")]), FunctionTools([named("b")]))
    assert await both.call(a_call("b"), a_turn()) == "I am b"
    with pytest.raises(ToolError, match=r"The tools are: a, b\.$"):
        await both.call(a_call("c"), a_turn())


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two tools are named a"):
        FunctionTools([named("a"), named("a")])
    with pytest.raises(ValueError, match="two tools are named a"):
        Union(FunctionTools([named("a")]), FunctionTools([named("a")]))


async def test_a_limited_set_cuts_answers_and_errors() -> None:
    @tool()
    async def long_winded(*, fail: bool = False) -> str:
        """Talk."""
        if fail:
            raise ToolError("n" + "o" * 10_000)
        return "y" * 10_000

    tools = Limited(FunctionTools([long_winded]), chars=1_000)
    assert [spec.name for spec in tools.specs()] == ["long_winded"]
    answer = await tools.call(a_call("long_winded"), a_turn())
    assert len(answer) <= 1_000
    assert "[cut: 9,060 characters]" in answer
    with pytest.raises(ToolError) as failed:
        await tools.call(a_call("long_winded", fail=True), a_turn())
    assert len(str(failed.value)) <= 1_000
    assert str(failed.value).startswith("no" + "o" * 99)


async def test_a_hundred_calls_run_beside_each_other() -> None:
    gate = asyncio.Barrier(100)

    @tool(parallel=True)
    async def meet(number: int) -> str:
        """Wait for the others."""
        await gate.wait()
        return str(number)

    tools = Narrowed(Limited(FunctionTools([meet])), Role.GUEST)
    calls = [tools.call(ToolCall(str(n), "meet", f'{{"number": {n}}}'), a_turn()) for n in range(100)]
    assert await asyncio.gather(*calls) == [str(n) for n in range(100)]
