"""One gateway on SQLite that is killed again and again while people write to it on Telegram."""

from __future__ import annotations

import pytest

from tests.crash.conftest import KILLS, Furnish
from tests.crash.moments import MOMENTS
from tests.crash.play import Play

FEW = max(3, KILLS // 20)
"""An import of everything goes before each."""


@pytest.mark.timeout(300 + 20 * KILLS)
async def test_whenever_it_dies_everything_is_answered_in_order_and_once(
    furnish: Furnish, capsys: pytest.CaptureFixture[str]
) -> None:
    play = Play(furnish(forks=True, kills=KILLS), MOMENTS)
    verdict = await play.act(KILLS)
    report = play.report(verdict)
    with capsys.disabled():
        print(f"\n{report}")
    assert not verdict.faults, "\n".join([report, *verdict.faults])


@pytest.mark.timeout(300 + 30 * FEW)
async def test_the_program_as_it_is_started_in_earnest_survives_as_well(
    furnish: Furnish, capsys: pytest.CaptureFixture[str]
) -> None:
    play = Play(furnish(forks=False, kills=FEW), MOMENTS)
    verdict = await play.act(FEW)
    report = play.report(verdict)
    with capsys.disabled():
        print(f"\n{report}")
    assert not verdict.faults, "\n".join([report, *verdict.faults])
