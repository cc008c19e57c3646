from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from gateway.agent.tools.clock import clock_tool
from gateway.errors import ToolError
from gateway.toolkit.toolset import FunctionTools
from gateway.types import Role
from tests.unit.toolkit.turns import a_call, a_turn


async def ask(zone: str | None = None, *, home: str = "UTC") -> str:
    arguments = {} if zone is None else {"zone": zone}
    return await FunctionTools([clock_tool(home)]).call(a_call("current_time", **arguments), a_turn(Role.GUEST))


@pytest.mark.parametrize("zone", ["Asia/Kathmandu", "America/St_Johns", "Europe/Berlin", "UTC"])
async def test_the_time_of_a_zone_is_told_with_its_offset_and_weekday(zone: str) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    told = await ask(zone)
    time, weekday, name = told.split(" ")
    there = datetime.fromisoformat(time)
    assert before <= there <= datetime.now(UTC)
    assert there.utcoffset() == there.astimezone(ZoneInfo(zone)).utcoffset()
    assert weekday == ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"][there.weekday()]
    assert name == zone


@pytest.mark.parametrize("zone", [None, "", "  "])
async def test_no_zone_is_the_users_own(zone: str | None) -> None:
    assert (await ask(zone, home="Asia/Tokyo")).endswith(
        "+09:00 " + datetime.now(ZoneInfo("Asia/Tokyo")).strftime("%A") + " Asia/Tokyo"
    )


@pytest.mark.parametrize(
    ("zone", "near"),
    [
        ("Berlin", "Europe/Berlin"),
        ("Europe/Berln", "Europe/Berlin"),
        ("New York", "America/New_York"),
        ("America", "America/"),
    ],
)
async def test_an_unknown_zone_is_answered_with_near_names(zone: str, near: str) -> None:
    with pytest.raises(ToolError, match=f"there is no time zone '{zone}'; (did you mean .*{near}|IANA names)"):
        await ask(zone)


@pytest.mark.parametrize("zone", ["../../etc/passwd", "/etc/passwd", "a\0b", "Europe", "漢字", "\u202e", ".", "x/"])
async def test_what_is_no_zone_is_refused_in_a_printable_sentence(zone: str) -> None:
    with pytest.raises(ToolError) as failed:
        await ask(zone)
    assert "there is no time zone" in str(failed.value)
    assert str(failed.value).isprintable()


async def test_a_huge_name_is_refused() -> None:
    with pytest.raises(ToolError, match="at most 100 characters"):
        await ask("x" * 100_000)


def test_the_clock_may_run_beside_others_and_again() -> None:
    spec = clock_tool().spec
    assert (spec.name, spec.parallel, spec.repeatable, spec.role) == ("current_time", True, True, Role.GUEST)
